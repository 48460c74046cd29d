"""Typed values: validation, their fields, comparison and merging.

The rules are those of structured-merge-diff 4.2, which release 1.23 uses, and of 6, where nodes are lenient. Functions
do not modify values; results share unchanged parts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from orchd.kinds.gotext.values import plain, quote, type_name
from orchd.kinds.ir import Type
from orchd.kinds.patch import nodes
from orchd.kinds.patch.fieldset import LEAF, SELF, FieldSet, in_order, json_text, key_element, show_element, with_member
from orchd.kinds.patch.nodes import DEDUCED, LIST, MAP, NO_DEFAULT, SCALAR, Node

#: Added, modified and removed fields; None for an empty set.
Changes: TypeAlias = tuple[FieldSet | None, FieldSet | None, FieldSet | None]

_MISSING: Final = object()
_UNCHANGED: Final[Changes] = (None, None, None)
_MODIFIED: Final[Changes] = (None, LEAF, None)
#: Fields of lists are remembered by their JSON, so many of up to so many bytes.
_MOST_LISTS, _LONGEST_LIST = 128, 8192


class TypedError(ValueError):
    """A value that does not fit its type; the text names the path: ``.spec.foo: field not declared in schema``."""


def same(left: Any, right: Any) -> bool:
    """True if two JSON values are equal. Numbers are compared by value; booleans are not numbers."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(k in right and same(v, right[k]) for k, v in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and isinstance(left, bool) is isinstance(right, bool)


# -- validation -------------------------------------------------------------------------------------------------------


def validate(value: Any, type: Type) -> None:
    """Validate an object. Raises TypedError with all errors."""
    errors: list[str] = []
    _validate(nodes.root(type), value, "", errors)
    if len(errors) == 1:
        raise TypedError(errors[0])
    if errors:
        raise TypedError("\n".join(["errors:", *(f"  {e}" for e in errors)]))


def _validate(node: Node, value: Any, path: str, errors: list[str]) -> None:
    kind = node.kind
    if value is None or kind > LIST:
        return
    if kind == SCALAR:
        _validate_scalar(node, value, path, errors)
    elif kind == MAP:
        if not isinstance(value, dict):
            errors.append(_at(path, f"expected map, got &{{{plain(value)}}}"))
            return
        fields = node.fields
        for key, item in value.items():
            field = fields.get(key)
            child = node.element if field is None else field[1]
            if child is None:
                errors.append(f"{path}.{key}: field not declared in schema")
                return
            if child.kind != SCALAR or child.text:
                _validate(child, item, f"{path}.{key}", errors)
    else:
        _validate_list(node, value, path, errors)


