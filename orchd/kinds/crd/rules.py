"""Rules of schemas (the keyword ``validations``), compiled to programs.

Compiling a rule costs some hundred microseconds, so the rules of a schema are shared by equal schemas: the
validation of its definition, every object, and the definition after changes of other fields.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from time import perf_counter
from typing import Any, Final
from weakref import WeakValueDictionary

import orjson

from orchd.cel import types
from orchd.cel.costs import Range
from orchd.cel.environment import Environment, Variable
from orchd.cel.estimate import Path, estimate
from orchd.cel.objects import Keywords, viewer, with_metadata
from orchd.cel.program import Program, ProgramError
from orchd.cel.releases import environment_of_release
from orchd.cel.schema import MAX_REQUEST, Declared, declare
from orchd.cel.syntax import Ident, Node, children
from orchd.cel.values import NONE, Optional, Value
from orchd.dialect import Dialect
from orchd.kinds.crd.schema import Schema

#: Keyword of rules.
VALIDATIONS: Final = "x-{long}-validations"
#: The release whose libraries expressions of definitions have.
_RELEASE: Final = (1, 35)
_SELF, _OLD_SELF = "self", "oldSelf"
#: Estimated memory in bytes of compiled rules that are kept though no schema uses them, such as those of definitions that
#: are being written, and of each member of their schema with its type: those of short texts take eight times the bytes
#: of the schema.
_MOST_BYTES: Final = 4 << 20
_MEMBER_BYTES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A compiled expression. `error` says why there is no program; without either the text is blank. `cost` is the most
    that an evaluation is estimated to cost."""

    text: str
    program: Program | None = None
    error: str = ""
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule and its compiled expressions. `transition`: it refers to the old value. `optional`: its old value may be
    absent."""

    source: Mapping[str, Any]
    condition: Expression
    message: Expression
    transition: bool
    optional: bool


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class RuleSet:
    """The rules of one place of a schema. `cardinality` is how often a value of the place may occur in the largest
    request; `view` turns a value of JSON into what expressions see."""

    rules: tuple[Rule, ...]
    cardinality: int
    #: Whether a rule refers to the old value.
    transitions: bool
    view: Callable[[Any], Value]

    def bindings(self, value: Any, old: Any) -> tuple[dict[str, Value], dict[str, Value]]:
        """The variables of rules with a value and its old value, None without one; and those of rules for which
        the old value is optional."""
        seen = self.view(value)
        if not self.transitions:
            return {_SELF: seen}, {_SELF: seen}
        if old is None:
            return {_SELF: seen}, {_SELF: seen, _OLD_SELF: NONE}
        before = self.view(old)
        return {_SELF: seen, _OLD_SELF: before}, {_SELF: seen, _OLD_SELF: Optional(before)}


class UntypedSchemaError(ValueError):
    """A schema has rules, but its values have no type."""


def compile_rules(
    schema: Schema, dialect: Dialect, *, resource: bool, observe: Callable[[float], None] | None = None
) -> RuleSet:
    """The rules of a schema, without those of nested ones. `resource`: its values are whole objects, of which rules see
    kind, apiVersion and names. `observe` is called with the
    seconds that compiling them took, unless they were kept. Raises UntypedSchemaError."""
    # Definitions and catalogs have the members of a schema in different orders.
    encoded = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    key = blake2b(encoded, digest_size=16, person=b"rules" + dialect.name.encode()[:10]).digest(), resource
    rules = _KEPT.get(key)
    if rules is None:
        began = perf_counter()
        # The number in the name changes with the schema: clients must not rely on the name, which messages show.
        rules = _Compiler(schema, dialect, f"selfType{int.from_bytes(key[0][:4])}", resource=resource).rules()
        _KEPT.put(key, rules, len(encoded) + _MEMBER_BYTES * (64 + encoded.count(b",") + encoded.count(b"{")))
        if observe is not None:
            observe(perf_counter() - began)
    return rules


class _Kept:
    """The rule sets that are in use, and those that were used last, up to a total size. May be used by several threads."""

    def __init__(self) -> None:
        self._used: WeakValueDictionary[tuple[bytes, bool], RuleSet] = WeakValueDictionary()
        self._sets: OrderedDict[tuple[bytes, bool], tuple[RuleSet, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: tuple[bytes, bool]) -> RuleSet | None:
        with self._lock:
            if key in self._sets:
                self._sets.move_to_end(key)
            return self._used.get(key)

    def put(self, key: tuple[bytes, bool], rules: RuleSet, size: int) -> None:
        with self._lock:
            self._used[key] = rules
            if key not in self._sets:
                self._sets[key] = rules, size
                self._size += size
            while self._size > _MOST_BYTES and len(self._sets) > 1:
                _, (_, freed) = self._sets.popitem(last=False)
                self._size -= freed


_KEPT: Final = _Kept()


class _Compiler:
    """Compiles the rules of one place of a schema."""

    def __init__(self, schema: Schema, dialect: Dialect, type_name: str, *, resource: bool) -> None:
        """`type_name` is that of values of the schema. Raises UntypedSchemaError."""
        vendor = dialect("{long}")
        keywords = Keywords(vendor)
        declared = declare(schema, type_name, keywords, resource=resource)
        if declared is None:
            raise UntypedSchemaError("unable to convert structural schema to CEL declarations")
        self._declared: Declared = declared
        self._rules = schema.get(dialect(VALIDATIONS)) or ()
        self._view = viewer(with_metadata(schema) if resource else schema, keywords)
        variable = Variable(type=declared.type)
        base = environment_of_release(_RELEASE, vendor).with_variables({_SELF: variable}, declared.structs())
        self._plain = base.with_variables({_OLD_SELF: variable})
        self._optional = base.with_variables({_OLD_SELF: Variable(type=types.optional_of(declared.type))})

    def rules(self) -> RuleSet:
        """The compiled rules."""
        rules = tuple(map(self._rule, self._rules))
        return RuleSet(
            rules=rules,
            cardinality=MAX_REQUEST // (self._declared.least_bytes + 1),
            transitions=any(rule.transition for rule in rules),
            view=self._view,
        )

    def _rule(self, rule: Mapping[str, Any]) -> Rule:
        environment = self._optional if rule.get("optionalOldSelf") else self._plain
        text, message = rule.get("rule") or "", rule.get("messageExpression") or ""
        condition, tree = self._expression(text, environment, _CONDITION)
        compiled = Expression(text=message)
        if message and condition.program is not None:
            compiled, _ = self._expression(message, environment, _MESSAGE)
        return Rule(
            source=rule,
            condition=condition,
            message=compiled,
            transition=tree is not None and _mentions(tree, _OLD_SELF),
            optional=bool(rule.get("optionalOldSelf")),
        )

    def _expression(self, text: str, environment: Environment, purpose: _Purpose) -> tuple[Expression, Node | None]:
        """An expression, and its tree if it has a program."""
        if not text.strip() and purpose is _CONDITION:
            return Expression(text=text), None
        checked = environment.compile(text)
        if checked.issues:
            return Expression(text=text, error=purpose.compilation + checked.text), None
        if checked.type != purpose.result:
            return Expression(text=text, error=purpose.wrong_type), None
        try:
            program = checked.program()
        except ProgramError as error:
            return Expression(text=text, error=f"{purpose.instantiation}{error}"), None
        cost = estimate(checked.node, environment.overloads, self._size)
        return Expression(text=text, program=program, cost=cost.high), checked.node

    def _size(self, path: Path) -> Range | None:
        """The size of what is at a path. Whatever the name at its begin, the path is taken for one from `self`: so does
        the reference."""
        return self._declared.size(path[1:])


@dataclass(frozen=True, slots=True)
class _Purpose:
    """The use of an expression: the type of its result, and the texts of its errors."""

    result: types.Type
    compilation: str
    wrong_type: str
    instantiation: str


_CONDITION: Final = _Purpose(
    types.BOOL, "compilation failed: ", "cel expression must evaluate to a bool", "program instantiation failed: "
)
_MESSAGE: Final = _Purpose(
    types.STRING,
    "messageExpression compilation failed: ",
    "messageExpression must evaluate to a string",
    "messageExpression instantiation failed: ",
)


def _mentions(node: Node, name: str) -> bool:
    """True if a tree refers to a variable."""
    left = [node]
    while left:
        each = left.pop()
        if isinstance(each, Ident) and each.name == name and not each.local:
            return True
        left.extend(children(each))
    return False
