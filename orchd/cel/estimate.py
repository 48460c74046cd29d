"""The estimate: the least and the most that an expression may cost, from the tree and the sizes of declared types.

Sizes are known for literals, for what is computed from things of known size, and for what is reached from a variable by
fields and elements of its declared type (a path). Everything else may be as large as it likes, so its most is
`UNBOUNDED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from orchd.cel.costs import LIST, MAP, SELECT, STRUCT, UNBOUNDED, UNIT, UNKNOWN, ZERO, Cost, Range, fixed
from orchd.cel.declare import Overload
from orchd.cel.limits import deep
from orchd.cel.syntax import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from orchd.cel.types import Type

#: Names of the parts of lists and maps in paths.
ITEMS, INDICES, KEYS, VALUES = "@items", "@indices", "@keys", "@values"

Path = tuple[str, ...]
#: Returns the size of what is at a path from a variable, None if the declarations do not say.
PathSize = Callable[[Path], "Range | None"]


class Entries(NamedTuple):
    """Sizes of the parts of a list or map: of keys (or indices) and of values."""

    kind: str
    keys: Range
    values: Range

    def union(self, other: Entries | None) -> Entries | None:
        if other is None:
            return None
        return Entries(self.kind, self.keys.union(other.keys), self.values.union(other.values))


class _Local(NamedTuple):
    """A variable of a comprehension."""

    path: Path
    size: Range | None
    entries: Entries | None


class _Argument:
    """An argument of a call, as cost functions see it (`costs.Sized`)."""

    __slots__ = ("computed", "node", "path", "sizes", "type")

    def __init__(self, node: Node | None, type_: Type, path: Path, computed: Range | None, sizes: PathSize) -> None:
        self.node = node
        self.type = type_
        self.path = path
        self.computed = computed
        self.sizes = sizes

    @property
    def size(self) -> Range:
        if self.computed is not None:
            return self.computed
        return (self.sizes(self.path) if self.path else None) or UNKNOWN

    def element(self) -> _Argument | None:
        if not self.type.parameters:
            return None
        path = (*self.path, ITEMS) if self.path else ()
        return _Argument(None, self.type.parameters[0], path, None, self.sizes)


def estimate(node: Node, overloads: Mapping[str, Overload], sizes: PathSize) -> Range:
    """Return the cost of a checked expression. ``overloads`` are those of the environment, by identifier."""
    with deep():
        return _Estimator(overloads, sizes).cost(node)


class _Estimator:
    def __init__(self, overloads: Mapping[str, Overload], sizes: PathSize) -> None:
        self.overloads = overloads
        self.path_size = sizes
        self.paths: dict[Node, Path] = {}
        self.sizes: dict[Node, Range] = {}
        self.entries: dict[Node, Entries] = {}
        self.locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Range:
        match node:
            case Ident():
                local = self.local(node)
                self.paths[node] = local.path if local is not None else (node.name,)
                return fixed(SELECT)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListLiteral():
                return self.list_literal(node)
            case MapLiteral():
                return self.map_literal(node)
            case StructLiteral():
                return self.total([field.value for field in node.fields]).plus(fixed(STRUCT))
            case Comprehension():
                return self.bind(node) if node.hint == "bind" else self.comprehension(node)
        return ZERO

    def total(self, nodes: Sequence[Node]) -> Range:
        cost = ZERO
        for node in nodes:
            cost = cost.plus(self.cost(node))
        return cost

    def select(self, node: Select) -> Range:
        if node.variable is not None:
            self.paths[node] = (node.variable.name,)
            return fixed(SELECT)
        cost = self.cost(node.operand)
        if node.test:
            return cost
        self.paths[node] = (*self.path(node.operand), node.field)
        return cost.plus(UNIT) if node.operand.type.kind in ("map", "struct", "param") else cost

    # Calls.

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(UNIT)
            self.copy_sizes(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        arguments = [self.argument(arg) for arg in node.args]
        before = ZERO
        target = None
        if node.target is not None:
            before = self.cost(node.target)
            target = self.argument(node.target)
        cost = Range(UNBOUNDED, 0)
        size: Range | None = None
        for identifier in node.overloads:
            call_cost, result = self.overload(node, identifier, target, arguments, costs)
            cost = cost.union(call_cost)
            if result is not None:
                size = result if size is None else size.union(result)
            if identifier in ("index_list", "index_map") and node.args:
                entries = self.entry_sizes(node.args[0])
                size = entries.values if entries is not None else None
                part = ITEMS if identifier == "index_list" else VALUES
                self.paths[node] = (*self.path(node.args[0]), part)
            if size is None:
                size = self.size(node)
        if size is not None:
            self.sizes[node] = size
        return before.plus(cost)

    def overload(
        self, node: Call, identifier: str, target: _Argument | None, arguments: list[_Argument], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        """Return cost, with that of the arguments, and size of the result of one overload."""
        if identifier in ("logical_and", "logical_or"):
            return Range(costs[0].low, costs[0].plus(costs[1]).high), None
        if identifier == "conditional":
            return self.conditional(node, costs)
        before = ZERO
        for cost in costs:
            before = before.plus(cost)
        if identifier in ("add_string", "add_bytes", "add_list"):
            self.added_entries(node)
        declared = self.overloads.get(identifier)
        rule: Cost | None = declared.cost if declared is not None else None
        estimate = rule.estimate(target, arguments) if rule is not None and rule.estimate is not None else None
        if estimate is None:
            return UNIT.plus(before), None
        return estimate.cost.plus(before), estimate.size

    def conditional(self, node: Call, costs: list[Range]) -> tuple[Range, Range | None]:
        first, second = node.args[1], node.args[2]
        entries = self.entry_sizes(first)
        joined = entries.union(self.entry_sizes(second)) if entries is not None else None
        if joined is not None:
            self.entries[node] = joined
        size = (self.size(first) or UNKNOWN).union(self.size(second) or UNKNOWN)
        return costs[0].plus(costs[1].union(costs[2])), size

    def added_entries(self, node: Call) -> None:
        entries = self.entry_sizes(node.args[0])
        joined = entries.union(self.entry_sizes(node.args[1])) if entries is not None else None
        if joined is not None:
            self.entries[node] = joined

    def argument(self, node: Node) -> _Argument:
        path = self.path(node)
        if path and path[0] == "@result":
            path = ()
        return _Argument(node, node.type, path, self.size(node), self.path_size)

    # Literals.

    def list_literal(self, node: ListLiteral) -> Range:
        cost = ZERO
        size = Range(UNBOUNDED if node.elements else 0, 0)
        for element in node.elements:
            cost = cost.plus(self.cost(element))
            size = size.union(self.size(element) or UNKNOWN)
        self.entries[node] = Entries("list", UNIT, size)
        return cost.plus(fixed(LIST))

    def map_literal(self, node: MapLiteral) -> Range:
        cost = ZERO
        keys = values = Range(UNBOUNDED if node.entries else 0, 0)
        for entry in node.entries:
            cost = cost.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self.size(entry.key) or UNKNOWN)
            values = values.union(self.size(entry.value) or UNKNOWN)
        self.entries[node] = Entries("map", keys, values)
        return cost.plus(fixed(MAP))

    # Loops.

    def comprehension(self, node: Comprehension) -> Range:
        cost = self.cost(node.over).plus(self.cost(node.start))
        self.push(node.accumulator, _Local(self.path(node.start), self.size(node.start), self.entry_sizes(node.start)))
        entries = self.entry_sizes(node.over)
        kind = entries.kind if entries is not None else node.over.type.kind
        keys = entries.keys if entries is not None else None
        values = entries.values if entries is not None else None
        over = self.path(node.over)
        if node.variable2 is not None:
            self.push(node.variable, _Local((*over, INDICES if kind == "list" else KEYS), keys, None))
            self.push(node.variable2, _Local((*over, ITEMS if kind == "list" else VALUES), values, None))
        elif kind == "list":
            self.push(node.variable, _Local((*over, ITEMS), values, None))
        else:
            self.push(node.variable, _Local((*over, KEYS), keys, None))
        each = self.cost(node.condition)
        each = self.cost(node.step).plus(each)
        self.locals[node.variable].pop()
        if node.variable2 is not None:
            self.locals[node.variable2].pop()
        cost = cost.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self.size(node.over) or UNKNOWN
        if isinstance(node.start, Literal):
            size = self.size(node.start)
            if size is not None:
                self.sizes[node] = size
        elif isinstance(node.start, ListLiteral | MapLiteral):
            self.sizes[node] = count
            stepped = self.entry_sizes(node.step)
            if stepped is not None:
                self.entries[node] = stepped
        return cost.plus(count.times(each))

    def bind(self, node: Comprehension) -> Range:
        cost = self.cost(node.over).plus(self.cost(node.start))
        self.push(node.accumulator, _Local(self.path(node.start), self.size(node.start), self.entry_sizes(node.start)))
        cost = cost.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        self.copy_sizes(node, node.result)
        return cost

    # Sizes and paths.

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def local(self, node: Node) -> _Local | None:
        stack = self.locals.get(node.name) if isinstance(node, Ident) and node.local else None
        return stack[-1] if stack else None

    def path(self, node: Node) -> Path:
        local = self.local(node)
        return local.path if local is not None else self.paths.get(node, ())

    def copy_sizes(self, to: Node, source: Node) -> None:
        size = self.size(source)
        if size is not None:
            self.sizes[to] = size
        entries = self.entry_sizes(source)
        if entries is not None:
            self.entries[to] = entries

    def entry_sizes(self, node: Node) -> Entries | None:
        sizes = self.entries.get(node)
        if sizes is not None:
            return sizes
        local = self.local(node)
        return local.entries if local is not None else None

    def size(self, node: Node) -> Range | None:
        """Return the size of the value of a node, None if nothing is known about it."""
        size = self.sizes.get(node)
        if size is not None:
            return size
        match node:
            case Literal():
                return fixed(len(node.value)) if isinstance(node.value, str | bytes) else UNIT
            case ListLiteral():
                return fixed(len(node.elements))
            case MapLiteral():
                return fixed(len(node.entries))
        path = self.path(node)
        size = self.path_size(path) if path else None
        if size is not None:
            self.sizes[node] = size
            return size
        if node.type.is_scalar:
            return UNIT
        local = self.local(node)
        return local.size if local is not None else None
