"""Expressions that select devices: the variable `device` with its driver, its attributes and its capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from orchd.cel.costs import ZERO, Meter, Range
from orchd.cel.environment import Environment, Struct, Variable
from orchd.cel.estimate import Path
from orchd.cel.libraries import bindings
from orchd.cel.libraries.quantities import QUANTITY_TYPE, parse_quantity
from orchd.cel.libraries.versions import parse_version
from orchd.cel.operators import MISSING, MapView, equal_values, find_key
from orchd.cel.releases import environment_of_release
from orchd.cel.types import ANY, BOOL, STRING, VENDOR, Type, map_of, struct
from orchd.cel.values import EvaluationError, Value, type_name
from orchd.dialect import Dialect
from orchd.kinds.expressions.compiled import RELEASE, Expression, compile_expression
from orchd.kinds.fields import mapping

#: The most that a selector may cost, by estimate and when it is evaluated for one device.
MAX_COST: Final = 1_000_000
_DEVICE: Final = struct(f"{VENDOR}.DRADevice")
_FIELDS: Final[Mapping[str, Type]] = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY_TYPE)),
}
#: Maximum lengths of names of drivers and domains, of names of attributes, and of their values; and maximum number of
#: attributes.
_DOMAIN, _ID, _VALUE, _ATTRIBUTES = 63, 32, 64, 32


class DeviceSelectorError(Exception):
    """A selector cannot be evaluated for a device."""


class UnfinishedSelectorError(DeviceSelectorError):
    """The evaluation was ended: its budget is used up, or it was interrupted."""


@lru_cache(maxsize=4)
def _environment(vendor: str) -> Environment:
    structs = {_DEVICE.name: Struct(fields=_FIELDS)}
    environment = environment_of_release(RELEASE, vendor)
    environment = replace(environment, libraries=(*environment.libraries, bindings.LIBRARY))
    return environment.with_variables({"device": Variable(type=_DEVICE, size=_size)}, structs)


def _size(path: Path) -> Range | None:
    """The size of what is at a path below a device."""
    match path:
        case ("driver",):
            return Range(0, _DOMAIN)
        case ("attributes" | "capacity",) | ("attributes" | "capacity", "@values"):
            return Range(0, _ATTRIBUTES)
        case ("attributes" | "capacity", "@keys"):
            return Range(0, _DOMAIN)
        case ("attributes" | "capacity", "@values", "@keys"):
            return Range(0, _ID)
        case ("attributes", "@values", _):
            return Range(0, _VALUE)
        case () | ("capacity", "@values", "@values"):
            return ZERO
    return None


@lru_cache(maxsize=256)
def compile_device_selector(text: str, dialect: Dialect) -> Expression:
    """A selector of devices. Its result is a truth value, or unknown before it is evaluated."""
    environment = _environment(dialect("{long}"))
    compiled = compile_expression(text, environment)
    if compiled.error or compiled.type in (BOOL, ANY):
        return compiled
    spelled = environment.spell(str(compiled.type))
    return Expression(text=text, error=f"must evaluate to bool or the unknown type, not {spelled}")


class _Domains(MapView):
    """Values by domain and name.

    An index finds an empty map for a domain without values, so that selectors may ask for a name in it.
    """

    __slots__ = ("values",)

    def __init__(self, values: dict[str, dict[str, Any]]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def find(self, key: Value) -> Value:
        return find_key(self.values, key)

    def at(self, key: Value) -> Value:
        members = self.find(key)
        return {} if members is MISSING else members

    def equals(self, other: Value, meter: Meter) -> bool:
        return equal_values(self.values, other, meter)


def device_value(driver: str, device: Mapping[str, Any]) -> dict[str, Any]:
    """The variable for a device of a resource slice. Raises DeviceSelectorError for an invalid version or quantity."""
    try:
        attributes = {name: _attribute(value) for name, value in mapping(device, "attributes").items()}
        capacity = {name: parse_quantity(str(each["value"])) for name, each in mapping(device, "capacity").items()}
    except EvaluationError as error:
        raise DeviceSelectorError(f"CEL runtime error: {error}") from None
    return {"driver": driver, "attributes": _by_domain(driver, attributes), "capacity": _by_domain(driver, capacity)}


def _attribute(value: Mapping[str, Any]) -> Any:
    if "version" in value:
        return parse_version(value["version"])
    return next((value[member] for member in ("string", "int", "bool") if member in value), None)


def _by_domain(driver: str, values: Mapping[str, Any]) -> _Domains:
    """Values by domain and name; names without a domain are in that of the driver."""
    domains: dict[str, dict[str, Any]] = {}
    for qualified, value in values.items():
        domain, slash, name = qualified.rpartition("/")
        domains.setdefault(domain if slash else driver, {})[name] = value
    return _Domains(domains)


def selects(
    expression: Expression,
    variable: Mapping[str, Any],
    budget: int = MAX_COST,
    *,
    interrupted: Callable[[], bool] | None = None,
) -> tuple[bool, int]:
    """The result of a selector for the variable of a device, and what it cost. `interrupted` is asked now and then
    whether to end the evaluation. Raises DeviceSelectorError."""
    if expression.program is None:
        raise DeviceSelectorError(f"CEL compile error: {expression.error}")
    outcome = expression.program.evaluate({"device": variable}, min(budget, MAX_COST), interrupted=interrupted)
    if outcome.cancelled:
        raise UnfinishedSelectorError(f"CEL runtime error: {outcome.error}")
    if outcome.error is not None:
        raise DeviceSelectorError(f"CEL runtime error: {outcome.error}")
    if not isinstance(outcome.value, bool):
        raise DeviceSelectorError(
            f"CEL runtime error: CEL result of type {type_name(outcome.value)} could not be converted to bool"
        )
    return outcome.value, outcome.cost
