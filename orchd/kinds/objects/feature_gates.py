"""Fields behind feature gates: dropped on writes if their gate is off, unless the stored object uses them.

`orchd.kinds.gates` lists the fields. Gated values that are rejected instead are part of validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from orchd.kinds.gates import DROPPED, GATES, KEPT, STORED, UNCHANGED, Drop, Gate
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import empty_collections
from orchd.kinds.objects.settings import ObjectSettings

#: Predicates of values that use a feature.
RULES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "unusual_mount": lambda value: value != "Default",
    "surge": lambda value: value not in (0, ""),
    "suspended": bool,
    "huge_pages": lambda value: value.startswith(("limits.hugepages-", "requests.hugepages-")),
    "single_pod": lambda value: "ReadWriteOncePod" in value,
    "in_namespace": lambda value: bool(value.get("namespace")),
    "across_namespaces": lambda value: "CrossNamespacePodAffinity" in value,
}


@dataclass(frozen=True, slots=True)
class _Gated:
    """A drop whose gate is off, with its names in the dialect. `use` identifies the fields that are kept together."""

    drop: Drop
    use: tuple[str, str]
    prefix: str
    uses: Callable[[Any], bool]


#: Struct -> path in it -> gated field.
_Fields = Mapping[str, Mapping[tuple[str, ...], _Gated]]


@dataclass(slots=True, eq=False)
class _Node:
    """Positions of gated fields in values of a type: in the value, and below members ("": every element)."""

    gated: dict[str, _Gated] = field(default_factory=dict)
    below: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Positions:
    """`always`: a write changes fields even if they are absent, or in use."""

    root: _Node
    always: bool


def drop_disabled(obj: Object, old: Object | None, type: Type, settings: ObjectSettings) -> Object:
    """`obj`, in stored form, without fields whose gate is off, except fields that `old` has.

    `old` is the stored object, None on create.
    """
    stored = empty_collections.as_stored(obj, type)
    kept: Object = _dropped(stored, old, _positions(type, settings))
    return kept


def drop_disabled_status(status: Any, old: Any, type: Type, settings: ObjectSettings) -> Any:
    """The same for a status of `type` that is written through its subresource. `old` is None without a stored one."""
    stored = empty_collections.as_stored(status, type) if status else status
    return _dropped(stored, {} if old is None else old, _positions(type, settings))


def for_update(settings: ObjectSettings, old: Object, type: Type) -> ObjectSettings:
    """The settings of the validation of an update: with features that the stored object uses, though their gate is
    off."""
    cache: dict[frozenset[str], _Node | None] = type.memo.setdefault("tolerated", {})
    if settings.disabled not in cache:
        cache[settings.disabled] = _node(type, _fields(settings, lambda gate: gate.tolerates), {})
    node = cache[settings.disabled]
    if node is None:
        return settings
    used: set[tuple[str, str]] = set()
    _collect(old, node, used, any_value=False)
    return replace(settings, features={**settings.features, **{gate: True for gate, _ in used}}) if used else settings


def _dropped(value: Any, old: Any, positions: _Positions | None) -> Any:
    if positions is None:
        return value
    node = positions.root
    present: set[tuple[str, str]] = set()
    _collect(value, node, present, any_value=True)
    if old is None:
        return _without(value, None, node, frozenset()) if present else value
    used: set[tuple[str, str]] = set()
    _collect(old, node, used, any_value=False)
    return _without(value, old, node, frozenset(used)) if positions.always or present - used else value


def _positions(type: Type, settings: ObjectSettings) -> _Positions | None:
    """The gated fields of a type that are off; None if it has none."""
    cache: dict[frozenset[str], _Positions | None] = type.memo.setdefault("gates", {})
    if settings.disabled not in cache:
        fields = _fields(settings, lambda gate: tuple(drop for drop in gate.drops if not drop.whole))
        whole = _fields(settings, lambda gate: tuple(drop for drop in gate.drops if drop.whole)).get(type.name)
        root = _node(type, fields, {}, whole)
        always = root is not None and any(gated.drop.update in (DROPPED, STORED) for gated in _walk(root))
        cache[settings.disabled] = None if root is None else _Positions(root, always)
    return cache[settings.disabled]


def _node(
    type: Type, fields: _Fields, nodes: dict[int, _Node | None], deeper: Mapping[tuple[str, ...], _Gated] | None = None
) -> _Node | None:
    """`nodes` are those made so far, by the identity of their type; `deeper` are gated fields of this one value by
    their path."""
    if not deeper and id(type) in nodes:
        return nodes[id(type)]
    node = _Node()
    if not deeper:
        # A type that contains itself finds this node, which is filled below.
        nodes[id(type)] = node
    if type.kind == "struct" and type.constraints is None:
        gated = {**fields.get(type.name, {}), **(deeper or {})}
        node.gated = {path[0]: each for path, each in gated.items() if len(path) == 1}
        for name, member in type.fields.items():
            inner = _node(
                member.type,
                fields,
                nodes,
                {path[1:]: each for path, each in gated.items() if path[0] == name and path[1:]},
            )
            if inner is not None:
                node.below[name] = inner
    elif type.kind in ("list", "map"):
        inner = _node(type.element, fields, nodes)
        if inner is not None:
            node.below[""] = inner
    empty = not node.gated and not node.below
    if not deeper and empty:
        nodes[id(type)] = None
    return None if empty else node


def _fields(settings: ObjectSettings, of: Callable[[Gate], tuple[Drop, ...]]) -> _Fields:
    """The gated fields of all structs: by the name of the struct and their path in it."""
    out: dict[str, dict[tuple[str, ...], _Gated]] = {}
    for gate in GATES:
        if gate.name in settings.disabled:
            for drop in of(gate):
                version, name, *path = drop.field.split(".")
                gated = _Gated(
                    drop, (gate.name, drop.use), settings.dialect(drop.prefix), RULES.get(drop.rule, lambda value: True)
                )
                out.setdefault(f"{version}.{name}", {})[tuple(map(settings.dialect, path))] = gated
    return out


def _walk(node: _Node) -> Iterator[_Gated]:
    """Every gated field below a node."""
    seen, open_nodes = set(), [node]
    while open_nodes:
        each = open_nodes.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield from each.gated.values()
            open_nodes.extend(each.below.values())


def _has(gated: _Gated, value: Any, *, any_value: bool) -> bool:
    """True if the value of a field is gated; without `any_value` only if it uses the feature."""
    if gated.prefix:
        return any(key.startswith(gated.prefix) for key in value)
    return (any_value and not gated.drop.partly) or gated.uses(value)


def _collect(value: Any, node: _Node, members: set[tuple[str, str]], *, any_value: bool) -> None:
    """Collect the uses of gated fields in `value`."""
    if value.__class__ is list:
        inner = node.below.get("")
        if inner is not None:
            for item in value:
                _collect(item, inner, members, any_value=any_value)
        return
    if value.__class__ is not dict:
        return
    every = node.below.get("")
    if every is not None:
        for item in value.values():
            _collect(item, every, members, any_value=any_value)
        return
    for name, gated in node.gated.items():
        if value.get(name) is not None and _has(gated, value[name], any_value=any_value):
            members.add(gated.use)
    for name, inner in node.below.items():
        item = value.get(name)
        if item:
            _collect(item, inner, members, any_value=any_value)


def _is_kept(gated: _Gated, used: frozenset[tuple[str, str]], value: Any, *, update: bool) -> bool:
    if gated.drop.partly and not gated.uses(value):
        return True
    if not update:
        return False
    return gated.drop.update == KEPT or (gated.drop.update != DROPPED and gated.use in used)


def _without(value: Any, old: Any, node: _Node, used: frozenset[tuple[str, str]], *, update: bool | None = None) -> Any:
    """`value` without gated fields. `old` is the stored value, None for a new object and below lists."""
    update = old is not None if update is None else update
    if value.__class__ is list:
        inner = node.below.get("")
        return value if inner is None else [_without(item, None, inner, used, update=update) for item in value]
    if value.__class__ is not dict:
        return value
    stored = old if old.__class__ is dict else {}
    every = node.below.get("")
    out = {}
    for name, item in value.items():
        gated = node.gated.get(name)
        if gated is not None and item is not None and not _is_kept(gated, used, item, update=update):
            if gated.drop.replacement is not UNCHANGED:
                out[name] = gated.drop.replacement
            elif gated.prefix:
                left = {key: each for key, each in item.items() if not key.startswith(gated.prefix)}
                if left:
                    out[name] = left
            continue
        inner = every or node.below.get(name)
        new = item if inner is None or not item else _without(item, stored.get(name), inner, used, update=update)
        if new or new is item or not inner or not any(each.drop.with_owner for each in inner.gated.values()):
            out[name] = new
    for name, gated in node.gated.items():
        if gated.drop.update == STORED and update and gated.use not in used and stored.get(name) is not None:
            out[name] = stored[name]
    return out
