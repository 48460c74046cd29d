"""Optional values: ``optional.of(x)``, ``a.?b``, ``x.orValue(y)``, and the macros ``optMap`` and ``optFlatMap``."""

from __future__ import annotations

from orchd.cel.building import Expander
from orchd.cel.declare import Library, function, member, overload
from orchd.cel.macros import Maker, copied, name_of
from orchd.cel.operators import get_item, is_zero
from orchd.cel.printed import printed
from orchd.cel.syntax import Call, Node
from orchd.cel.types import BOOL, DYN, INT, STRING, list_of, map_of, opaque, optional_of, parameter
from orchd.cel.values import NONE, EvaluationError, Optional, Value

K, V = parameter("K"), parameter("V")
OPTIONAL_V = optional_of(V)
LIST_V, MAP_KV = list_of(V), map_of(K, V)


def _of_non_zero(value: Value) -> Value:
    return NONE if is_zero(value) else Optional(value)


def _value(optional: Value) -> Value:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    if optional.value.__class__ is EvaluationError:
        raise optional.value
    return optional.value


def _unwrap(optionals: Value) -> list[Value]:
    return [optional.value for optional in optionals if _checked(optional).present]


def _checked(value: Value) -> Optional:
    if not isinstance(value, Optional):
        raise EvaluationError(f"value {printed(value)} is not optional")
    return value


def _map(name: str, *, flat: bool) -> Expander:
    """``x.optMap(v, f(v))``: applies a function to the content, if present; with ``flat`` the result of the function is
    optional itself.
    """

    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        variable = name_of(args[0], f"{name}() variable name must be a simple identifier")
        assert target is not None
        make = Maker(offset)
        value = Call(offset, "value", [], copied(target))
        bound: Node = make.bind(variable, value, args[1])
        if not flat:
            bound = make.call("optional.of", bound)
        present = Call(offset, "hasValue", [], target)
        return make.call("_?_:_", present, bound, make.call("optional.none"))

    return expand


def _last(values: Value) -> Value:
    return Optional(get_item(values, len(values) - 1)) if len(values) else NONE


LIBRARY = Library(
    name="optionals",
    functions=(
        function("optional.of", overload("optional_of", [V], OPTIONAL_V, Optional)),
        function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", [V], OPTIONAL_V, _of_non_zero)),
        function("optional.none", overload("optional_none", [], OPTIONAL_V, lambda: NONE)),
        function("value", member("optional_value", [OPTIONAL_V], V, _value)),
        function("hasValue", member("optional_hasValue", [OPTIONAL_V], BOOL, lambda value: value.present)),
        function("or", member("optional_or_optional", [OPTIONAL_V, OPTIONAL_V], OPTIONAL_V)),
        function("orValue", member("optional_orValue_value", [OPTIONAL_V, V], V)),
        function("_?._", overload("select_optional_field", [DYN, STRING], OPTIONAL_V)),
        function(
            "_[?_]",
            overload("list_optindex_optional_int", [LIST_V, INT], OPTIONAL_V),
            overload("optional_list_optindex_optional_int", [optional_of(LIST_V), INT], OPTIONAL_V),
            overload("map_optindex_optional_value", [MAP_KV, K], OPTIONAL_V),
            overload("optional_map_optindex_optional_value", [optional_of(MAP_KV), K], OPTIONAL_V),
        ),
        function(
            "_[_]",
            overload("optional_list_index_int", [optional_of(LIST_V), INT], OPTIONAL_V),
            overload("optional_map_index_value", [optional_of(MAP_KV), K], OPTIONAL_V),
        ),
    ),
    macros={("optMap", 2, True): _map("optMap", flat=False), ("optFlatMap", 2, True): _map("optFlatMap", flat=True)},
    types=(opaque("optional_type"),),
)

#: What version 2 of the library adds.
LISTS = Library(
    name="optional lists",
    functions=(
        function("last", member("list_last", [LIST_V], OPTIONAL_V, _last)),
        function(
            "first",
            member(
                "list_first",
                [LIST_V],
                OPTIONAL_V,
                lambda values: Optional(get_item(values, 0)) if len(values) else NONE,
            ),
        ),
        function("optional.unwrap", overload("optional_unwrap", [list_of(OPTIONAL_V)], LIST_V, _unwrap)),
        function("unwrapOpt", member("optional_unwrapOpt", [list_of(OPTIONAL_V)], LIST_V, _unwrap)),
    ),
)
