"""Why nodes refuse a pod: counts by reason, and the nodes where preemption may help."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchd.dialect import ORCH
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.framework.refusals import Refusals
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.values import Code, Status, unresolvable, unschedulable

NODES = ("n0", "n1", "n2", "n3")
#: The statuses of the codes of each filter. A filter's code 0 passes a node.
FULL, TAINTED = unschedulable("full"), unresolvable("tainted")
ALL_FILTERS = {"Fit": (FULL, unresolvable("too small")), "Taints": (TAINTED, unschedulable("busy"))}


def refusals(
    codes: Sequence[tuple[str, Sequence[int]]],
    single: dict[str, Status] | None = None,
    everywhere: Status | None = None,
) -> tuple[Snapshot, Refusals]:
    """Of a cluster of four nodes; `codes` are those of the nodes by filter, `single` are statuses of single nodes."""
    snapshot = Snapshot(ORCH)
    for name in NODES:
        snapshot.put_node(NodeFacts({"metadata": {"name": name, "labels": {}}, "status": {"allocatable": {}}}))
    judged: list[Any] = []
    for name, given in codes:
        column = np.zeros(snapshot.size, dtype=np.int64)
        for node, code in zip(NODES, given, strict=True):
            column[snapshot.row_of(node)] = code
        statuses = ALL_FILTERS[name]
        judged.append((name, SimpleNamespace(status=lambda code, of=statuses: of[code - 1]), column))
    rows = {snapshot.row_of(node): status for node, status in (single or {}).items()}
    return snapshot, Refusals(snapshot, snapshot.rows(), judged, rows, everywhere)


EXTENDER = Status(Code.UNSCHEDULABLE, ("extender says no",), "Extender")
LOST = Status(Code.UNRESOLVABLE, ("lost",), "Volumes")


@pytest.mark.parametrize(
    ("codes", "single", "everywhere", "reasons", "plugins", "resolvable"),
    [
        ([], {}, None, {}, "", ""),
        ([], {}, FULL, {"full": 4}, "", "n0 n1 n2 n3"),
        ([], {}, LOST, {"lost": 4}, "Volumes", ""),
        ([("Fit", (0, 1, 1, 2))], {}, None, {"full": 2, "too small": 1}, "Fit", "n1 n2"),
        (
            [("Fit", (0, 0, 1, 2)), ("Taints", (1, 2, 1, 2))],
            {},
            None,
            {"full": 1, "too small": 1, "tainted": 1, "busy": 1},
            "Fit Taints",
            "n1 n2",
        ),
        ([("Fit", (1, 1, 2, 2))], {"n0": LOST, "n2": EXTENDER}, None, {"full": 1, "too small": 1, "lost": 1,
         "extender says no": 1}, "Extender Fit Volumes", "n1 n2"),
        ([("Fit", (0, 0, 0, 0))], {"n3": EXTENDER}, None, {"extender says no": 1}, "Extender", "n3"),
    ],
)  # fmt: skip
def test_refusals_of_a_cluster(
    codes: Any,
    single: dict[str, Status],
    everywhere: Status | None,
    reasons: dict[str, int],
    plugins: str,
    resolvable: str,
) -> None:
    """The first filter that rejects a node gives its reason; the status of a single node replaces that. Preemption may
    help where the reason is not one that lasts."""
    snapshot, refused = refusals(codes, single, everywhere)
    assert refused.reasons() == reasons
    assert refused.plugins() == frozenset(plugins.split())
    assert [snapshot.name_of(row) for row in refused.resolvable()] == resolvable.split()
    assert refused.counted() == sorted(f"{count} {reason}" for reason, count in reasons.items())
    assert refused.nodes == 4


def test_explanation_ends_the_search() -> None:
    """A post-filter plugin explains, and the last one says so."""
    _, refused = refusals([])
    refused.explain("no victims")
    assert not refused.explained
    refused.explain("not eligible", last=True)
    assert refused.explained and refused.explanations == ["no victims", "not eligible"]
