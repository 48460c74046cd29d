"""Taking fields out of values, and sets to the schema in force: what giving up fields needs besides `typed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.kinds.ir import Type
from orchd.kinds.patch import nodes
from orchd.kinds.patch.fieldset import LEAF, SELF, FieldSet, is_member, with_member
from orchd.kinds.patch.nodes import DEDUCED, LIST, MAP, Node
from orchd.kinds.patch.typed import TypedError, indexed, item_element, owned


def remove(value: Any, fields: FieldSet, type: Type) -> Any:
    """The value without the members of `fields`. What loses all its parts and is no member itself stays, empty: it is
    there because somebody holds it."""
    return _remove(nodes.root(type), value, fields)


def _remove(node: Node, value: Any, fields: FieldSet) -> Any:
    if node.atomic or not value or not fields:
        return value
    if isinstance(value, list) and node.kind == LIST:
        element = node.element
        assert element is not None
        items = []
        for item in value:
            below = fields.get(item_element(node, item))
            if below is None:
                items.append(item)
            elif not is_member(below):
                items.append(_remove(element, item, below))
        return items
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        below = fields.get("f:" + key)
        if below is None:
            out[key] = item
        elif not is_member(below):
            child = node if node.kind == DEDUCED else node.child(key)
            out[key] = item if child is None else _remove(child, item, below)
    return out


def extract(value: Any, fields: FieldSet, type: Type) -> Any:
    """Only what `fields` names of the value, with the containers and keys that lead there; None when there is nothing."""
    return _extract(nodes.root(type), value, fields)


def _extract(node: Node, value: Any, fields: FieldSet) -> Any:
    if node.atomic or not value:
        return value
    if isinstance(value, list) and node.kind == LIST:
        element = node.element
        assert element is not None
        items = []
        for item in value:
            below = fields.get(item_element(node, item))
            if below is not None:
                kept = _extract(element, item, below)
                if isinstance(item, dict) and node.keys:
                    kept = {**{k: item[k] for k in node.keys if k in item}, **(kept or {})}
                items.append(kept)
        return items or None
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        below = fields.get("f:" + key)
        if below is None:
            continue
        child = node if node.kind == DEDUCED else node.child(key)
        kept = item if child is None else _extract(child, item, below)
        if kept is None and is_member(below):
            kept = {} if isinstance(item, dict) else [] if isinstance(item, list) else item
        if kept is not None or item is None:
            out[key] = kept
    return out or None


def with_named_members(fields: FieldSet, type: Type) -> FieldSet:
    """The set plus every declared field on the way to its members: whoever owns all of a struct owns the struct."""
    return _named(nodes.root(type), fields)


def _named(node: Node | None, fields: FieldSet) -> FieldSet:
    out: FieldSet = {}
    declared = node.fields if node is not None and node.kind == MAP else {}
    for key, below in fields.items():
        if not below:
            out[key] = below
            continue
        child: Node | None = None
        if key[0] == "f" and node is not None:
            found = declared.get(key[2:])
            child = node.element if found is None else found[1]
            if node.kind == DEDUCED:
                child = node
            named = _named(child, below)
            out[key] = named if found is None else with_member(named)
        else:
            if node is not None and node.kind == LIST and key[0] == "k":
                child = node.element
            out[key] = _named(child, below)
    return out


# -- schema changes ---------------------------------------------------------------------------------------------------


def reconciled(fields: FieldSet, live: Any, type: Type, everyone: Callable[[], FieldSet] | None = None) -> FieldSet:
    """An owned set under the schema of today: what became atomic since is owned as one, what became granular by its
    parts in the live object. The same set when nothing changed, as almost always.

    A granular field that is owned without any part either was atomic then or was empty. `everyone` gives what all
    owners have together: when one of them has a part of it, it was empty, and nothing is added. (The reference does not
    tell these apart, and lets the first owner of ``{}`` share whatever others put there later.)"""
    node = nodes.root(type)
    if _settled(node, fields):
        return fields
    return _reconciled(node, fields, live, fields if everyone is None else everyone())


def _child(node: Node, element: str) -> Node | None:
    """The node that a path element leads to, None when the schema says nothing about it."""
    child = node.element
    if element[0] == "f":
        found = node.fields.get(element[2:])
        if found is not None:
            child = found[1]
    return None if child is None or child.kind >= DEDUCED else child


def _settled(node: Node, fields: FieldSet) -> bool:
    """Does the set fit the schema, so that no value is needed to tell? What is owned as one is atomic, and so on."""
    for key, below in fields.items():
        if key == SELF:
            continue
        child = _child(node, key)
        if child is None:
            continue
        if child.atomic:
            if below:
                return False
        elif not below or not _settled(child, below):
            return False
    return True


def _reconciled(node: Node, fields: FieldSet, live: Any, everyone: FieldSet) -> FieldSet:
    """`reconciled` for the children of a granular node; `live` is its value, `everyone` its part of all sets."""
    out: FieldSet | None = None
    parts: dict[str, Any] | None = None
    for key, below in fields.items():
        child = None if key == SELF else _child(node, key)
        if child is None or (child.atomic and not below) or (below and not child.atomic and _settled(child, below)):
            continue
        new = LEAF if child.atomic else below
        if not child.atomic:
            if parts is None:
                parts = _parts(node, live)
            value, held = parts.get(key), everyone.get(key) or LEAF
            if below:
                new = _reconciled(child, below, value, held)
            elif value and not held:
                new = with_member(_fields_of(child, value))
        if new is not below:
            out = dict(fields) if out is None else out
            out[key] = new
    return fields if out is None else out


def _fields_of(node: Node, value: Any) -> FieldSet | None:
    try:
        return owned(node, value)
    except TypedError:
        # The live value does not fit the schema; there is nothing to own in it by parts.
        return None


def _parts(node: Node, value: Any) -> dict[str, Any]:
    """The parts of a value by path element; none where it does not fit the schema."""
    if isinstance(value, dict):
        return {"f:" + name: item for name, item in value.items()}
    if not isinstance(value, list) or node.kind != LIST:
        return {}
    try:
        return indexed(node, value)
    except TypedError:
        return {}
