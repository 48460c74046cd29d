"""Where a custom kind keeps what its scale subresource shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchd.kinds.catalog import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleMapping:
    """Member names from the root of an object to the desired and the actual number of replicas and to the selector in
    its text form; `selector` is () where a kind has none."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


def scale_mapping(resource: Resource) -> ScaleMapping | None:
    """The mapping of a custom kind, None when it has no scale subresource."""
    scale = ((resource.definition or {}).get("subresources") or {}).get("scale")
    return None if scale is None else mapping(scale)


def mapping(scale: Mapping[str, Any]) -> ScaleMapping:
    """The mapping that a definition's ``scale`` describes."""
    return ScaleMapping(
        spec_replicas=steps(scale.get("specReplicasPath") or ""),
        status_replicas=steps(scale.get("statusReplicasPath") or ""),
        selector=steps(scale.get("labelSelectorPath") or ""),
    )


def steps(path: str) -> tuple[str, ...]:
    """The member names of a simple JSON path: ``.spec.replicas``."""
    return tuple(path.removeprefix(".").split(".")) if path else ()
