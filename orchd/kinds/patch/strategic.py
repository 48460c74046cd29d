"""Strategic merge patch: merging by the schema's merge keys and by directives in the patch.

``$patch: delete|replace`` on an object or list item, ``$patch: replace`` as an item for the whole list, ``$retainKeys``
(all other members go), ``$deleteFromPrimitiveList/FIELD`` and ``$setElementOrder/FIELD``. Lists merge where the field
says so, else they are replaced; null removes. Source: the specification's notes on strategic merge patch, and the
recorded responses of release 1.23. Later releases remove nulls and directives of members that the object does not have
(`NewMember`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.errors import bad_request
from orchd.kinds.gotext.values import json_name, plain, quote, type_name
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.patch.patch_errors import rejection, server_error
from orchd.kinds.patch.syntax import SyntaxProblem, decode

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_LIST: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


#: The value that a member gets that the object does not have, or that has another type there; `_GONE` for none.
NewMember = Callable[[Any], Any]
_GONE: Final = object()


def as_sent(value: Any) -> Any:
    """The value itself: nulls and directives remain."""
    return value


def without_nulls(value: Any) -> Any:
    """The value without null members, and without objects that have a directive."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _GONE
        members = {name: without_nulls(item) for name, item in value.items() if item is not None}
        return {name: item for name, item in members.items() if item is not _GONE}
    if isinstance(value, list):
        return [item for item in map(without_nulls, value) if item is not _GONE]
    return value


#: What becomes of new members, by release.
NEW_MEMBERS: Final[tuple[tuple[str, NewMember], ...]] = (("", as_sent), ("1.35", without_nulls))


def apply(doc: Object, patch: bytes | str | Object | None, type: Type, new: NewMember = as_sent) -> Object:
    """Apply a patch to `doc`. Unknown members in new objects remain, for pruning.

    Raises ApiError: 400 for a malformed patch, 422 for lists of lists, 500 with the reference's message for other
    errors.
    """
    value = parse(patch)
    return _merge_map(doc, value, type, new) if value else doc


