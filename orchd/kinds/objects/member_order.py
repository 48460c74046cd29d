"""Order of members in the JSON of built-in kinds: structs in the order of their types, maps by key, as the reference
encodes them. Compiled once per `Type` (cached in `Type.memo`); values that are in order are returned themselves.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.ir import Type
from orchd.kinds.objects.changed_parts import Convert, convert_entries, convert_items, earlier_members
from orchd.kinds.objects.shape import is_union

_MEMO: Final = "member order"
#: kind and apiVersion come first in an object; members that the type does not have come last.
_FIRST: Final = {"kind": -2, "apiVersion": -1}
_UNKNOWN: Final[tuple[int, None]] = (1 << 30, None)
#: Maximum number of sets of members whose order is remembered, by type.
_MOST_PLANS: Final = 64


def order_members(obj: dict[str, Any], type: Type, earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    """`obj`, in the canonical shape of `type`, with ordered members, which `earlier` has (`changed_parts`). Opaque
    values, such as templates of extensions, and values of another shape are left as they are."""
    order = _order(type)
    ordered: dict[str, Any] = obj if order is None else order(obj, earlier)
    return ordered


def _order(type: Type) -> Convert | None:
    """The compiled order of values of `type`; None for values that have no members."""
    if is_union(type):
        # A schema, or another form without members.
        return _order(type.fields["Schema"].type)
    if type.kind == "struct":
        convert: Convert | None = type.memo.get(_MEMO)
        if convert is None:
            with COMPILE_LOCK:
                # Recursive types find this while their members are compiled.
                convert = type.memo.setdefault(_MEMO, _struct(type))
        return convert
    if type.kind in ("list", "map"):
        assert type.element is not None
        element = _order(type.element)
        return _map(element) if type.kind == "map" else element and _list(element)
    return None


def _struct(type: Type) -> Convert:
    #: name -> (rank, order of the value)
    members: dict[str, tuple[int, Convert | None]] = {}
    #: Names as they were found -> names in order (None: they are), and the orders of the values that have members.
    plans: dict[tuple[str, ...], tuple[tuple[str, ...] | None, tuple[tuple[str, Convert], ...]]] = {}

    def plan(names: tuple[str, ...]) -> tuple[tuple[str, ...] | None, tuple[tuple[str, Convert], ...]]:
        if not members:
            members_by_name: dict[str, tuple[int, Convert | None]] = {
                name: (rank, None) for name, rank in _FIRST.items()
            }
            members_by_name |= {
                name: (rank, _order(field.type)) for rank, (name, field) in enumerate(type.fields.items())
            }
            members.update(members_by_name)
        ordered = tuple(sorted(names, key=lambda name: members.get(name, _UNKNOWN)[0]))
        inner = tuple((name, order) for name in names if (order := members.get(name, _UNKNOWN)[1]) is not None)
        plan_ = None if ordered == names else ordered, inner
        if members.keys() >= set(names):
            # Names that the type does not have could be any number.
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            plans[names] = plan_
        return plan_

    def struct(value: Any, earlier: Any) -> Any:
        if value.__class__ is not dict:
            return value
        before = earlier_members(earlier)
        names = tuple(value)
        ordered, inner = plans.get(names) or plan(names)
        changes: dict[str, Any] | None = None
        for name, order in inner:
            item, was = value[name], before.get(name)
            if item and item is not was and (ordered_item := order(item, was)) is not item:
                if changes is None:
                    changes = {}
                changes[name] = ordered_item
        if ordered is not None:
            value = {name: value[name] for name in ordered}
        return value if changes is None else {**value, **changes}

    return struct


def _list(element: Convert) -> Convert:
    def items(value: Any, earlier: Any) -> Any:
        return convert_items(value, earlier, element) if value.__class__ is list else value

    return items


def _map(element: Convert | None) -> Convert:
    def entries(value: Any, earlier: Any) -> Any:
        if value.__class__ is not dict:
            return value
        if len(value) > 1 and list(value) != (names := sorted(value)):
            value = {name: value[name] for name in names}
        return value if element is None else convert_entries(value, element)

    return entries
