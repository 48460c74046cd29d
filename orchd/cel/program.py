"""Programs: a checked tree, planned once into closures that are run many times.

A closure takes the state of an evaluation (`costs.Meter`) and returns a value; an error of the language is raised as
`EvaluationError`, and `&&`, `||` and their like catch it. Each closure spends what it costs from the budget in the
state, so that nothing runs longer than its budget; a step that exceeds it is the last.

Planning evaluates what is constant: lists and maps of constants, conversions of constants, and patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from orchd.cel import comparisons, control_flow, fast_paths
from orchd.cel.attributes import Attribute, Evaluator, Qualifier, bad_key, is_key, select_all
from orchd.cel.calls import NullaryCall, call_each, call_pair, call_single, priced, spend
from orchd.cel.costs import FIRST_SLOT, LEAST_WORK, LIST, ONE, STRUCT, UNBOUNDED, WORK, Cost, Meter
from orchd.cel.declare import Function, Overload
from orchd.cel.limits import deep
from orchd.cel.operators import MISSING, contains, is_list, is_map
from orchd.cel.plans import Constant, Scope, constant_members
from orchd.cel.regex import constant_pattern
from orchd.cel.syntax import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from orchd.cel.types import DURATION, TIMESTAMP
from orchd.cel.values import Breakdown, Cancelled, EvaluationError, Optional, Value, no_overload

if TYPE_CHECKING:
    from orchd.cel.environment import Environment

#: Functions whose calls with a constant are evaluated by the planner.
CONVERSIONS = frozenset("bool bytes double duration dyn int string timestamp type uint".split())
#: Short names of types that the checker knows where types of schemas are declared, and the planner does not.
UNPLANNED = {"timestamp": TIMESTAMP, "duration": DURATION}
#: Functions whose second argument is a pattern.
PATTERNS = frozenset(["matches", "find", "findAll"])


class ProgramError(Exception):
    """A constant part of an expression has no value, such as ``int('x')``."""


class Outcome(NamedTuple):
    """The result of an evaluation: a value or an error, its cost, and units of work that the cost does not include.

    ``cancelled``: the evaluation ended because its budget was spent, or because nobody waits for its result.
    """

    value: Value
    error: str | None
    cost: int
    work: int
    cancelled: bool = False


#: What planning makes of a node: a constant, an attribute that may still grow, or a closure.
_Plan = Constant | Attribute | Evaluator


class Program:
    """An expression that is ready to be evaluated. It may be used by many evaluations at a time."""

    __slots__ = ("_deep", "_empty", "_run", "_spell", "_variables")

    def __init__(self, node: Node, environment: Environment) -> None:
        """Plan a checked tree. Raises `ProgramError`."""
        planner = _Planner(environment)
        with deep():
            try:
                self._run = planner.emit(planner.plan(node))
            except (EvaluationError, Breakdown) as error:
                raise ProgramError(environment.spell("".join(error.args))) from None
        self._spell = environment.spell
        self._variables = [(name, slot, environment.adapter(name)) for name, slot in planner.scope.globals.items()]
        self._empty = [MISSING] * (FIRST_SLOT + planner.scope.size)
        self._deep = planner.height > 60

    def evaluate(
        self,
        bindings: Mapping[str, Any],
        budget: int,
        *,
        work: int | None = None,
        interrupted: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Evaluate with values of variables, at most at the cost of ``budget``. Raises nothing.

        At most ``work`` units are spent on what costs do not see, such as matching a pattern; None: as many as are
        usual for the budget. A unit takes some microseconds at most.

        Values are data of JSON, seen through the declaration of the variable, or values of the language; a callable
        without arguments is called when the variable is first needed. ``interrupted`` is asked every hundred turns of a
        loop whether to stop.
        """
        frame = Meter(self._empty)
        most = budget * WORK + LEAST_WORK if work is None else work
        frame[0], frame[1], frame[2] = budget, most, interrupted
        for name, slot, adapt in self._variables:
            value = bindings.get(name, MISSING)
            if value is not MISSING:
                frame[slot] = value if adapt is None else adapt(value)
        try:
            if self._deep:
                with deep():
                    value = self._run(frame)
            else:
                value = self._run(frame)
        except EvaluationError as error:
            return Outcome(None, self._spell(error.message), budget - frame[0], most - frame[1])
        except Breakdown as error:
            return Outcome(None, str(error), budget - frame[0], most - frame[1])
        except Cancelled as error:
            return Outcome(None, str(error), budget - frame[0], most - frame[1], True)
        return Outcome(value, None, budget - frame[0], most - frame[1])


