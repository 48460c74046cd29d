"""Attributes: a variable, or any value, and what is selected from it by field, key or index.

The planner collects selections that follow each other into one attribute, so that ``self.spec.replicas`` is one step.
Each selection costs 1, and so does the attribute as a whole, unless it is a test (``has``) or a branch of a condition.
"""

from __future__ import annotations

from collections.abc import Callable

from orchd.cel.costs import EXCEEDED, Meter
from orchd.cel.numbers import shortest
from orchd.cel.objects import ItemsView, ObjectView
from orchd.cel.operators import MISSING, MapView, find_key, get_item, is_list, is_map
from orchd.cel.types import Type
from orchd.cel.values import (
    MAX_INT,
    MIN_INT,
    NONE,
    Cancelled,
    Concatenation,
    EvaluationError,
    Opaque,
    Optional,
    Uint,
    Value,
    class_name,
    type_of,
)

#: Evaluates an expression: state of the evaluation to value. Raises `EvaluationError` and `Cancelled`.
Evaluator = Callable[[Meter], Value]


def text_of(value: Value) -> str:
    """Return a key or index in the form that error messages use."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value.__class__ is Uint:
        return str(value.value)
    if value.__class__ is float:
        return shortest(value)
    return str(value)


def index_of(key: Value) -> int:
    """Convert a number to an index. Raises `EvaluationError` for other values."""
    kind = key.__class__
    if kind is int:
        return int(key)
    if kind is float:
        if key.is_integer() and MIN_INT < key < MAX_INT:
            return int(key)
        raise EvaluationError(f"unsupported index value {text_of(key)} in list")
    if kind is Uint:
        if key.value <= MAX_INT:
            return int(key.value)
        raise EvaluationError(f"unsupported index value {key.value} in list")
    raise EvaluationError(f"unsupported index type '{type_of(key)}' in list")


def qualify(value: Value, key: Value) -> Value:
    """Return the value at a key or index. Raises `EvaluationError`."""
    kind = value.__class__
    if kind is ObjectView:
        member = value.find(key)
    elif kind is dict and key.__class__ is str:
        member = value.get(key, MISSING)
    elif isinstance(value, MapView):
        member = value.at(key)
    elif is_map(value):
        member = find_key(value, key)
    elif is_list(value):
        index = index_of(key)
        if not 0 <= index < len(value):
            raise EvaluationError(f"index out of bounds: {text_of(key)}")
        return get_item(value, _view_index(value, key, index))
    elif hasattr(value, "field"):
        member = value.field(key)
        if member is MISSING and hasattr(value, "read_absent"):
            member = value.read_absent(key)
    else:
        member = MISSING
    if member is MISSING:
        raise EvaluationError("no such key: ", text_of(key))
    if member.__class__ is EvaluationError:
        raise member
    return member


def _view_index(value: Value, key: Value, index: int) -> int:
    if key.__class__ is not int and hasattr(value, "item"):
        raise EvaluationError(f"unsupported index: {text_of(key)}")
    return index


def qualify_if_present(value: Value, key: Value) -> Value:
    """Return the value at a key or index, `MISSING` if it does not exist. Raises `EvaluationError`."""
    if isinstance(value, MapView):
        member = value.at(key)
    elif is_map(value):
        member = find_key(value, key)
    elif is_list(value):
        index = index_of(key)
        member = get_item(value, index) if 0 <= index < len(value) else MISSING
    elif hasattr(value, "field"):
        member = value.field(key)
    else:
        member = MISSING
    if member.__class__ is EvaluationError:
        raise member
    return member


class Qualifier:
    """One selection. ``index`` computes the key where it is no constant, and ``data`` says that it reads a variable;
    ``exact`` is that of the environment.
    """

    __slots__ = ("data", "exact", "index", "key", "optional", "test")

    def __init__(
        self,
        key: Value = None,
        index: Evaluator | None = None,
        *,
        optional: bool = False,
        exact: bool = False,
        data: bool = False,
    ) -> None:
        self.key = key
        self.index = index
        self.optional = optional
        self.exact = exact
        self.data = data
        self.test = False


class Attribute:
    """A base and the selections from it.

    The base is ``slot`` (a variable), ``operand`` or a ``condition`` with two branches.
    """

    __slots__ = ("branches", "condition", "name", "operand", "qualifiers", "slot", "test")

    def __init__(self) -> None:
        self.slot = -1
        self.name = ""
        self.operand: Evaluator | None = None
        self.condition: Evaluator | None = None
        self.branches: tuple[Attribute, Attribute] | None = None
        self.qualifiers: list[Qualifier] = []
        self.test = False

    def add(self, qualifier: Qualifier) -> None:
        if self.branches is not None:
            for branch in self.branches:
                branch.add(qualifier)
        else:
            self.qualifiers.append(qualifier)

    @property
    def price(self) -> int:
        """Cost of the attribute beyond its selections."""
        return 0 if self.test or self.branches is not None else 1


def qualify_all(frame: Meter, value: Value, keys: list[str], price: int) -> Value:
    """Select constant keys from an optional value. Each selection costs 1; the whole has a cost of its own."""

    def spend(frame: Meter, cost: int) -> None:
        frame[0] -= cost
        if frame[0] < 0:
            raise Cancelled(EXCEEDED)

    try:
        selected = select_all(frame, value, [Qualifier(key) for key in keys], spend)
    except EvaluationError:
        spend(frame, price)
        raise
    spend(frame, price)
    return selected


def select_all(frame: Meter, value: Value, qualifiers: list[Qualifier], spend: Callable[[Meter, int], None]) -> Value:
    """Apply selections one after the other, each at its cost. An optional value stays optional to the end."""
    optional = value.__class__ is Optional
    if optional:
        if not value.present:
            return value
        value = content_of(value.value)
    for qualifier in qualifiers:
        key = qualifier.key
        optional = optional or qualifier.optional
        try:
            if qualifier.index is not None:
                key = qualifier.index(frame)
                if not is_key(key):
                    raise bad_key(key, data=qualifier.data)
            if qualifier.test:
                value = qualify_if_present(value, key) is not MISSING
                if optional and not value:
                    return NONE
            elif optional:
                if qualifier.exact and not (is_map(value) or is_list(value) or hasattr(value, "field")):
                    raise EvaluationError("no such key: ", text_of(key))
                value = qualify_if_present(value, key)
                if value is MISSING:
                    return NONE
            else:
                value = qualify(value, key)
        except EvaluationError:
            if qualifier.test or not optional:
                spend(frame, 1)
            raise
        spend(frame, 1)
    return Optional(value) if optional else value


def passed_on(value: Value) -> Value:
    """Return the value of an attribute without selections."""
    if value.__class__ is Optional and value.present:
        return Optional(content_of(value.value))
    return value


def content_of(value: Value) -> Value:
    """Return the content of an optional value that an attribute passes on: plain data.

    The data of an object or a list is not seen through its schema any more, and data of some libraries cannot be used.
    """
    kind = value.__class__
    if kind is Optional:
        return content_of(value.value) if value.present else None
    if kind is Type:
        return value.name
    if kind is EvaluationError:
        return EvaluationError(f"unsupported conversion to ref.Val: (*errors.errorString){value.message}")
    if isinstance(value, ObjectView | ItemsView):
        return value.data
    return value.content() if isinstance(value, Opaque) else value


#: Classes of values that messages tell from those of the same type, and of data of variables.
_VALUE_CLASSES: dict[type, str] = {Concatenation: "*types.concatList"}
_DATA_CLASSES: dict[type, str] = {dict: "map[string]interface {}", list: "[]interface {}", type(None): "<nil>"}
_KEYS = frozenset([str, int, Uint, bool, float])


def is_key(value: Value) -> bool:
    """Say whether a value may be a key or an index."""
    return value.__class__ in _KEYS


def bad_key(value: Value, *, data: bool = False) -> EvaluationError:
    """Return the error for a value that is neither a key nor an index. ``data``: it was read from a variable."""
    names = _DATA_CLASSES if data else _VALUE_CLASSES
    name = names.get(value.__class__) or class_name(value)
    return EvaluationError(f"invalid qualifier type: {name}")
