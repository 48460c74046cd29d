"""Rows that match the node selector and required node affinity of a pod template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.pods import PodTemplate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def required_rows(snapshot: Snapshot, template: PodTemplate) -> NDArray[np.bool_] | None:
    """True for rows that satisfy node selector and required node affinity; None if the template has neither."""
    mask: NDArray[np.bool_] | None = None
    if template.node_selector:
        mask = snapshot.labels.match_labels(template.node_selector)
    if template.node_affinity is not None:
        terms = snapshot.labels.match_terms(template.node_affinity)
        mask = terms if mask is None else mask & terms
    return mask


def required_matches(template: PodTemplate, facts: NodeFacts) -> bool:
    """Plain form of `required_rows`, for one node."""
    if not template.node_selector.items() <= facts.labels.items():
        return False
    return template.node_affinity is None or template.node_affinity.match(facts.labels, facts.name)