def _validate_scalar(node: Node, value: Any, path: str, errors: list[str]) -> None:
    scalar = node.text
    if scalar == "string" and not isinstance(value, str):
        errors.append(_at(path, f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}"))
    elif scalar == "numeric" and (isinstance(value, bool) or not isinstance(value, int | float)):
        errors.append(_at(path, f"expected numeric (int or float), got {type_name(value)}"))
    elif scalar == "untyped" and isinstance(value, dict | list):
        errors.append(_at(path, f"expected any scalar, got &{{{plain(value)}}}"))
    elif scalar == "boolean" and not isinstance(value, bool):
        errors.append(_at(path, f"expected boolean, got &{{{plain(value)}}}"))


def _validate_list(node: Node, value: Any, path: str, errors: list[str]) -> None:
    if not isinstance(value, list):
        errors.append(_at(path, f"expected list, got &{{{plain(value)}}}"))
        return
    element = node.element
    assert element is not None
    seen: set[str] = set()
    for position, item in enumerate(value):
        if node.atomic:
            where = f"[{position}]"
        else:
            try:
                key = item_element(node, item)
            except TypedError as error:
                errors.append(_at(path, f"element {position}: {error}"))
                return
            where = show_element(key)
            if key in seen:
                errors.append(_at(path, f"duplicate entries for key {where}"))
            seen.add(key)
        _validate(element, item, path + where, errors)


def _at(path: str, what: str) -> str:
    return f"{path}: {what}" if path else what


def _literal(value: Any) -> str:
    """Format a value like ``%#v``."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(k)}:{_literal(value[k])}" for k in sorted(value))
        return f"{type_name(value)}{{{inner}}}"
    if isinstance(value, list):
        return f"{type_name(value)}{{{', '.join(map(_literal, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return quote(value) if isinstance(value, str) else plain(value)


# -- list items -------------------------------------------------------------------------------------------------------


def item_element(node: Node, item: Any) -> str:
    """The path element of an item of an associative list. Raises TypedError for an item without identity."""
    if not node.keys:
        if item is None:
            raise TypedError("associative list without keys has an element that's an explicit null")
        if isinstance(item, dict):
            raise TypedError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise TypedError("not supported: associative list with lists as elements")
        return "v:" + json_text(item)
    if len(node.keys) == 1 and isinstance(item, dict) and (text := item.get(node.keys[0])).__class__ is str:
        return key_element(text, node.keys[0])
    if not isinstance(item, dict):
        raise TypedError(
            "associative list with keys may not have a null element"
            if item is None
            else "associative list with keys may not have non-map elements"
        )
    values = {}
    for key, default in zip(node.keys, node.defaults, strict=True):
        value = item.get(key, default)
        if value is not NO_DEFAULT:
            values[key] = value
        elif not node.lenient:
            raise TypedError(
                f"associative list with keys has an element that omits key field {quote(key)} (and doesn't have default value)"
            )
    if not values:
        keys = " ".join(map(quote, node.type.list_keys or node.keys))
        raise TypedError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return "k:" + json_text(values)


def _elements(node: Node, items: list[Any] | None) -> list[str]:
    """The path elements of the items of an associative list. Raises TypedError for an item without identity."""
    out: list[str] = []
    try:
        for item in items or ():
            out.append(item_element(node, item))
    except TypedError as error:
        raise TypedError(f"element {len(out)}: {error}") from None
    return out


def index_items(node: Node, items: list[Any] | None) -> dict[str, Any]:
    """Index the items of an associative list by path element, in order. Raises TypedError for duplicates."""
    elements = _elements(node, items)
    out = dict(zip(elements, items or (), strict=True))
    if len(out) < len(elements):
        before: set[str] = set()
        for element in elements:
            if element in before:
                raise TypedError(f"duplicate entries for key {show_element(element)}")
            before.add(element)
    return out


class _Repeated(list[Any]):
    """The items of one identity in a lenient list. They are owned and compared as one."""


def _grouped_items(node: Node, items: list[Any] | None) -> dict[str, Any]:
    """Index the items of a stored list; several of one identity are a `_Repeated`. Raises TypedError for them if the
    node is not lenient."""
    if not node.lenient:
        return index_items(node, items)
    out: dict[str, Any] = {}
    for element, item in zip(_elements(node, items), items or (), strict=True):
        if element not in out:
            out[element] = item
        elif isinstance(out[element], _Repeated):
            out[element].append(item)
        else:
            out[element] = _Repeated((out[element], item))
    return out


def _as(kind: type, value: Any) -> Any:
    if value is None or isinstance(value, kind):
        return value or None
    raise TypedError(f"expected {'map' if kind is dict else 'list'}, got &{{{plain(value)}}}")


# -- fields of a value ------------------------------------------------------------------------------------------------


def fields_of(value: Any, type: Type) -> FieldSet:
    """The fields that an applied configuration sets."""
    return owned_fields(nodes.root(type), value) or {}


def owned_fields(node: Node, value: Any) -> FieldSet | None:
    """The fields of a value, None if there are none.

    Items of lists and of open maps, nulls and empty objects are members; declared structs, maps and lists only have
    members.
    """
    if node.atomic:
        return LEAF
    kind = node.kind
    if kind == LIST:
        element = node.element
        assert element is not None
        items = _grouped_items(node, _as(list, value))
        owned = {
            k: LEAF if isinstance(v, _Repeated) else with_member(owned_fields(element, v)) for k, v in items.items()
        }
        return in_order(owned) or None
    if kind == DEDUCED and not isinstance(value, dict):
        return None if value is None else LEAF
    if not value:
        return None
    out: FieldSet = {}
    fields = node.fields
    for key, item in _as(dict, value).items():
        field = fields.get(key)
        if field is None:
            below = owned_fields(_undeclared_member(node, key), item)
            out["f:" + key] = with_member(below)
            continue
        child = field[1]
        mine = LEAF if child.atomic else owned_fields(child, item)
        if item is None or item == {}:
            mine = with_member(mine)
        if mine is not None:
            out[field[0]] = mine
    return in_order(out) or None


def all_fields(node: Node, value: Any) -> FieldSet:
    """The set of a value that was added or removed as a whole: the value and all of its parts."""
    if node.atomic:
        return LEAF
    kind = node.kind
    if kind == LIST:
        items = _grouped_items(node, _as(list, value))
        if not items:
            return LEAF
        return in_order({SELF: LEAF, **{k: _all_of_item(node, v) for k, v in items.items()}})
    if kind == DEDUCED and not isinstance(value, dict):
        return LEAF
    if not value:
        return LEAF
    out: FieldSet = {SELF: LEAF}
    fields = node.fields
    for key, item in _as(dict, value).items():
        path, child = fields.get(key) or ("f:" + key, _undeclared_member(node, key))
        out[path] = LEAF if child.atomic else all_fields(child, item)
    return in_order(out)


@lru_cache(_MOST_LISTS)
def _fields_of_text(node: Node, text: bytes) -> FieldSet:
    """`all_fields` of JSON."""
    return all_fields(node, orjson.loads(text))


def _new_fields(node: Node, value: Any) -> FieldSet:
    """`all_fields` of an added value. Objects of one template have the same lists, whose fields are remembered: those
    of built-in kinds, since nodes of other kinds come and go."""
    if node.kind == LIST and node.exact and not node.atomic:
        text = orjson.dumps(value)
        if len(text) <= _LONGEST_LIST:
            return _fields_of_text(node, text)
    return all_fields(node, value)


def _all_of_item(node: Node, item: Any) -> FieldSet:
    """`all_fields` of an item of a list."""
    assert node.element is not None
    return LEAF if isinstance(item, _Repeated) else all_fields(node.element, item)


def _undeclared_member(node: Node, key: str) -> Node:
    """The node of an undeclared member."""
    if node.kind == DEDUCED:
        return node
    if node.element is None:
        raise TypedError(f".{key}: field not declared in schema")
    return node.element


# -- comparison -------------------------------------------------------------------------------------------------------


def compare(left: Any, right: Any, type: Type) -> tuple[FieldSet, FieldSet, FieldSet]:
    """Fields added, modified and removed between two objects. Raises TypedError if one does not fit the type."""
    added, modified, removed = compare_nodes(nodes.root(type), left, right)
    return added or {}, modified or {}, removed or {}


def compare_nodes(node: Node, left: Any, right: Any) -> Changes:
    """`compare` for two present values of one node."""
    if left is right:
        return _UNCHANGED
    if node.exact:
        if left == right:
            return _UNCHANGED
    elif same(left, right):
        return _UNCHANGED
    if node.atomic:
        return _MODIFIED
    kind = node.kind
    if kind == LIST:
        return _list_changes(node, left, right)
    if kind == DEDUCED:
        if not isinstance(left, dict) and not isinstance(right, dict):
            return _MODIFIED
        odd = right if isinstance(left, dict) else left
        left = left if isinstance(left, dict) else None
        right = right if isinstance(right, dict) else None
        if not left and not right:
            return _MODIFIED
        if not isinstance(odd, dict | None):
            # An object replaced another value, or vice versa: its parts are added or removed, and the field is
            # modified.
            added, _, removed = _map_changes(node, left, right)
            return added, LEAF, removed
    return _map_changes(node, _as(dict, left), _as(dict, right))


def _map_changes(node: Node, left: dict[str, Any] | None, right: dict[str, Any] | None) -> Changes:
    if not left and not right:
        return _MODIFIED
    left, right = left or {}, right or {}
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    fields = node.fields
    for key, item in right.items():
        before = left.get(key, _MISSING)
        if before is item:
            continue
        field = fields.get(key)
        if field is None:
            element, child = "f:" + key, _undeclared_member(node, key)
        else:
            element, child = field
        if before is _MISSING:
            added[element] = LEAF if child.atomic else _new_fields(child, item)
        elif child.kind == SCALAR:
            if not same(before, item):
                modified[element] = LEAF
        else:
            _add_changes(element, compare_nodes(child, before, item), added, modified, removed)
    for key, before in left.items():
        if key not in right:
            field = fields.get(key)
            if field is None:
                removed["f:" + key] = all_fields(_undeclared_member(node, key), before)
            else:
                removed[field[0]] = all_fields(field[1], before)
    return in_order(added) or None, in_order(modified) or None, in_order(removed) or None


def _list_changes(node: Node, left: Any, right: Any) -> Changes:
    if not _as(list, left) and _as(list, right):
        return {key: below for key, below in _new_fields(node, right).items() if key != SELF}, None, None
    before, after = _grouped_items(node, _as(list, left)), _grouped_items(node, _as(list, right))
    if not before and not after:
        return _MODIFIED
    element = node.element
    assert element is not None
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for key, item in after.items():
        if key not in before:
            added[key] = _all_of_item(node, item)
            continue
        repeated = isinstance(before[key], _Repeated)
        if repeated is not isinstance(item, _Repeated):
            added[key], removed[key] = _all_of_item(node, item), _all_of_item(node, before[key])
        elif not repeated:
            _add_changes(key, compare_nodes(element, before[key], item), added, modified, removed)
        elif not same([*before[key]], [*item]):
            modified[key] = LEAF
    for key, item in before.items():
        if key not in after:
            removed[key] = _all_of_item(node, item)
    return in_order(added) or None, in_order(modified) or None, in_order(removed) or None


def _add_changes(element: str, changes: Changes, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
    if changes is _UNCHANGED:
        return
    new, other, gone = changes
    if new is not None:
        added[element] = new
    if other is not None:
        modified[element] = other
    if gone is not None:
        removed[element] = gone


# -- merging ----------------------------------------------------------------------------------------------------------


def merge(left: Any, right: Any, type: Type) -> Any:
    """Merge `right` into `left`. Returns `left` itself if nothing changes."""
    return merge_nodes(nodes.root(type), left, right)


def merge_nodes(node: Node, left: Any, right: Any) -> Any:
    """`merge` for two present values of a node. A null does not clear a granular map or list."""
    kind = node.kind
    if left is right:
        return left
    if node.atomic:
        return left if same(left, right) else right
    if kind == LIST:
        return _merge_list(node, _as(list, left), _as(list, right), left, right)
    if kind == DEDUCED:
        if not isinstance(left, dict):
            return left if same(left, right) else right
        if not isinstance(right, dict) and right is not None:
            return right
    mine, theirs = _as(dict, left), _as(dict, right)
    if not theirs:
        return left if mine or same(left, right) else right
    if not mine:
        return right
    out: dict[str, Any] | None = None
    fields = node.fields
    for key, item in theirs.items():
        before = mine.get(key, _MISSING)
        if before is _MISSING:
            after = item
        else:
            field = fields.get(key)
            after = merge_nodes(_undeclared_member(node, key) if field is None else field[1], before, item)
            if after is before:
                continue
        if out is None:
            out = dict(mine)
        out[key] = after
    return left if out is None else out


def _merge_list(node: Node, mine: list[Any] | None, theirs: list[Any] | None, left: Any, right: Any) -> Any:
    """Merge two associative lists in the order of `theirs`. Items that only `mine` has keep their position before the
    items that followed them. Repeated items of `mine` are replaced."""
    before, after = _grouped_items(node, mine), index_items(node, theirs)
    if not after:
        return left if before or same(left, right) else right
    if not before:
        return right
    element = node.element
    assert element is not None
    both = {
        key: merge_nodes(element, before[key], item)
        if key in before and not isinstance(before[key], _Repeated)
        else item
        for key, item in after.items()
    }
    shared = [key for key in after if key in before]
    out: list[Any] = []
    old, new = _elements(node, mine), list(after)
    i = j = next_shared = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new):
            if old[i] == new[j]:
                out.append(both[old[i]])
                i, j, next_shared = i + 1, j + 1, next_shared + 1
                continue
            if old[i] in after and next_shared < len(shared) and shared[next_shared] != old[i]:
                # Also in `theirs`, which determines its position.
                i += 1
                continue
        if i < len(old) and old[i] not in after:
            out.append((mine or ())[i])
            i += 1
        elif j < len(new):
            key = new[j]
            out.append(both[key])
            j += 1
            if next_shared < len(shared) and shared[next_shared] == key:
                next_shared += 1
        else:
            # Added already, at its position in `theirs`.
            i += 1
    if len(out) == len(old) and all(x is y for x, y in zip(out, mine or (), strict=False)):
        return left
    return out
