"""What simple commands of containers amount to."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from orchd.simulation.commands import outcome_of, succeeds

_ODD = "if [ $(expr ${INDEX} % 2) -ne 0 ]; then\n  exit 1\nelse\n  exit 0\nfi\n"
_ONCE = "if [[ -r /data/foo ]]\nthen\n  exit 0\nelse\n  touch /data/foo\n  exit 42\nfi"


def outcome(*words: str, count: int = 0, index: str = "1") -> tuple[int, float] | None:
    field = {"fieldRef": {"fieldPath": "metadata.annotations['x/index']"}}
    env: list[dict[str, Any]] = [
        {"name": "INDEX", "valueFrom": field},
        {"name": "CODE", "value": "7"},
        {"name": "NODE"},
    ]
    env[2]["valueFrom"] = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    pod: dict[str, Any] = {"metadata": {"annotations": {"x/index": index}}, "spec": {"nodeName": "n"}}
    result = outcome_of(pod, {"command": list(words[:1]), "args": list(words[1:]), "env": env}, count)
    return None if result is None else (result.code, result.seconds)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("/bin/false",), (1, 0.0)),
        (("true",), (0, 0.0)),
        (("sleep", "300"), (0, 300.0)),
        (("sleep", "1.5m"), (0, 90.0)),
        (("sleep", "infinity"), (0, inf)),
        (("sh", "-c", "exit 3"), (3, 0.0)),
        (("/bin/bash", "-c", "echo 'a; b'; sleep 2; exit $CODE"), (7, 2.0)),
        (("sh", "-c", "exit $(CODE)"), (7, 0.0)),
        (("sh", "-c", "false; true; false"), (1, 0.0)),
        (("sh", "-c", "[ $NODE == n ]"), (0, 0.0)),
        (("sh", "-c", 'if test "$NODE" != n; then exit 5; fi; sleep 1'), (0, 1.0)),
        (("sh", "-c", "if true; then if false; then exit 1; else exit 2; fi; fi"), (2, 0.0)),
    ],
)
def test_simple_commands_have_an_outcome(words: tuple[str, ...], expected: tuple[int, float]) -> None:
    assert outcome(*words) == expected


@pytest.mark.parametrize(
    "words",
    [
        ("nginx",),
        ("exit", "1"),
        ("sh", "-c", "exit $((RANDOM / 2))"),
        ("sh", "-c", "exit 1 || true"),
        ("sh", "-c", "true && exit 1"),
        ("sh", "-c", "while true; do sleep 1; done"),
        ("sh", "-c", "if true; then true"),
        ("sh", "-c", "echo 'a"),
        ("sh", "-c", "sleep 1 & exit 1"),
        ("sh", "-c", "exit $(expr 1 % 0)"),
        ("sh", "-c", "[ a -eq b ]"),
        ("sh", "-c", "if " * 1000),
        ("sh", "-ec", "exit 1"),
    ],
)
def test_other_commands_have_none(words: tuple[str, ...]) -> None:
    assert outcome(*words) is None


def test_scripts_read_variables_from_fields_of_the_pod() -> None:
    assert outcome("sh", "-c", _ODD, index="3") == (1, 0.0)
    assert outcome("sh", "-c", _ODD, index="4") == (0, 0.0)


def test_files_stay_over_restarts() -> None:
    assert outcome("sh", "-c", _ONCE) == (42, 0.0)
    assert outcome("sh", "-c", _ONCE, count=1) == (0, 0.0)


def test_commands_of_images_have_no_outcome() -> None:
    assert outcome_of({"metadata": {}, "spec": {}}, {"args": ["false"]}, 0) is None


def test_only_commands_that_are_known_to_fail_fail_probes() -> None:
    assert [succeeds(words) for words in (["/bin/false"], ["sh", "-c", "exit 1"], ["cat", "x"], [], ["true"])] == [
        False,
        False,
        True,
        True,
        True,
    ]
