"""A table of expressions: type, estimate, cost, value or error, and compile errors, as the reference answers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.cel.__main__ import BUDGET, main, result_of
from orchd.cel.cases import CaseEnvironments
from orchd.cel.program import ProgramError
from orchd.cel.wire import to_wire
from tests.cel.test_recorded import mistakes

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
]
_EMPTY: dict[str, Any] = {"vars": {}, "bindings": {"": {}}}
#: Environments without variables; the vendor is the one of the table.
ENVIRONMENTS = CaseEnvironments(
    {
        "base": _EMPTY,
        "old": {**_EMPTY, "release": "1.27"},
        "patch": {**_EMPTY, "patchTypes": True},
        "x-kubernetes-list-type": {},
    },
    {},
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["expr"]))
def test_expression_is_answered_like_the_reference(case: dict[str, Any]) -> None:
    """Everything that the table says about an expression holds."""
    given = result_of({"env": "base", "binding": "", **case}, ENVIRONMENTS)
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


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "not JSON: "),
        ("[]", "not an object with an expression"),
        ('{"env": "base"}', "not an object with an expression"),
        ('{"env": "none", "expr": "1"}', "KeyError: 'none'"),
        ('{"env": "untyped", "expr": "1"}', "ValueError: a schema without a type declares nothing"),
        ('{"env": "base", "binding": "none", "expr": "1"}', "KeyError: 'none'"),
        ('{"env": "base", "expr": "1", "limit": "x"}', "ValueError: "),
        ('{"expr": "x", "type_env": [{"name": "x", "type": "list("}]}', "ValueError: not a type: list("),
    ],
)
def test_a_line_that_is_no_case_is_an_error_and_the_next_is_evaluated(
    line: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = {"base": _EMPTY, "untyped": {"vars": {"self": {"schema": {}}}, "bindings": {"": {}}}}
    environments = tmp_path / "envs.json"
    environments.write_text(json.dumps(described), encoding="utf-8")
    monkeypatch.setenv("CEL_ENVS", str(environments))
    written: list[str] = []
    main(iter([line, '{"env": "base", "expr": "1 + 1"}', ""]).__next__, written.append)
    first, second = map(json.loads, written)
    assert list(first) == ["case_error"] and first["case_error"].startswith(error)
    assert second["value"] == {"int": "2"}
