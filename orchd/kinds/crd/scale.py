"""Mapping of the scale subresource of custom kinds to fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchd.kinds.catalog import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleMapping:
    """Paths, as member names from the root of an object, of the desired and observed number of replicas and of the
    selector in string form. `selector` is () if the kind has none."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


def scale_mapping(resource: Resource) -> ScaleMapping | None:
    """The mapping of a custom kind, None without a scale subresource."""
    scale = ((resource.definition or {}).get("subresources") or {}).get("scale")
    return None if scale is None else mapping(scale)


def mapping(scale: Mapping[str, Any]) -> ScaleMapping:
    """The mapping of a definition's ``scale`` member."""
    return ScaleMapping(
        spec_replicas=steps(scale.get("specReplicasPath") or ""),
        status_replicas=steps(scale.get("statusReplicasPath") or ""),
        selector=steps(scale.get("labelSelectorPath") or ""),
    )


def steps(path: str) -> tuple[str, ...]:
    """Split a simple JSON path such as ``.spec.replicas`` into member names."""
    return tuple(path.removeprefix(".").split(".")) if path else ()
