"""A table of expressions: type, estimate, cost, value or error, and compile errors, as the reference answers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.cel.__main__ import BUDGET, result_of
from orchd.cel.cases import CaseEnvironments
from orchd.cel.program import ProgramError
from orchd.cel.wire import to_wire
from tests.cel.test_recorded import mistakes

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
]
#: An environment without variables; the vendor is the one of the table.
ENVIRONMENTS = CaseEnvironments({"base": {"vars": {}, "bindings": {"": {}}}, "x-kubernetes-list-type": {}}, {})


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["expr"]))
def test_expression_is_answered_like_the_reference(case: dict[str, Any]) -> None:
    """Everything that the table says about an expression holds."""
    given = result_of({"env": "base", "binding": "", "expr": case["expr"]}, ENVIRONMENTS)
    assert not mistakes(case["expect"], given), given


def outcomes(expression: str) -> list[tuple[int, str | None, object]]:
    """Two evaluations of one program; none of an expression that does not compile."""
    environment = ENVIRONMENTS.environment("base")
    checked = environment.compile(expression)
    try:
        programs = [] if checked.issues else [checked.program()] * 2
    except ProgramError:
        return []
    evaluated = [program.evaluate({}, BUDGET) for program in programs]
    return [
        (each.cost, each.error, None if each.error else repr(to_wire(each.value, environment.spell)))
        for each in evaluated
    ]


def test_a_program_answers_alike_each_time() -> None:
    """An evaluation leaves nothing behind in its program."""
    more = ("{'a': 1}.transformMap(k, v, v + 1)", "[1, 2].map(x, {'a': 1}.transformMapEntry(k, v, {k: x}))")
    compared = {text: outcomes(text) for text in (*more, *(case["expr"] for case in CASES))}
    assert len([each for each in compared.values() if each]) > len(CASES) // 2
    assert {text: each for text, each in compared.items() if each and each[0] != each[1]} == {}
