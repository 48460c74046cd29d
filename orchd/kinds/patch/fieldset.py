"""Sets of field paths in the form of ``fieldsV1``.

A set is a plain dict: every key is a path element, every value the set below it. An element spells ``f:name`` (field or
map key), ``k:{"name":"a"}`` (list item by its keys, canonical JSON), ``v:"x"`` (item of a set, by value) or ``i:0`` (by
position). A node is a member of the set if its dict is empty or has the key ``"."``; the root is never a member, and
``{}`` at the root is the empty set. Sets contain no nodes without members.

The stored form is the working form, so that the write path neither parses, formats nor sorts sets: all functions make
sets whose elements are in stored order (``.``, fields, keys, values, positions). Sets are shared: do not modify them.
Source of the form: the serialization of structured-merge-diff 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import orjson

from orchd.kinds.digits import integer
from orchd.kinds.gotext.values import escape_json, number, plain, quote
from orchd.kinds.shorttexts import remember_short

FieldSet: TypeAlias = dict[str, Any]

#: A member without members below it. Shared: do not modify.
LEAF: Final[FieldSet] = {}
SELF: Final = "."
#: Follows all fields and precedes all other elements in the order of texts.
_AFTER_FIELDS: Final = "g"


class FieldSetError(ValueError):
    """Data that is not a set of field paths."""


def is_member(node: FieldSet) -> bool:
    """True if the path of a (non-root) node is a member of the set."""
    return not node or SELF in node


def with_member(node: FieldSet | None) -> FieldSet:
    """The node with its own path as a member."""
    if not node:
        return LEAF
    return node if SELF in node else {SELF: LEAF, **node}


def in_order(fields: FieldSet) -> FieldSet:
    """A set with its elements in stored order, without those of the sets below."""
    return {key: fields[key] for key in _sort_elements(fields)} if len(fields) > 1 else fields


# -- algebra ----------------------------------------------------------------------------------------------------------


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    out = dict(left)
    for key, node in right.items():
        have = out.get(key)
        out[key] = node if have is None or key == SELF else _union_nodes(have, node)
    return out if len(out) == len(left) else in_order(out)


def union_all(sets: Sequence[FieldSet]) -> FieldSet:
    """The paths in any of the sets, in time linear in their total size."""
    present = [each for each in sets if each]
    if len(present) < 2:
        return present[0] if present else {}
    nodes: dict[str, list[FieldSet]] = {}
    for each in present:
        for key, node in each.items():
            nodes.setdefault(key, []).append(node)
    out: FieldSet = {}
    for key, children in nodes.items():
        if len(children) == 1 or key == SELF:
            out[key] = children[0]
            continue
        below = union_all(children)
        out[key] = below if below and all(children) else with_member(below or None)
    return in_order(out)


def _union_nodes(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or left == right:
        return left
    if not left:
        return with_member(right)
    if not right:
        return with_member(left)
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in `left` that are not in `right`. Paths below a removed one remain."""
    if not right or not left:
        return left
    out: FieldSet = {}
    same = True
    for key, node in left.items():
        other = right.get(key)
        if other is None or key == SELF:
            out[key] = node
            continue
        rest = _difference_nodes(node, other)
        if rest is not None:
            out[key] = rest
        if rest is not node:
            same = False
    return left if same else out


