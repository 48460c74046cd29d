"""Amounts of resources by name: resource lists of the API as quantities, and sums of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.kinds.objects.scalars import Quantity

Usage = dict[str, Quantity]


def amounts(values: Mapping[str, Any] | None) -> Usage:
    """A ResourceList as quantities."""
    return {k: Quantity.parse(v) for k, v in (values or {}).items()}


def add(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Usage:
    out = dict(left)
    for name, value in right.items():
        out[name] = out[name] + value if name in out else value
    return out


def subtract(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Usage:
    return add(left, {name: -value for name, value in right.items()})


def format_amounts(usage: Mapping[str, Quantity]) -> str:
    """``a=1,b=2``"""
    return ",".join(f"{name}={usage[name]}" for name in sorted(usage))
