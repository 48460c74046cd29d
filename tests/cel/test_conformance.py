"""The conformance cases of the language that need no messages of protocol buffers, where they are at hand: all of them
pass."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.cel.__main__ import result_of
from orchd.cel.cases import CaseEnvironments
from tests.cel.test_recorded import RECORDED, canonical, cases

CASES = RECORDED / "spec" / "cases"
FILES = sorted(CASES.glob("*.jsonl")) if CASES.is_dir() else []


def mistake(case: dict[str, Any], given: dict[str, Any]) -> str | None:
    """What is wrong with an answer, None if that is nothing. Texts of errors are not compared: each implementation has
    its own."""
    failed = any(key in given for key in ("error", "program_error", "compile_error"))
    if "error" in case:
        return None if failed else f"no error: {given}"
    result = case.get("typed_result", {})
    if case.get("check_only") or not {"value", "unknown"} & (case.keys() | result.keys()):
        fits = "compile_error" not in given and result.get("type") in (None, given["type"])
        return None if fits else f"not {result.get('type')}: {given}"
    if failed:
        return str(given)
    expected = case.get("value", result.get("value"))
    if expected is not None and canonical(given["value"]) != canonical(expected):
        return f"not {expected}: {given['value']}"
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_conformance_cases_pass(path: Any) -> None:
    """Every case has the value or the type that the specification says, or is an error where it says so."""
    environments = CaseEnvironments({}, {})
    needed = [case for case in cases(path) if "proto" not in case["tags"]]
    wrong = {case["id"]: mistake(case, result_of(case, environments)) for case in needed}
    assert not {key: text for key, text in wrong.items() if text}