class _Planner:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.scope = Scope(FIRST_SLOT)
        self.height = 0
        self._level = 0

    def closure(self, node: Node) -> Evaluator:
        return self.emit(self.plan(node))

    def element(self, node: Node) -> tuple[Evaluator, int]:
        """Return a closure of an element, and what a list of it alone costs: nothing if it is constant."""
        plan = self.plan(node)
        return self.emit(plan), 0 if isinstance(plan, Constant) else LIST

    def plan(self, node: Node) -> _Plan:
        self._level += 1
        self.height = max(self.height, self._level)
        try:
            match node:
                case Literal():
                    return Constant(node.value)
                case Ident():
                    return self.ident(node)
                case Select():
                    return self.select(node)
                case Call():
                    return self.call(node)
                case ListLiteral():
                    return self.list_literal(node)
                case MapLiteral():
                    return self.map_literal(node)
                case StructLiteral():
                    return self.struct_literal(node)
                case Comprehension():
                    return control_flow.plan(node, self)
        finally:
            self._level -= 1
        raise AssertionError(f"unexpected node {node!r}")

    def emit(self, plan: _Plan) -> Evaluator:
        """Turn a plan into a closure; nothing can be selected from it any more."""
        if isinstance(plan, Constant):
            value = plan.value
            return lambda frame: value
        if not isinstance(plan, Attribute):
            return plan
        return self.emit_attribute(plan, plan.price)

    # Attributes.

    def ident(self, node: Ident) -> _Plan:
        if node.constant is not None:
            if node.name in UNPLANNED:
                raise EvaluationError(f"reference to undefined type: {node.name}")
            return Constant(node.constant)
        if node.type.kind == "type" and not self.environment.exact:
            # Names of this type are looked up among the types, also those of variables.
            raise EvaluationError(f"reference to undefined type: {node.name}")
        attribute = Attribute()
        attribute.name = node.name
        attribute.slot = self.scope.slot(node.name, local=node.local)
        return attribute

    def select(self, node: Select) -> _Plan:
        if node.variable is not None:
            return self.ident(node.variable)
        attribute = self.attribute(node.operand)
        qualifier = Qualifier(node.field, exact=self.environment.exact)
        qualifier.test = attribute.test = node.test
        attribute.add(qualifier)
        return attribute

    def attribute(self, node: Node) -> Attribute:
        """Plan a node as something to select from."""
        plan = self.plan(node)
        if isinstance(plan, Attribute):
            return plan
        attribute = Attribute()
        attribute.operand = self.emit(plan)
        return attribute

    def index(self, node: Call, *, optional: bool) -> Attribute:
        attribute = self.attribute(node.args[0])
        plan = self.plan(node.args[1])
        if isinstance(plan, Constant) and is_key(plan.value):
            qualifier = Qualifier(plan.value, optional=optional)
        elif isinstance(plan, Constant) and not self.environment.exact:
            raise bad_key(plan.value)
        elif isinstance(plan, Attribute):
            # The attribute as a key costs its selections only.
            data = plan.operand is None and plan.branches is None and plan.slot in self.scope.globals.values()
            qualifier = Qualifier(None, self.emit_attribute(plan, 0), optional=optional, data=data)
        else:
            qualifier = Qualifier(None, self.emit(plan), optional=optional)
        attribute.add(qualifier)
        return attribute

    def emit_attribute(self, attribute: Attribute, price: int) -> Evaluator:
        if attribute.branches is not None:
            return self.emit_branches(attribute)
        qualifiers = attribute.qualifiers
        keys = [qualifier.key for qualifier in qualifiers]
        plain = all(_plain(qualifier) for qualifier in qualifiers)
        base = attribute.operand
        if base is None:
            if attribute.slot in self.scope.starts:
                base = control_flow.lazy_variable(attribute.slot, self.scope.starts[attribute.slot])
                if not qualifiers:
                    return base if not price else priced(base, price)
            elif not qualifiers:
                return fast_paths.read_variable(attribute.slot, attribute.name, price)
            elif plain and len(keys) == 1 and keys[0].__class__ is str:
                return fast_paths.read_field(attribute.slot, attribute.name, keys[0], price)
            else:
                base = fast_paths.read_variable(attribute.slot, attribute.name, 0)
        if plain:
            return fast_paths.select_keys(base, keys, price)
        test = attribute.test

        def run(frame: Meter) -> Value:
            value = select_all(frame, base(frame), qualifiers, spend)
            return value.present if test and value.__class__ is Optional else value

        return priced(run, price)

    def emit_branches(self, attribute: Attribute) -> Evaluator:
        assert attribute.branches is not None and attribute.condition is not None
        condition = attribute.condition
        first, second = (self.emit_attribute(branch, 0) for branch in attribute.branches)

        # A test of a branch does not cost the selection.
        refund = int(attribute.test)

        def run(frame: Meter) -> Value:
            frame[0] += refund
            chosen = condition(frame)
            if chosen is True:
                return first(frame)
            if chosen is False:
                return second(frame)
            raise no_overload()

        return run

    # Calls.

    def call(self, node: Call) -> _Plan:
        match node.function:
            case "_&&_":
                return control_flow.conjunction([self.closure(arg) for arg in node.args])
            case "_||_":
                return control_flow.disjunction([self.closure(arg) for arg in node.args])
            case "_?_:_":
                return self.conditional(node)
            case "_[_]":
                return self.index(node, optional=False)
            case "_[?_]" | "_?._":
                return self.index(node, optional=True)
            case "@not_strictly_false":
                return control_flow.not_strictly_false(self.closure(node.args[0]))
            case "cel.@block":
                return control_flow.block(node, self)
        arguments = [node.target, *node.args] if node.target is not None else node.args
        plans = [self.plan(argument) for argument in arguments if argument is not None]
        function = self.environment.functions.get(node.function)
        if function is None:
            return control_flow.failing(f"no such overload: {node.function}")
        chosen = [overload for overload in function.overloads if overload.id in node.overloads]
        # After a lenient check any overload may be meant.
        chosen = chosen or list(function.overloads)
        cost = _cost_of(chosen)
        closures = [self.emit(plan) for plan in plans]
        match node.function:
            case "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_":
                return comparisons.plan(node.function, plans, closures, cost)
            case "or" | "orValue" if len(closures) == 2 and chosen[0].id.startswith("optional_or"):
                return control_flow.alternative(*closures, unwrap=node.function == "orValue")
            case "@in":
                return self.containment(plans, closures, chosen, cost)
        constants = [isinstance(plan, Constant) for plan in plans]
        if (
            node.function in PATTERNS
            and len(plans) > 1
            and isinstance(plans[1], Constant)
            and plans[1].value.__class__ is str
        ):
            return self.search(node.function, plans[1].value, closures, cost)
        if node.function in CONVERSIONS and constants == [True]:
            return Constant(self.dispatch(function, chosen, closures, ONE)(_planning()))
        return self.dispatch(function, chosen, closures, cost)

    def search(self, function: str, pattern: str, closures: list[Evaluator], cost: Cost) -> Evaluator:
        """A search with a constant pattern, which is compiled once."""
        compiled = constant_pattern(pattern, "error parsing regexp")
        search = {"matches": compiled.search, "find": compiled.find, "findAll": compiled.find_all}[function]

        def call(meter: Meter, text: Value, pattern: Value, *limit: Value) -> Value:
            if text.__class__ is not str or any(number.__class__ is not int for number in limit):
                raise no_overload()
            return search(meter, text, *limit)

        return call_each(closures, call, cost, metered=True)

    def conditional(self, node: Call) -> Attribute:
        attribute = Attribute()
        attribute.condition = self.closure(node.args[0])
        attribute.branches = (self.attribute(node.args[1]), self.attribute(node.args[2]))
        return attribute

    def containment(self, plans: list[_Plan], closures: list[Evaluator], chosen: list[Overload], cost: Cost) -> _Plan:
        container = plans[1]
        if [overload.id for overload in chosen] == ["in_list"] and isinstance(container, Constant):
            members = constant_members(container.value)
            if not container.value:
                return Constant(False)
            if members is not None:
                return control_flow.membership(closures[0], members)

        def run_contains(frame: Meter, value: Value, values: Value) -> bool:
            return contains(value, values, frame)

        return call_pair(closures[0], closures[1], run_contains, cost, metered=True)

    def dispatch(self, function: Function, chosen: list[Overload], closures: list[Evaluator], cost: Cost) -> Evaluator:
        """Return a closure that evaluates arguments and calls the implementation that fits them."""
        implementation, metered, each = self.environment.implementation(function, chosen)
        match len(closures):
            case 0:
                return NullaryCall(implementation, cost)
            case 1:
                return call_single(closures[0], implementation, cost, metered=metered)
            case 2 if not each:
                return call_pair(closures[0], closures[1], implementation, cost, metered=metered)
        return call_each(closures, implementation, cost, metered=metered)

    # Literals.

    def list_literal(self, node: ListLiteral) -> _Plan:
        plans = [self.plan(element) for element in node.elements]
        constants = [plan.value for plan in plans if isinstance(plan, Constant)]
        closures = [self.emit(plan) for plan in plans]
        run = control_flow.list_maker(closures, node.optional)
        if len(constants) == len(plans):
            return Constant(run(_planning()))
        return run

    def map_literal(self, node: MapLiteral) -> _Plan:
        rows: list[tuple[_Plan, _Plan, bool]] = [
            (self.plan(entry.key), self.plan(entry.value), entry.optional) for entry in node.entries
        ]
        run = control_flow.map_maker(
            [(self.emit(key), self.emit(value), optional) for key, value, optional in rows],
            exact=self.environment.exact,
        )
        if not self.environment.exact and all(
            isinstance(key, Constant) and isinstance(value, Constant) for key, value, _ in rows
        ):
            return Constant(run(_planning()))
        return run

    def struct_literal(self, node: StructLiteral) -> _Plan:
        declared = self.environment.struct(node.name)
        make = declared.make if declared is not None else None
        if make is None:
            raise EvaluationError(f"unknown type: {node.name}")
        fields = [(field.name, self.closure(field.value), field.optional) for field in node.fields]

        def members(frame: Meter) -> dict[str, Value]:
            values: dict[str, Value] = {}
            for name, closure, optional in fields:
                value = closure(frame)
                if optional:
                    if value.__class__ is not Optional:
                        raise EvaluationError(f"cannot initialize optional entry '{name}' from non-optional value")
                    if not value.present:
                        values.pop(name, None)
                        continue
                    value = value.value
                values[name] = value
            return values

        priced_members = priced(members, STRUCT)

        def run(frame: Meter) -> Value:
            values = priced_members(frame)
            frame.work(sum(len(value) for value in values.values() if is_list(value) or is_map(value)))
            return make(values)

        return run


def _planning() -> Meter:
    """The state in which constants are evaluated."""
    return Meter([UNBOUNDED, UNBOUNDED, None])


def _plain(qualifier: Qualifier) -> bool:
    return qualifier.index is None and not qualifier.optional and not qualifier.test


def _cost_of(chosen: list[Overload]) -> Cost:
    """Return the cost of a call: that of its overload, or of its name where several overloads may be meant."""
    if len(chosen) == 1:
        return chosen[0].cost
    return next((overload.cost for overload in chosen if overload.cost.by_name), ONE)
