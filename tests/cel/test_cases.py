"""A table of expressions: type, estimate, cost, value or error, and compile errors, as the reference answers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.cel.__main__ import answer
from orchd.cel.cases import CaseEnvironments
from tests.cel.test_recorded import mistakes

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
]
#: An environment without variables; the vendor is the one of the table.
ENVIRONMENTS = CaseEnvironments({"base": {"vars": {}, "bindings": {"": {}}}, "x-kubernetes-list-type": {}}, {})


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["expr"]))
def test_expression_is_answered_like_the_reference(case: dict[str, Any]) -> None:
    """Everything that the table says about an expression holds."""
    given = answer({"env": "base", "binding": "", "expr": case["expr"]}, ENVIRONMENTS)
    assert not mistakes(case["expect"], given), given
