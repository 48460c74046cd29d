"""Benchmarks of the expression language: compiling, and evaluating over an object and its lists.

They need no server: figures are CPU of this process per compilation or evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench
from benchmarks.definition_rules import DEFINITIONS, schema_of
from orchd.cel.releases import environment_of_release
from orchd.cel.schema import declare_variable

_BUDGET = 10_000_000
_ELEMENTS = 1000
#: The least of so many measurements counts.
_ROUNDS = 5

_INTEGER = {"type": "integer"}
_PORT = {"type": "object", "properties": {"name": {"type": "string"}, "port": _INTEGER}}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": _INTEGER,
        "name": {"type": "string"},
        "numbers": {"type": "array", "items": _INTEGER},
        "ports": {"type": "array", "items": _PORT},
    },
}
_OBJECT: dict[str, Any] = {
    "replicas": 3,
    "name": "abc",
    "numbers": list(range(_ELEMENTS)),
    "ports": [{"name": f"p{i}", "port": i} for i in range(_ELEMENTS)],
}
#: Expressions with the number of times one is evaluated per measurement.
_ROWS = (
    ("self.replicas > 2", 20_000),
    ("self.name.startsWith('a') && self.name.size() < 10", 10_000),
    ("self.replicas >= oldSelf.replicas || !has(self.name)", 10_000),
    ("self.numbers.all(x, x >= 0)", 100),
    ("self.ports.all(p, p.port >= 0)", 100),
    ("self.ports.filter(p, p.port > 10).map(p, p.name).size() > 9", 50),
    ("self == oldSelf", 50),
)


def _least(action: Callable[[], object], count: int) -> float:
    """CPU seconds of an action."""
    figures = []
    for _ in range(_ROUNDS):
        before = time.process_time()
        for _ in range(count):
            action()
        figures.append((time.process_time() - before) / count)
    return min(figures)


def cel_rows(bench: Bench) -> None:
    """All rows of the expression language."""
    variable, structs = declare_variable(_SCHEMA, "Thing", "example", resource=True)
    release = environment_of_release((1, 35), "example")
    environment = release.with_variables({"self": variable, "oldSelf": variable}, structs)
    bindings = {"self": _OBJECT, "oldSelf": {**_OBJECT, "ports": [dict(port) for port in _OBJECT["ports"]]}}
    for text, count in _ROWS:
        # Defaults bind the loop's values.
        spent = _least(lambda text=text: environment.compile(text).program(), bench.times(50))  # type: ignore[misc]
        checked = environment.compile(text)
        program = checked.program()
        outcome = program.evaluate(bindings, _BUDGET)
        if outcome.value is not True:
            raise SystemExit(f"{text}: {outcome}")
        bench.show(f"compile {text[:36]}", spent)
        spent = _least(lambda program=program: program.evaluate(bindings, _BUDGET), bench.times(count))  # type: ignore[misc]
        bench.show(f"evaluate {text[:35]}", spent, f"cost {outcome.cost:,}")
    for name in DEFINITIONS:
        _definition_row(bench, name)


def _definition_row(bench: Bench, name: str) -> None:
    """All rules of one definition, for one object."""
    short, rules, value = DEFINITIONS[name]
    variable, structs = declare_variable(schema_of(short), name.title().replace(" ", ""), "example")
    environment = environment_of_release((1, 35), "example").with_variables({"self": variable}, structs)
    checked = [environment.compile(rule) for rule in rules]
    for each in checked:
        if each.issues:
            raise SystemExit(f"{name}: {each.text}")
    programs = [each.program() for each in checked]
    cost = 0
    for rule, program in zip(rules, programs, strict=True):
        outcome = program.evaluate({"self": value}, _BUDGET)
        if outcome.value is not True:
            raise SystemExit(f"{name}: {rule}: {outcome}")
        cost += outcome.cost

    def evaluate() -> None:
        for program in programs:
            program.evaluate({"self": value}, _BUDGET)

    bench.show(f"evaluate {len(rules)} rules of a {name}", _least(evaluate, bench.times(200)), f"cost {cost:,}")