def parse(patch: bytes | str | Object | None) -> Object:
    """Parse a patch to an object; null yields an empty one."""
    value: Any = patch
    if isinstance(patch, bytes | str):
        try:
            value = decode(patch)
        except SyntaxProblem as problem:
            raise bad_request(str(problem)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request(f"json: cannot unmarshal {json_name(value)} into Go value of type map[string]interface {{}}")
    return value


# -- objects ----------------------------------------------------------------------------------------------------------


def _merge_map(original: Object, patch: Object, type: Type | None, new: NewMember) -> Object:
    if _DIRECTIVE in patch:
        return _apply_directive(patch[_DIRECTIVE], patch)
    out = dict(original)
    patch = dict(patch)
    if _RETAIN in patch:
        _retain(out, patch)
    for name in [n for n in patch if n.startswith(_ORDER)]:
        _order(out, patch, name, type, new)
    for name, value in patch.items():
        deletes = name.startswith(_DELETE_LIST)
        key = _suffix(name, _DELETE_LIST, "invalid patch format of primitive list") if deletes else name
        if value is None:
            out.pop(key, None)
        elif key not in out:
            if not deletes:
                _set(out, key, new(value))
        elif isinstance(value, dict) and isinstance(out[key], dict):
            field = _field(type, key)
            out[key] = value if _replaces(field) else _merge_map(out[key], value, field, new)
        elif isinstance(value, list) and isinstance(out[key], list):
            out[key] = _merge_field(out[key], value, _field(type, key), new, deletes=deletes)
        elif not deletes:
            _set(out, key, new(value))
    return out


def _set(out: Object, key: str, value: Any) -> None:
    if value is _GONE:
        out.pop(key, None)
    else:
        out[key] = value


def _apply_directive(directive: Any, patch: Object) -> Object:
    if directive == "replace":
        return {k: v for k, v in patch.items() if k != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _bad_directive(directive, patch)


def _bad_directive(directive: Any, where: Object) -> Exception:
    return server_error(f"unknown patch type: {_as_string(directive)} in map: {plain(where)}")


def _as_string(value: Any) -> str:
    """Format a value like ``%s``, which complains about everything but strings."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{' '.join(map(_as_string, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_as_string(value[key])}' for key in sorted(value))}]"
    return "%!s(<nil>)" if value is None else f"%!s({type_name(value)}={plain(value)})"


def _retain(out: Object, patch: Object) -> None:
    """Remove members that the directive does not list. It must list all members that the patch sets."""
    keep = patch.pop(_RETAIN)
    if not isinstance(keep, list):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE_LIST, _ORDER)) and name not in keep:
            raise bad_request("invalid patch format of retainKeys")
    for name in [n for n in out if n not in keep]:
        del out[name]


def _suffix(name: str, prefix: str, problem: str) -> str:
    head, slash, key = name.partition("/")
    if not slash or head != prefix:
        raise bad_request(problem)
    return key


def _field(type: Type | None, name: str) -> Type | None:
    """The type of a member; None for unknown schemas. Raises ApiError for a member that the struct does not have."""
    if type is None or type.kind not in ("struct", "map"):
        return None
    if type.kind == "map":
        return type.element
    field = type.fields.get(name)
    if field is not None:
        return field.type
    if name in ("apiVersion", "kind"):
        return None
    short = type.name.rpartition(".")[2]
    raise server_error(f"unable to find api field in struct {short} for the json field {quote(name)}")


def _replaces(field: Type | None) -> bool:
    return field is not None and "replace" in field.merge_strategies


# -- lists ------------------------------------------------------------------------------------------------------------


def _merge_field(
    original: list[Any], patch: list[Any], field: Type | None, new: NewMember, *, deletes: bool = False
) -> list[Any]:
    if field is None or "merge" not in field.merge_strategies:
        return patch
    if not original and not patch:
        return original
    key = field.merge_key
    if not _of_maps(original, patch):
        if deletes:
            gone = set(patch)
            return [v for v in original if v not in gone]
        present = set(original)
        merged = list(original)
        merged.extend(v for v in patch if v not in present)
        merged = list(dict.fromkeys(merged))
        if key:
            _expect_map(merged[0])
        return _in_order(merged, patch, original, "")
    if not key:
        raise server_error(f"cannot merge lists without merge key for {field.element.kind}")
    original, patch = _special_items(original, patch, key)
    merged = list(original)
    identify = _identify(key)
    places: dict[Any, int] = {}
    for at, item in enumerate(original):
        if key in item:
            places.setdefault(identify(item), at)
    for item in patch:
        if key not in item:
            raise _no_key(item, key)
        place = places.setdefault(identify(item), len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = _merge_map(merged[place], item, field.element, new)
    return _in_order(merged, patch, original, key)


def _of_maps(*lists: list[Any]) -> bool:
    """True if the items are objects. Raises ApiError for mixed items and for lists."""
    schema: Any = None
    for items in lists:
        for item in items:
            if schema is None:
                schema = type(item)
                if schema is list:
                    raise rejection()
            elif type(item) is not schema:
                raise server_error("list element types are not identical: " + plain(list(lists)))
    if schema is None:
        raise server_error("no elements in any of the given slices")
    return schema is dict


def _special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Apply the directive items of a patch. Returns the list to merge into and the items to merge."""
    plain_items = []
    replace = False
    identify = _identify(key)
    deleted: set[Any] = set()
    for item in patch:
        if _DIRECTIVE not in item:
            plain_items.append(item)
            continue
        directive = item[_DIRECTIVE]
        if directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            deleted.add(identify(item))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise server_error("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_directive(directive, item)
    if deleted:
        original = [o for o in original if key not in o or identify(o) not in deleted]
    return (plain_items, []) if replace else (original, plain_items)


def _no_key(item: Object, key: str) -> Exception:
    return server_error(f"map: {plain(item)} does not contain declared merge key: {key}")


def _in_order(merged: list[Any], order_of: list[Any], live: list[Any], key: str) -> list[Any]:
    """Sort items by `wanted`; other items keep their position in `live` as far as possible."""
    order, before = _places(order_of, key), _places(live, key)
    identify = _identify(key)
    ours: list[Any] = []
    others: list[Any] = []
    for item in merged:
        if key:
            _expect_map(item)
            if key not in item:
                raise _no_key(item, key)
        (ours if identify(item) in order else others).append(item)
    ours.sort(key=lambda i: (_deletes(i), order[identify(i)]))
    others.sort(key=lambda i: (_deletes(i), before.get(identify(i), len(before))))
    out: list[Any] = []
    at = 0
    for item in ours:
        place = before.get(identify(item))
        while place is not None and at < len(others) and before.get(identify(others[at]), len(before)) < place:
            out.append(others[at])
            at += 1
        out.append(item)
    return out + others[at:]


def _deletes(item: Any) -> bool:
    """True if a new item is a directive to delete it. Such items are appended without the directive."""
    return isinstance(item, dict) and item.get(_DIRECTIVE) == "delete"


def _identify(key: str) -> Callable[[Any], Any]:
    """The hashable identity of an item."""

    def identify(item: Any) -> Any:
        value = item.get(key) if key else item
        return plain(value) if isinstance(value, dict | list) else value

    return identify


def _places(items: list[Any], key: str) -> dict[Any, int]:
    identify = _identify(key)
    out: dict[Any, int] = {}
    for at, item in enumerate(items):
        if key and not isinstance(item, dict):
            raise server_error(f"value for key {at} is not a map.")
        if key and key not in item:
            raise _no_key(item, key)
        out.setdefault(identify(item), at)
    return out


def _order(out: Object, patch: Object, name: str, type: Type | None, new: NewMember) -> None:
    """Apply ``$setElementOrder/FIELD`` together with the patch of FIELD, and remove both from `patch`."""
    order = patch.pop(name)
    _expect_list(order)
    field_name = _suffix(name, _ORDER, "invalid patch format of setElementOrder list")
    original: Any = out.get(field_name)
    change: Any = patch.get(field_name)
    if field_name in out:
        _expect_list(original)
    if field_name in patch:
        _expect_list(change)
    field = _field(type, field_name)
    key = field.merge_key if field is not None else ""
    _check_order(change or [], order, key)
    if original is None and change is None:
        return
    merged: list[Any] = change if original is None else original
    if original is not None and change is not None:
        merged = _merge_field(original, change, field, new)
    if _of_maps(original or [], change or []) and not key:
        raise _no_key((order or original or [{}])[0], key)
    out[field_name] = _in_order(merged, order, original or [], key)
    patch.pop(field_name, None)


def _expect_list(value: Any) -> None:
    if not isinstance(value, list):
        raise server_error(f"expected a []interface {{}}, but received a {type_name(value)}")


def _check_order(change: list[Any], order: list[Any], key: str) -> None:
    """Check that the items of the patch, except directives, are in the order list in that order. An empty list is
    ignored."""
    if not change or not order:
        return
    if key:
        for item in change:
            _expect_map(item)
    items = [i for i in change if not (key and i.get(_DIRECTIVE) == "delete")]
    identify = _identify(key)
    at = place = 0
    while at < len(items) and place < len(order):
        if isinstance(items[at], dict) and _DIRECTIVE in items[at]:
            at += 1
            continue
        for item in (items[at], order[place]):
            if key:
                _expect_map(item)
                if key not in item:
                    raise _no_key(item, key)
        if identify(items[at]) == identify(order[place]):
            at += 1
        place += 1
    if at < len(items) and place >= len(order):
        raise server_error(
            f"The order in patch list:\n{plain(change)}\n doesn't match {_ORDER} list:\n{plain(order)}\n"
        )


def _expect_map(value: Any) -> None:
    if not isinstance(value, dict):
        raise server_error(f"expected a map[string]interface {{}}, but received a {type_name(value)}")
