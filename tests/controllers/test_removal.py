"""Deletions by controllers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller
from orchd.errors import ApiError
from orchd.testing.doubles.results import result_of

PODS = ResourceRef("", "v1", "pods")


def remove(error: ApiError | None, **choices: Any) -> Any:
    """Delete a pod of a server that responds with `error`; the options of the request."""
    sent: list[Any] = []

    async def delete(ref: ResourceRef, namespace: str, name: str, *, options: Any, need_response: bool) -> None:
        sent.append(options)
        if error is not None:
            raise error

    controller: Any = SimpleNamespace(client=SimpleNamespace(delete=delete))
    result_of(Controller.remove(controller, PODS, "a", "p", **choices))
    return sent[0]


def test_options_of_a_deletion() -> None:
    """A deletion has a precondition, a propagation and a grace period only if they are chosen; a grace period may be
    0."""
    assert remove(None) == {}
    assert remove(None, uid="u", propagation="Orphan", grace=0) == {
        "preconditions": {"uid": "u"}, "propagationPolicy": "Orphan", "gracePeriodSeconds": 0,
    }  # fmt: skip


def test_missing_object_is_removed() -> None:
    """An object that does not exist, or with `uid` one that was replaced, needs no deletion."""
    assert remove(errors.not_found("", "pods", "p")) == {}
    assert remove(errors.conflict("", "pods", "p", "uid"), uid="u") == {"preconditions": {"uid": "u"}}


@pytest.mark.parametrize(
    ("error", "uid"),
    [
        (errors.conflict("", "pods", "p", "another"), ""),
        (errors.forbidden("", "pods", "p", "why"), "u"),
        (errors.forbidden("", "pods", "p", "why"), ""),
    ],
)
def test_refused_deletion(error: ApiError, uid: str) -> None:
    """Any other refusal is raised."""
    with pytest.raises(ApiError) as raised:
        remove(error, uid=uid)
    assert raised.value.code == error.code
