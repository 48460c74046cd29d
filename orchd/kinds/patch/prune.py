"""Removal of fields from values, and adaptation of owned sets to schema changes."""

from __future__ import annotations

from typing import Any

from orchd.kinds.ir import Type
from orchd.kinds.patch import nodes
from orchd.kinds.patch.fieldset import LEAF, SELF, FieldSet, is_member, with_member
from orchd.kinds.patch.nodes import DEDUCED, LIST, MAP, Node
from orchd.kinds.patch.typed import item_element


def remove(value: Any, fields: FieldSet, type: Type) -> Any:
    """Remove the members of `fields` from a value. A container that loses all parts without being a member becomes
    null, because a manager owns it."""
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
        return items or None
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
    return out or None


def with_named_members(fields: FieldSet, type: Type) -> FieldSet:
    """The set plus the declared parents of its members."""
    return _select_elements(nodes.root(type), fields)


def _select_elements(node: Node | None, fields: FieldSet) -> FieldSet:
    out: FieldSet = {}
    declared = node.fields if node is not None and node.kind == MAP else {}
    for key, below in fields.items():
        if not below:
            out[key] = below
            continue
        child: Node | None = None
        if key[0] == "f" and node is not None:
            field = declared.get(key[2:])
            child = node.element if field is None else field[1]
            if node.kind == DEDUCED:
                child = node
            named = _select_elements(child, below)
            out[key] = named if field is None else with_member(named)
        else:
            if node is not None and node.kind == LIST and key[0] == "k":
                child = node.element
            out[key] = _select_elements(child, below)
    return out


# -- schema changes ---------------------------------------------------------------------------------------------------


def reconcile(fields: FieldSet, type: Type) -> FieldSet:
    """Adapt an owned set to the current schema. Returns the same set if nothing changed.

    A field that became atomic is owned as a whole. The owner of a field that became granular owns the field, but not
    its parts.
    """
    return _reconcile_children(nodes.root(type), fields)


def _reconcile_children(node: Node, fields: FieldSet) -> FieldSet:
    """`reconcile` for the children of a granular node."""
    out = fields
    for key, below in fields.items():
        if key == SELF or not below:
            continue
        child = _child(node, key)
        if child is None:
            continue
        new = LEAF if child.atomic else _reconcile_children(child, below)
        if new is not below:
            if out is fields:
                out = dict(fields)
            out[key] = new
    return out


def _child(node: Node, element: str) -> Node | None:
    """The node of a path element, None if the schema does not specify it."""
    child = node.element
    if element[0] == "f":
        field = node.fields.get(element[2:])
        if field is not None:
            child = field[1]
    return None if child is None or child.kind >= DEDUCED else child
