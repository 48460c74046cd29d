"""Validation of accepted objects with one member changed, against recorded responses of the reference."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from tests.kinds.objects.validate.recorded_cases import Replay
from tests.kinds.objects.validate.test_validate_recorded import NONE, differing


def _changed(obj: Any, path: list[str | int], value: Any) -> Any:
    """`obj` with another value at `path`, or without one if it is None."""
    step, *more = path
    if isinstance(step, int):
        items = [] if value is None and not more else [_changed(obj[step], more, value) if more else value]
        return [*obj[:step], *items, *obj[step + 1 :]]
    if more:
        return {**obj, step: _changed(obj[step], more, value)}
    return {name: old for name, old in obj.items() if name != step} if value is None else {**obj, step: value}


def _request(facts: Any, case: list[Any]) -> Any:
    """A case in the form of `validation.json`: the creation of a base, or its update, with a changed member."""
    name, method, path, value, code, *refusal = case
    where, base = facts["bases"][name]
    answer: dict[str, Any] = {"code": code}
    if refusal:
        causes, text = refusal
        answer |= {"causes": causes, "message": f' "" is invalid: {text}'}
    label = f"{name} {method} {path} {value}"
    if method == "POST":
        body = _changed(base, path, value)
        return {"id": label, "req": {"m": "POST", "p": where, "body": body}, "ans": answer}
    setup = [{"m": "POST", "p": where, "body": base}]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
    request = {"m": "PUT", "p": f"{where}/{base['metadata']['name']}", "live_with": {place: copy.deepcopy(value)}}
    return {"id": label, "setup": setup, "req": request, "ans": answer}


@pytest.mark.parametrize(("release", "file"), [(SPECIFICATION, "variations"), (NEWEST, "1.35/variations")])
def test_changed_members_are_judged_as_recorded(reference: Callable[[str], Any], release: Release, file: str) -> None:
    """The causes and the message of each variation are the reference's."""
    facts, replay = reference(file), Replay(release)
    recorded = [_request(facts, case) for case in facts["cases"]]
    cases = list(replay.cases(recorded))
    assert len(cases) == len(recorded)
    assert differing(cases, replay.settings) == (NONE, NONE)
