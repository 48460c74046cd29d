"""The quality of service class of a pod. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.objects.scalars import Quantity

_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort (specification, "Quality of Service")."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    if spec.get("resources") is not None:
        # Those of the whole pod count alone.
        _add(requests, spec["resources"].get("requests"))
        guaranteed = _add(limits, spec["resources"].get("limits")) == set(_COUNTED)
        holders = []
    else:
        holders = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for container in holders:
        resources = container.get("resources") or {}
        _add(requests, resources.get("requests"))
        limited = _add(limits, resources.get("limits"))
        if limited != set(_COUNTED):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    if (
        guaranteed
        and all(k in limits and limits[k].same(v) for k, v in requests.items())
        and len(requests) == len(limits)
    ):
        return "Guaranteed"
    return "Burstable"


def _add(total: dict[str, Quantity], quantities: Mapping[str, Any] | None) -> set[str]:
    amounts = quantities or {}
    names = set()
    for name in _COUNTED:
        if name in amounts:
            value = Quantity.parse(amounts[name])
            if value.sign > 0:
                names.add(name)
                total[name] = total[name] + value if name in total else value
    return names
