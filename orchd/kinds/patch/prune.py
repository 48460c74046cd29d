"""Taking fields out of values, and sets to the schema in force: what giving up fields needs besides `typed`."""

from __future__ import annotations

from typing import Any

from orchd.kinds.ir import Type
from orchd.kinds.patch import nodes
from orchd.kinds.patch.fieldset import LEAF, SELF, FieldSet, is_member, with_member
from orchd.kinds.patch.nodes import DEDUCED, LIST, MAP, Node
from orchd.kinds.patch.typed import TypedError, indexed, item_element, owned


def remove(value: Any, fields: FieldSet, type: Type) -> Any:
    """The value without the members of `fields`, and without maps and lists that this empties."""
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
                rest = _remove(element, item, below)
                if rest is not None:
                    items.append(rest)
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
            rest = item if child is None else _remove(child, item, below)
            if rest is not None:
                out[key] = rest
    return out or None


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


def reconciled(fields: FieldSet, live: Any, type: Type) -> FieldSet:
    """An owned set under the schema of today: what became atomic since is owned as one, what became granular by its
    parts in the live object. The same set when nothing changed, as almost always."""
    return _reconciled(nodes.root(type), fields, live)


def _reconciled(node: Node, fields: FieldSet, live: Any) -> FieldSet:
    """`fields` is not empty: the children of a node whose type is granular."""
    out: FieldSet | None = None
    declared = node.fields
    for key, below in fields.items():
        if key == SELF:
            continue
        child = node.element
        if key[0] == "f":
            found = declared.get(key[2:])
            if found is not None:
                child = found[1]
        if child is None or child.kind == DEDUCED:
            continue
        if child.atomic:
            if not below:
                continue
            new = LEAF
        elif below:
            new = _reconciled(child, below, _at(node, live, key))
        else:
            # One member: it may date from when the type was atomic, and then stands for all there is.
            value = _at(node, live, key)
            new = with_member(_fields_of(child, value)) if value else below
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


def _at(node: Node, value: Any, element: str) -> Any:
    """The part of a value that a path element names, None when it has none."""
    if element[0] == "f":
        return value.get(element[2:]) if isinstance(value, dict) else None
    if not isinstance(value, list) or node.kind != LIST:
        return None
    try:
        return indexed(node, value).get(element)
    except TypedError:
        return None
