"""Canonical shape of objects: the result of decoding JSON into typed structs and encoding it again.

`canonical` checks types, prunes unknown members, omits empty members that are optional, adds members that are always
written, and converts scalars to canonical form. It is compiled once per `Type` (cached in `Type.memo`) and returns
unchanged subtrees themselves. There are two sets of rules, as in the reference:

* Named structs (built-in kinds, and the metadata of every kind): members flagged ``omit`` are omitted when empty,
  ``ptr`` members only when null, others are always present. A struct, time, quantity or int-or-string by value is never
  empty. Null means unset. An empty list or map that is always written is preserved until the object is stored
  (`empty_collections`).
* Custom kinds: unknown members are pruned unless the schema preserves them; the rest is left to validation.

Objects of custom kinds are looked at in whole, those of other kinds where they differ from an earlier object in
canonical shape (`orchd.kinds.objects.changed_parts`).

Errors are `ShapeError`s with the reference's messages; `typenames` has the names of field types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd import errors
from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.gotext import typenames
from orchd.kinds.gotext.values import json_name
from orchd.kinds.ir import Field, Type
from orchd.kinds.objects.changed_parts import convert_items, earlier_members
from orchd.kinds.objects.scalars import ScalarError
from orchd.kinds.objects.shape_scalars import Base64Error, MismatchError, identity, scalar

#: Conversion of a value. Those of structs, lists and maps also take the earlier value at its place, None without one.
Convert = Callable[..., Any]
#: How a member is converted: conversion (None for strings), whether values have parts, replacement of an empty value,
#: replacement of null (() for none), name of the type in errors.
_MemberPlan = tuple[Convert | None, bool, int, Any, str]

#: Packages whose objects the reference stores as JSON, which preserves empty lists.
JSON_STORED: Final = ("apiextensions/", "apiregistration/")
#: Structs with metadata that are not kinds: without kind and apiVersion.
_TEMPLATES: Final = frozenset(("JobTemplateSpec", "PersistentVolumeClaimTemplate", "PodTemplateSpec"))
#: Kinds without metadata, besides the options.
_BARE_KINDS: Final = frozenset(
    "APIGroup APIGroupList APIResourceList APIVersions AdmissionReview ConversionReview SerializedReference".split()
)
#: Suffix of names of option kinds; other structs with this suffix are parts of objects.
_OPTIONS: Final = (
    *(f"{verb}Options" for verb in ("Create", "Delete", "Get", "List", "Patch", "Update", "Table")),
    *(f"{what}Options" for what in ("Log", "Exec", "Attach", "PortForward", "Proxy")),
)
_KEEP, _DROP = 0, 1
#: Kinds of types whose values have parts.
_COMPOSITE: Final = frozenset(("struct", "list", "map"))
#: Optional lists for which empty differs from absent: only absent ones get a default.
_KEEPS_EMPTY: Final = frozenset((("HPAScalingRules", "policies"),))
#: Kinds of types whose zero value counts as empty.
_EMPTIABLE: Final = frozenset(
    ("string", "bool", "bytes", "int32", "int64", "int64ns", "uint32", "uint64", "number", "list", "map")
)


class ShapeError(ValueError):
    """A value that does not fit its type. `str()` is the text that follows ``... cannot be handled as a Kind: ``."""


class _EmbeddedError(Exception):
    """An error in an embedded object, which propagates to the root; `path` is reversed."""

    def __init__(self, value: Any, why: str, *path: str) -> None:
        self.value = value
        self.why = why
        self.path = list(path)

    def text(self) -> str:
        from orchd.kinds.gotext.values import interface, show

        value_text = interface(self.value) if isinstance(self.value, dict | list) else show(self.value)
        return f"{''.join(reversed(self.path)).removeprefix('.')}: Invalid value: {value_text}: {self.why}"


def canonical(obj: dict[str, Any], type: Type, earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    """Convert `obj` to the canonical shape of `type`, which `earlier` has. Returns `obj` itself if nothing changes.
    Raises ShapeError."""
    try:
        result: dict[str, Any] = converter(type)(obj, earlier)
    except (MismatchError, _EmbeddedError) as error:
        raise ShapeError(error.text()) from None
    except ScalarError as error:
        raise ShapeError(str(error)) from None
    if is_custom(type):
        # Schemas of custom kinds need not specify apiVersion, kind and metadata.
        lost = {name: obj[name] for name in _OBJECT_NAMES if name in obj and name not in result}
        if lost:
            return {**lost, **result}
    return result


def fits(obj: dict[str, Any], type: Type) -> bool:
    """True if `canonical` accepts `obj`."""
    try:
        canonical(obj, type)
    except ShapeError:
        return False
    return True


def cannot_handle(kind: str, version: str, expected: str, why: str) -> errors.ApiError:
    """ApiError 400 for a body that does not fit the type of the endpoint. `version` is without the group."""
    return errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {expected}: {why}')


def converter(type: Type) -> Convert:
    """The compiled conversion of values of `type`."""
    convert: Convert | None = type.memo.get("shape")
    if convert is None:
        with COMPILE_LOCK:
            convert = type.memo.get("shape")
            if convert is None:
                if "shape.begun" in type.memo:
                    # Recursive types (JSON schemas) are resolved through the memo.
                    return lambda value, earlier=None: converter(type)(value, earlier)
                type.memo["shape.begun"] = True
                convert = type.memo["shape"] = _compile(type)
    return convert


def zero(type: Type) -> Any:
    """The value of an absent member of `type` that is always written."""
    kind = type.kind
    if kind == "struct":
        return _UNION_ZEROS[_short(type)] if _short(type) in _UNION_ZEROS else converter(type)({})
    return _ZEROS.get(kind)


def empty(type: Type) -> dict[str, Any]:
    """The canonical shape of an empty struct."""
    result: dict[str, Any] = converter(type)({})
    return result


_ZEROS: Final = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "int64ns": 0,
    "uint32": 0,
    "uint64": 0,
    "number": 0,
    "quantity": "0",
    "int-or-string": 0,
    "duration": "0s",
}


def _short(type: Type) -> str:
    return type.name.rpartition(".")[2]


# --- compilation --------------------------------------------------------------------------------


def _compile(type: Type, alias: str = "") -> Convert:
    kind = type.kind
    if kind == "struct":
        if is_custom(type):
            return _custom_struct(type)
        return _UNIONS[_short(type)](type) if is_union(type) else _named_struct(type)
    if kind == "list":
        return _list(type, alias)
    return _map(type, alias) if kind == "map" else scalar(kind, alias)


def is_custom(type: Type) -> bool:
    """True if a struct is defined by a custom kind."""
    return not type.name or type.constraints is not None


def _list(type: Type, alias: str = "") -> Convert:
    element = type.element
    whole, inner = typenames.split(type, alias)
    convert = _compile(element, inner) if element.kind != "struct" else converter(element)
    parted = element.kind in _COMPOSITE

    def item(value: Any, earlier: Any) -> Any:
        if value is None:
            return zero(element)
        return convert(value, earlier) if parted else convert(value)

    def items(value: Any, earlier: Any = None) -> Any:
        if value.__class__ is not list:
            raise MismatchError(json_name(value), whole)
        return convert_items(value, earlier, item)

    return items


def _map(type: Type, alias: str = "") -> Convert:
    element = type.element
    whole, inner = typenames.split(type, alias)
    convert = _compile(element, inner) if element.kind != "struct" else converter(element)

    def entries(value: Any, earlier: Any = None) -> Any:
        if value.__class__ is not dict:
            raise MismatchError(json_name(value), whole)
        same = True
        out = {}
        for key, item in value.items():
            new = convert(item) if item is not None else "" if element.kind == "bytes" else zero(element)
            if new is not item:
                same = False
            out[key] = new
        return value if same else out

    return entries


def is_kind(type: Type) -> bool:
    """True if a built-in struct has kind and apiVersion."""
    short = _short(type)
    if short in _TEMPLATES:
        return False
    metadata = type.fields.get("metadata")
    if metadata is not None and metadata.type.name in ("meta/v1.ObjectMeta", "meta/v1.ListMeta"):
        return True
    return short in _BARE_KINDS or type.name == "audit/v1.Event" or short.endswith(_OPTIONS)


def _emptiness(field: Field) -> int:
    """The treatment of an empty value of `field`."""
    return _DROP if field.omit and not field.ptr and field.type.kind in _EMPTIABLE else _KEEP


def _member_plans(type: Type) -> tuple[dict[str, _MemberPlan], dict[str, Any]]:
    """How the members of a struct are converted, by name, and the values of absent members that are always written."""
    plans: dict[str, _MemberPlan] = {}
    always: dict[str, Any] = {}
    owner = _short(type)
    if is_kind(type):
        for name in ("kind", "apiVersion"):
            plans[name] = (None, False, _DROP, (), "string")
    for name, field in type.fields.items():
        alias = typenames.alias(type, name)
        kind = field.type.kind
        convert = None
        if kind == "struct":
            convert = converter(field.type)
        elif kind != "string":
            convert = _compile(field.type, alias)
        empty = _emptiness(field)
        null: Any = ()
        if field.ptr:
            if not field.omit:
                always[name] = null = None
        elif empty != _DROP:
            always[name] = null = zero(field.type)
        replaced = _KEEP if (owner, name) in _KEEPS_EMPTY else empty
        plans[name] = (convert, kind in _COMPOSITE, replaced, null, alias or "string")
    return plans, always


def _named_struct(type: Type) -> Convert:
    plans: dict[str, _MemberPlan] = {}
    always: dict[str, Any] = {}
    ready = False
    expected = typenames.struct(type)
    owner = _short(type)

    def struct(value: Any, earlier: Any = None) -> Any:
        nonlocal plans, always, ready
        if value.__class__ is not dict:
            raise MismatchError(json_name(value), expected)
        if not ready:
            # Made on first use, since types can be recursive.
            plans, always = _member_plans(type)
            ready = True
        out = {}
        same = True
        key = ""
        before = earlier_members(earlier)
        try:
            for key, item in value.items():
                was = before.get(key)
                if was is item and item is not None:
                    out[key] = item
                    continue
                plan = plans.get(key)
                if plan is None:
                    same = False
                    continue
                convert, parted, when_empty, null, text = plan
                if item is None:
                    if null == ():
                        same = False
                    else:
                        out[key] = null
                        if null is not None:
                            same = False
                    continue
                if convert is None:
                    if item.__class__ is not str:
                        raise MismatchError(json_name(item), text)
                    new = item
                else:
                    new = convert(item, was) if parted else convert(item)
                if not new and when_empty:
                    same = False
                    continue
                if new is not item:
                    same = False
                out[key] = new
        except MismatchError as error:
            _convert_after(key, value, plans)
            if not error.path:
                error.owner = owner
            error.path.append(key)
            error.path.extend(typenames.embedded(type, key))
            raise
        for name, missing in always.items():
            if name not in out:
                out[name] = missing
                same = False
        return value if same else out

    return struct


def _convert_after(wrong: str, value: dict[str, Any], plans: dict[str, _MemberPlan]) -> None:
    """Convert the members after one of a wrong type. Raises ScalarError: a malformed scalar ends the reference's
    decoder, which reports a wrong type only at the end of a document."""
    members = iter(value.items())
    for name, _ in members:
        if name == wrong:
            break
    for name, item in members:
        convert = plans[name][0] if name in plans else None
        if convert is not None and item is not None:
            try:
                convert(item)
            except (MismatchError, Base64Error):
                continue


def _schema_or(type: Type, other: Callable[[Type], Convert], accepts: type[Any], refusal: str) -> Convert:
    schema = converter(type.fields["Schema"].type)
    convert = other(type)

    def union(value: Any, earlier: Any = None) -> Any:
        if value.__class__ is dict:
            return schema(value)
        if value.__class__ is accepts:
            return convert(value)
        if refusal:
            raise ScalarError(refusal)
        return None

    return union


#: Types of JSON schemas that have several JSON forms.
_UNIONS: Final[dict[str, Callable[[Type], Convert]]] = {
    "JSONSchemaPropsOrArray": lambda t: _schema_or(t, lambda t: _list(t.fields["JSONSchemas"].type), list, ""),
    "JSONSchemaPropsOrStringArray": lambda t: _schema_or(t, lambda t: _list(t.fields["Property"].type), list, ""),
    "JSONSchemaPropsOrBool": lambda t: _schema_or(t, lambda t: identity, bool, "boolean or JSON schema expected"),
}


def is_union(type: Type) -> bool:
    """True if a built-in struct has several JSON forms (a JSONSchemaPropsOr... struct)."""
    return type.name.startswith("apiextensions/") and _short(type) in _UNIONS


_UNION_ZEROS: Final[dict[str, Any]] = {
    "JSONSchemaPropsOrArray": None,
    "JSONSchemaPropsOrStringArray": None,
    "JSONSchemaPropsOrBool": False,
}


# --- custom kinds -------------------------------------------------------------------------------

_OBJECT_NAMES: Final = frozenset(("apiVersion", "kind", "metadata"))


def _custom(type: Type) -> Convert | None:
    """The conversion of a node of a custom kind, None if it changes nothing, or only what does not fit a scalar (see
    `_scalar`)."""
    if type.kind == "struct":
        return converter(type)
    if type.kind == "list":
        return _custom_list(type)
    if type.kind == "any" and not type.preserve_unknown and type.constraints is not None:
        return _unknown_members
    return _custom_map(type) if type.kind == "map" else None


def _scalar(type: Type) -> bool:
    """True if a schema specifies neither members nor items: those of a value that does not fit it are unknown."""
    return type.kind not in ("struct", "list", "map", "any", "raw") and not type.preserve_unknown


def _unknown_members(value: Any) -> Any:
    """Prune a value whose schema specifies no members: all are unknown."""
    if value.__class__ is dict:
        return {} if value else value
    if value.__class__ is list:
        out = [_unknown_members(item) for item in value]
        return value if all(a is b for a, b in zip(value, out, strict=True)) else out
    return value


def _embedded_metadata(convert: Convert) -> Convert:
    """Convert the metadata of an embedded object, which has no creationTimestamp."""

    def metadata(value: Any) -> Any:
        try:
            out = convert(value)
        except MismatchError as error:
            raise _EmbeddedError(value, error.text()) from None
        except ScalarError as error:
            raise _EmbeddedError(value, str(error)) from None
        if out.get("creationTimestamp", "") is None:
            out = {name: item for name, item in out.items() if name != "creationTimestamp"}
            return value if out == value else out
        return out

    return metadata


def _embedded_text(value: Any) -> Any:
    """Convert the apiVersion or kind of an embedded object."""
    if value.__class__ is not str:
        raise _EmbeddedError(value, "must be a string")
    return value


def _custom_struct(type: Type) -> Convert:
    plans: dict[str, Convert | None] = {}
    scalars: set[str] = set()
    keep = type.preserve_unknown
    ready = False

    def prepare() -> None:
        nonlocal ready
        if type.embedded_resource:
            plans.update(dict.fromkeys(_OBJECT_NAMES))
        for name, field in type.fields.items():
            plans[name] = convert = _custom(field.type)
            if _scalar(field.type):
                scalars.add(name)
            if name == "metadata" and type.embedded_resource and convert is not None:
                plans[name] = _embedded_metadata(convert)
            elif name in _OBJECT_NAMES and type.embedded_resource:
                plans[name] = _embedded_text
        ready = True

    def struct(value: Any, earlier: Any = None) -> Any:
        if value.__class__ is not dict:
            return value if keep else _unknown_members(value)
        if not ready:
            prepare()
        out = {}
        same = True
        for key, item in value.items():
            convert = plans.get(key)
            if convert is not None and item is not None:
                try:
                    new = convert(item)
                except _EmbeddedError as error:
                    error.path.append(f".{key}")
                    raise
                if new is not item:
                    same = False
                out[key] = new
            elif (item.__class__ is dict or item.__class__ is list) and key in scalars and convert is None:
                out[key] = new = _unknown_members(item)
                if new is not item:
                    same = False
            elif convert is not None or keep or key in plans:
                out[key] = item
            else:
                same = False
        return value if same else out

    return struct


def _custom_list(type: Type) -> Convert:
    convert = _unknown_members if _scalar(type.element) else _custom(type.element)
    keep = type.preserve_unknown

    def items(value: Any) -> Any:
        if value.__class__ is not list:
            return value if keep else _unknown_members(value)
        if convert is None:
            return value
        out: list[Any] = []
        try:
            for item in value:
                out.append(convert(item))
        except _EmbeddedError as error:
            error.path.append(f"[{len(out)}]")
            raise
        return value if all(a is b for a, b in zip(value, out, strict=True)) else out

    return items


def _custom_map(type: Type) -> Convert:
    convert = _unknown_members if _scalar(type.element) else _custom(type.element)
    keep = type.preserve_unknown

    def entries(value: Any) -> Any:
        if value.__class__ is not dict:
            return value if keep else _unknown_members(value)
        if convert is None:
            return value
        out: dict[str, Any] = {}
        for key, item in value.items():
            try:
                out[key] = convert(item)
            except _EmbeddedError as error:
                error.path.append(f"[{key}]")
                raise
        return value if all(out[key] is item for key, item in value.items()) else out

    return entries
