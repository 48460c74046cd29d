"""Errors of the server in one line, and those of several objects."""

from __future__ import annotations

import pytest
import yaml

from orchd.client.errors import UnreachableError
from orchd.ctl.errors import CommandError, Failures, explain_api_error, explain_yaml_error
from orchd.errors import ApiError

CONFLICT = {"causes": [{"reason": "FieldManagerConflict"}]}


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ApiError(401, "Unauthorized", "no"), "no: check the credentials of the current context (config view)"),
        (ApiError(403, "Forbidden", "no"), "no: auth can-i --list shows what the current user may do"),
        (ApiError(406, "NotAcceptable", "no"), "no: the server has no table of this resource: use -o yaml"),
        (ApiError(500, "", " a\n\n b \n"), "a; b"),
        (ApiError(502, "", "\n"), "the server responded with 502"),
        (ApiError(404, "NotFound", "no"), "no: check the name; api-resources lists what the server has"),
        (ApiError(404, "NotFound", "no", details={"name": "p"}), "no"),
        (ApiError(409, "Conflict", "no", details=CONFLICT), "no: --force-conflicts takes over the fields"),
        (ApiError(409, "Conflict", "no"), "no"),
        (ApiError(422, "Invalid", "no", details=CONFLICT), "no"),
    ],
)
def test_lines(error: ApiError, line: str) -> None:
    """What the server says, and what to do about it."""
    assert explain_api_error(error) == line


def test_errors_of_several_objects() -> None:
    """One error is raised as it is; of several each message is told once."""
    failures = Failures()
    failures.raise_collected()
    assert not failures
    with failures.collect(missing_ok=True):
        raise ApiError(404, "NotFound", "gone")
    assert not failures
    only = ApiError(404, "NotFound", "gone", details={"name": "p"})
    with failures.collect():
        raise only
    with pytest.raises(ApiError) as raised:
        failures.raise_collected()
    assert raised.value is only and failures
    for error in (CommandError("b"), CommandError("b"), ApiError(500, "", "c")):
        with failures.collect(missing_ok=True):
            raise error
    with pytest.raises(CommandError) as several:
        failures.raise_collected()
    assert several.value.messages == ("gone", "b", "c")
    with pytest.raises(UnreachableError), failures.collect():
        raise UnreachableError("https://s", "refused")


def test_problems_of_yaml() -> None:
    with pytest.raises(yaml.YAMLError) as raised:
        yaml.safe_load("a: b\nc: [")
    assert (
        explain_yaml_error("f", raised.value)
        == "f line 2: not YAML: expected the node content, but found '<stream end>'"
    )
    assert explain_yaml_error("f", yaml.YAMLError()) == "f: not YAML: cannot be read"
