"""Recorded cases of the reference (tests/reference/README.md): the number of cases that are answered alike must not
decrease."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchd.cel.__main__ import result_of
from orchd.cel.cases import CaseEnvironments
from orchd.cel.limits import deep

RECORDED = Path(__file__).resolve().parents[1] / "reference" / "cel"
FLOOR: dict[str, int] = json.loads(Path(__file__).with_name("floor.json").read_text(encoding="utf-8"))


def canonical(value: Any) -> Any:
    """Typed JSON with entries of maps in one order, doubles as numbers, and durations by their nanoseconds."""
    if isinstance(value, list):
        return [canonical(element) for element in value]
    if not isinstance(value, dict):
        return value
    if "map" in value:
        rows = [[canonical(key), canonical(element)] for key, element in value["map"]]
        return {"map": sorted(rows, key=lambda row: json.dumps(row[0], sort_keys=True))}
    if "double" in value:
        number = float(value["double"])
        return {"double": "NaN" if number != number else number}
    if "duration" in value:
        return {"duration": value.get("nanos") or value["duration"]}
    return {key: canonical(element) for key, element in value.items()}


def mistakes(expected: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """The parts of an answer that differ from what was recorded."""
    if "compile_error" in expected or "compile_error_prefix" in expected:
        text = given.get("compile_error", "")
        exact = text == expected.get("compile_error", text[:2000] and text)
        return [] if exact and text.startswith(expected.get("compile_error_prefix", "")) and text else ["compile_error"]
    differing = [
        key for key in ("type", "cost_min", "cost_max", "cost") if key in expected and given.get(key) != expected[key]
    ]
    failure = expected.get("program_error", expected.get("error"))
    if failure != given.get("program_error", given.get("error")):
        differing.append("error")
    if "value" in expected and canonical(given.get("value")) != canonical(expected["value"]):
        differing.append("value")
    return differing


def cases(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.fixture(scope="module")
def environments() -> CaseEnvironments:
    """The environments of the recorded cases."""
    described, declared = (
        json.loads((RECORDED / name).read_text(encoding="utf-8")) for name in ("envs.json", "decltypes.json")
    )
    return CaseEnvironments(described, declared)


@pytest.mark.parametrize("group", FLOOR)
def test_recorded_cases_are_answered_alike(environments: CaseEnvironments, group: str) -> None:
    """Type, estimate, cost, value or error, and compile errors are those of the reference."""
    exact = 0
    wrong: Counter[str] = Counter()
    for case in cases(RECORDED / f"{group}.jsonl"):
        with deep():
            errors = mistakes(case["expect"], result_of(case, environments))
        exact += not errors
        wrong.update(f"{case['id']} {part}" for part in errors)
    assert exact >= FLOOR[group], wrong.most_common(20)