def _difference_nodes(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """The difference of two nodes, None if it is empty."""
    gone = is_member(right)
    if not left:
        return None if gone else left
    rest = difference(left, right) if right else left
    if SELF not in rest:
        return rest or None
    if gone:
        return {k: v for k, v in rest.items() if k != SELF} or None
    return rest if len(rest) > 1 else LEAF


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in `left` that are neither in `right` nor below a path of `right`."""
    if not right or not left:
        return left
    out: FieldSet = {}
    same = True
    for key, node in left.items():
        other = right.get(key)
        if other is None or key == SELF:
            out[key] = node
            continue
        if is_member(other):
            same = False
            continue
        rest = recursive_difference(node, other) if node else node
        if rest or not node:
            out[key] = LEAF if SELF in rest and len(rest) == 1 else rest
        if rest is not node:
            same = False
    return left if same else out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in both sets."""
    out: FieldSet = {}
    if not left or not right:
        return out
    for key, node in left.items():
        other = right.get(key)
        if other is None or key == SELF:
            continue
        both = intersection(node, other)
        if is_member(node) and is_member(other):
            out[key] = with_member(both)
        elif both:
            out[key] = both
    return out


def leaves(fields: FieldSet) -> FieldSet:
    """The members that have no members below them."""
    return {k: leaves(v) for k, v in fields.items() if k != SELF}


def has(fields: FieldSet, path: Iterable[str]) -> bool:
    """True if a path (its elements) is in the set."""
    node: FieldSet | None = fields
    depth = 0
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
        depth += 1
    return depth > 0 and is_member(node or LEAF)


def of_paths(*paths: Iterable[str]) -> FieldSet:
    """The set of the given paths, each an iterable of elements."""
    out: FieldSet = {}
    for path in paths:
        node: FieldSet = LEAF
        for element in reversed(tuple(path)):
            node = {element: node}
        out = union(out, node)
    return out


def paths(fields: FieldSet, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All paths in the reference's order: at each level the members, then the levels below."""
    elements = [key for key in _sort_elements(fields) if key != SELF]
    for key in elements:
        if is_member(fields[key]):
            yield (*above, key)
    for key in elements:
        if fields[key]:
            yield from paths(fields[key], (*above, key))


# -- text -------------------------------------------------------------------------------------------------------------


def sort_elements(fields: FieldSet) -> FieldSet:
    """Sort the elements of a set and of the sets below in stored order: those of other origin."""
    return {key: sort_elements(below) if (below := fields[key]) else LEAF for key in _sort_elements(fields)}


def _sort_elements(fields: FieldSet) -> list[str]:
    keys = sorted(fields)
    count = len(keys)
    # Other elements have an order of their own. One of them beside ``.``, the usual case, is in its place.
    if count > 1 and keys[-1] > _AFTER_FIELDS and (count > 2 or keys[0] != SELF):
        keys.sort(key=_rank)
    return keys


@remember_short(4096)
def _rank(element: str) -> tuple[Any, ...]:
    kind, rest = element[0], element[2:]
    if kind == ".":
        return (0,)
    if kind == "f":
        return (1, rest)
    if kind == "k":
        return (2, *((name, _value_rank(value)) for name, value in sorted(orjson.loads(rest).items())))
    if kind == "v":
        return (3, _value_rank(orjson.loads(rest)))
    return (4, integer(rest))


def _value_rank(value: Any) -> tuple[Any, ...]:
    """Numbers before text before booleans before everything else."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (4,) if value is None else (3, json_text(value))


def json_text(value: Any) -> str:
    """Canonical JSON of a key or value: members sorted, no spaces, whole floats without fraction, ``<>&`` escaped."""
    if isinstance(value, float):
        return number(value)
    return escape_json(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


@remember_short(4096)
def key_element(text: str, key: str) -> str:
    """The path element of a list item whose only key has the value `text`."""
    return "k:" + json_text({key: text})


def parse(fields: Any) -> FieldSet:
    """Parse a set from external JSON to canonical form, without empty branches. Raises FieldSetError.

    Stored sets have this form already. Elements of unknown types are dropped.
    """
    if not isinstance(fields, dict):
        raise FieldSetError("expected an object of path elements")
    out: FieldSet = {}
    for key, below in fields.items():
        if key == SELF:
            out[SELF] = LEAF
            continue
        element = _canonical(key)
        node = parse(below)
        if element:
            out[element] = _union_nodes(out[element], node) if element in out else node
    return LEAF if SELF in out and len(out) == 1 else in_order(out)


def parse_root(fields: Any) -> FieldSet:
    """`parse` for a whole set, whose root is not a path."""
    return {key: node for key, node in parse(fields).items() if key != SELF}


def _canonical(element: str) -> str:
    if len(element) < 2 or element[1] != ":":
        raise FieldSetError("missing colon")
    kind, rest = element[0], element[2:]
    if kind == "f":
        return element
    if kind == "i":
        try:
            return f"i:{integer(rest)}"
        except ValueError:
            raise FieldSetError(f"bad index {rest}") from None
    if kind not in "kv":
        return ""
    try:
        value = orjson.loads(rest)
    except ValueError:
        raise FieldSetError(f"bad JSON in {element}") from None
    if kind == "k" and (not isinstance(value, dict) or not value):
        raise FieldSetError(f"keys must be an object: {element}")
    return f"{kind}:{json_text(value)}"


def show(path: Iterable[str]) -> str:
    """Format a path for messages: ``.spec.ports[port=80,protocol="TCP"].name``, ``.metadata.finalizers[="x"]``."""
    return "".join(map(show_element, path))


def show_element(element: str) -> str:
    """Format one path element for messages."""
    kind, rest = element[0], element[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        return "[" + ",".join(f"{k}={_show_value(v)}" for k, v in sorted(orjson.loads(rest).items())) + "]"
    if kind == "v":
        return f"[={_show_value(orjson.loads(rest))}]"
    return f"[{rest}]"


def _show_value(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(map(_show_value, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{k}={_show_value(value[k])}" for k in sorted(value))
    return plain(value)
