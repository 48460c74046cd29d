"""Defaulting: one compiled recursion per type, cached in `Type.memo`.

Objects must be in canonical shape (`orchd.kinds.objects.shape`). An absent or null member is unset. Objects of custom
kinds are looked at in whole, those of other kinds where they differ from an earlier object with defaults
(`orchd.kinds.objects.changed_parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from orchd.kinds.bounds import GROWTH, cost_of
from orchd.kinds.catalog import Resource
from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.changed_parts import convert_entries, convert_items, earlier_members
from orchd.kinds.objects.defaults import core, policies, workloads
from orchd.kinds.objects.defaults.rules import Rule
from orchd.kinds.objects.settings import ObjectSettings

#: Fills in the defaults of a value; takes the settings, the value, and the earlier value at its place, None without
#: one.
Fill = Callable[[ObjectSettings, Any, Any], Any]

#: type name -> constants for absent members.
CONSTANTS: Final[Mapping[str, Mapping[str, Any]]] = {**core.CONSTANTS, **workloads.CONSTANTS, **policies.CONSTANTS}
#: type name -> rule for other defaults; runs before the constants.
RULES: Final[Mapping[str, Rule]] = {**core.RULES, **workloads.RULES, **policies.RULES}


def apply(obj: Object, resource: Resource, settings: ObjectSettings, earlier: Object | None = None) -> Object:
    """Fill in the defaults of `obj`, which has the version of `resource`. Returns `obj` itself if nothing was
    missing."""
    return fill(obj, resource.type, settings, earlier)


def fill(obj: Object, type: Type, settings: ObjectSettings, earlier: Object | None = None) -> Object:
    """Like `apply`, for a value of a type (a pod template, an options object). Raises ApiError if schemas of custom
    kinds add more than `orchd.kinds.bounds` allows."""
    compiled = _filler(type)
    if compiled is None:
        return obj
    GROWTH.begin()
    result: Object = compiled(settings, obj, earlier)
    return result


def _filler(type: Type) -> Fill | None:
    memo = type.memo
    if "default" not in memo:
        with COMPILE_LOCK:
            if "default" not in memo:
                if "default.begun" in memo:
                    # A recursive type: only JSON schemas are recursive, and they have no defaults.
                    return None
                memo["default.begun"] = True
                memo["default"] = _compile(type)
    fill: Fill | None = memo["default"]
    return fill


def _compile(type: Type) -> Fill | None:
    if type.kind == "struct":
        if type.name and type.constraints is None:
            return _named_struct(type)
        return _custom_struct(type)
    if type.kind == "list":
        return _list(_filler(type.element)) if type.constraints is None else _custom_list(type)
    if type.kind == "map":
        if type.element.kind == "quantity":
            return lambda settings, value, earlier: core.resource_list(value)
        return _map(type) if type.constraints is not None else _plain_map(_filler(type.element))
    return None


def _named_struct(type: Type) -> Fill | None:
    constants = {
        name: field.default
        for name, field in type.fields.items()
        # A zero is no value where the field is omitted for it.
        if field.default is not None and (field.default or field.ptr or not field.omit)
    }
    constants.update((name, value) for name, value in CONSTANTS.get(type.name, {}).items() if name in type.fields)
    rule = RULES.get(type.name)
    children = {}
    for name, field in type.fields.items():
        inner = _filler(field.type)
        if inner is not None:
            children[name] = inner
    if rule is None and not constants and not children:
        return None
    pairs = tuple(constants.items())
    count = len(children)

    def struct(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        out = value if rule is None else rule(value, settings)
        for name, constant in pairs:
            if out.get(name) is None:
                if out is value:
                    out = dict(value)
                out[name] = constant
        if not count:
            return out
        inside = out
        before = earlier_members(earlier)
        for name, inner in children.items() if count < len(out) else [(n, children[n]) for n in out if n in children]:
            item = inside.get(name)
            if item is not None and item is not (was := before.get(name)):
                new = inner(settings, item, was)
                if new is not item:
                    if out is value:
                        out = dict(inside)
                    out[name] = new
        return out

    return struct


def _list(inner: Fill | None) -> Fill | None:
    if inner is None:
        return None

    def items(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        return convert_items(value, earlier, partial(item, settings))

    def item(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        return None if value is None else inner(settings, value, earlier)

    return items


def _plain_map(inner: Fill | None) -> Fill | None:
    if inner is None:
        return None

    def entries(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        return convert_entries(value, partial(inner, settings))

    return entries


# --- custom kinds: values of the wrong type are left unchanged, for validation to reject --------


def _custom_struct(type: Type) -> Fill:
    defaults: dict[str, tuple[Any, tuple[int, int]]] = {}
    children: dict[str, Fill] = {}
    strict: frozenset[str] = frozenset()
    ready = False

    def prepare() -> None:
        nonlocal ready, strict
        for name, field in type.fields.items():
            if field.default is not None:
                defaults[name] = field.default, cost_of({name: field.default})
            inner = _filler(field.type)
            if inner is not None:
                children[name] = _fill_kind(field.type.kind, inner)
        strict = frozenset(
            name
            for name, field in type.fields.items()
            if field.type.constraints is not None and not field.type.nullable
        )
        ready = True

    def struct(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        if not ready:
            prepare()
        out = value
        for name, (default, cost) in defaults.items():
            if name not in out or (out[name] is None and name in strict):
                GROWTH.spend(cost)
                if out is value:
                    out = dict(value)
                out[name] = default
        for name in () if settings.keep_nulls else [n for n, item in out.items() if item is None and n in strict]:
            if out is value:
                out = dict(value)
            del out[name]
        for name, inner in children.items():
            item = out.get(name)
            if item is not None:
                new = inner(settings, item, None)
                if new is not item:
                    if out is value:
                        out = dict(value)
                    out[name] = new
        return out

    return struct


def _custom_list(type: Type) -> Fill | None:
    element = type.element
    inner = _filler(element)
    guarded = None if inner is None else _fill_kind(element.kind, inner)
    default = None if element.nullable else type.element_default
    if guarded is None and default is None:
        return None
    cost = cost_of(default)

    def items(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        if default is not None:
            for item in value:
                if item is None:
                    GROWTH.spend(cost)
        out = [
            default if item is None else item if guarded is None else guarded(settings, item, None) for item in value
        ]
        return out if any(old is not new for old, new in zip(value, out, strict=True)) else value

    return items


def _map(type: Type) -> Fill | None:
    inner = _filler(type.element)
    guarded = None if inner is None else _fill_kind(type.element.kind, inner)
    # Elements without a schema may be null.
    keep_null = type.element.nullable or (type.element.kind == "any" and not type.element.preserve_unknown)
    default = None if type.element.nullable else type.element_default
    cost = cost_of(default)

    def entries(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        out = {}
        same = True
        for key, item in value.items():
            if item is None and default is not None:
                same = False
                GROWTH.spend(cost)
                out[key] = default
                continue
            if item is None and not keep_null and not settings.keep_nulls:
                same = False
                continue
            new = item if guarded is None or item is None else guarded(settings, item, None)
            same = same and new is item
            out[key] = new
        return value if same else out

    return entries


_PYTHON: Final = {"struct": dict, "map": dict, "list": list}


def _fill_kind(kind: str, inner: Fill) -> Fill:
    expected = _PYTHON[kind]

    def fill(settings: ObjectSettings, value: Any, earlier: Any) -> Any:
        return inner(settings, value, None) if value.__class__ is expected else value

    return fill
