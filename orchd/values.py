"""`value_class`: dataclasses for the values of a request, which are made many times for each.

Type checkers reject assignments to their attributes, as to those of a frozen dataclass; at run time they are not
prevented, because a frozen dataclass takes three times as long to make. Values that outlive a request and reach
drop-ins, such as users, are frozen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Class decorator: a dataclass with slots, equality and a hash. Instances must not be modified."""
    return dataclass(slots=True, kw_only=kw_only, unsafe_hash=True)
