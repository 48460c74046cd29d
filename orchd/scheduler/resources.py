"""Amounts of resources as whole numbers: milli CPU, bytes, counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from orchd.kinds.objects.scalars import Quantity

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
#: Resources that every node has a column for.
BASIC = (CPU, MEMORY, STORAGE)
_MOST = 2**63 - 1


@lru_cache(maxsize=4096)
def _amount(cpu: bool, text: str) -> int:
    quantity = Quantity.parse(text)
    return max(-_MOST, min(_MOST, quantity.milli if cpu else quantity.value))


def amount(name: str, text: Any) -> int:
    """A quantity of a resource as a whole number."""
    return _amount(name == CPU, str(text))


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Whole numbers of a map of quantities."""
    return {name: _amount(name == CPU, str(text)) for name, text in quantities.items()}


def total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum by resource."""
    out: dict[str, int] = {}
    for part in parts:
        if not out:
            out = dict(part)
            continue
        for name, number in part.items():
            out[name] = out.get(name, 0) + number
    return out


def maximum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest amount by resource."""
    out: dict[str, int] = {}
    for part in parts:
        if not out:
            out = dict(part)
            continue
        for name, number in part.items():
            out[name] = max(out.get(name, number), number)
    return out


def is_extended(name: str) -> bool:
    """True for a scalar resource of a node: extended resources, huge pages, attachable volumes."""
    return name not in BASIC and name != PODS
