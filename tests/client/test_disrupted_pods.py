"""The patches that mark and fail disrupted pods."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.disrupted_pods import DisruptedPods
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.testing.doubles.server import run

PODS = ResourceRef("", "v1", "pods")
NOW, TIME = 1_700_000_000.0, "2023-11-14T22:13:20Z"
MARK = {"type": "DisruptionTarget", "status": "True", "reason": "R", "message": "m"}


class Patches:
    """A client that records patches; each fails with `code`, if that is not 0."""

    def __init__(self, code: int = 0) -> None:
        self.statuses: list[Any] = []
        self._code = code

    async def patch(self, ref: ResourceRef, namespace: str, name: str, patch: Any, **options: Any) -> None:
        assert (ref, namespace, name) == (PODS, "a", "p")
        assert options == {"content_type": "application/strategic-merge-patch+json", "subresource": "status"}
        assert patch["metadata"] == {"uid": "u"}
        self.statuses.append(patch["status"])
        if self._code:
            raise ApiError(self._code, "", "")


def pod(generation: int = 0, phase: str = "Running", *conditions: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "a", "uid": "u", **({"generation": generation} if generation else {})}
    return {"metadata": metadata, "status": {"phase": phase, "conditions": list(conditions)}}


@pytest.mark.parametrize(
    ("disrupted", "expected"),
    [
        (pod(), {**MARK, "lastTransitionTime": TIME}),
        (pod(3), {**MARK, "lastTransitionTime": TIME, "observedGeneration": 3}),
        (pod(0, "Succeeded"), {**MARK, "lastTransitionTime": TIME}),
        (pod(0, "Running", {**MARK, "status": "False"}), {**MARK, "lastTransitionTime": TIME}),
        (pod(0, "Running", {**MARK, "reason": "other"}), MARK),
        (pod(0, "Running", {**MARK, "message": "other"}), MARK),
        (pod(0, "Running", {**MARK, "type": "Ready"}), {**MARK, "lastTransitionTime": TIME}),
        (pod(3, "Running", {**MARK, "lastTransitionTime": "earlier"}), None),
    ],
)
def test_mark_sets_the_condition(disrupted: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """The time changes with the status only; a pod that has the condition is not patched."""
    client: Any = Patches()
    run(DisruptedPods(client, lambda: NOW).mark(disrupted, "R", "m"))
    assert client.statuses == ([{"conditions": [expected]}] if expected else [])


@pytest.mark.parametrize(
    ("disrupted", "reason", "expected"),
    [
        (pod(), "", {"phase": "Failed"}),
        (pod(2), "", {"phase": "Failed", "observedGeneration": 2}),
        (pod(), "R", {"phase": "Failed", "conditions": [{**MARK, "lastTransitionTime": TIME}]}),
        (pod(0, "Running", MARK), "R", {"phase": "Failed"}),
        (pod(0, "Succeeded"), "R", None),
        (pod(0, "Failed"), "R", None),
    ],
)
def test_fail_ends_a_pod(disrupted: dict[str, Any], reason: str, expected: dict[str, Any] | None) -> None:
    """A pod that has not finished gets the phase Failed, and the condition if there is a reason."""
    client: Any = Patches()
    run(DisruptedPods(client, lambda: NOW).fail(disrupted, reason, "m"))
    assert client.statuses == ([expected] if expected else [])


@pytest.mark.parametrize(("code", "raises"), [(404, False), (409, False), (403, True), (500, True)])
def test_pods_that_are_gone_need_no_mark(code: int, raises: bool) -> None:
    client: Any = Patches(code)
    pods = DisruptedPods(client, lambda: NOW)
    if raises:
        with pytest.raises(ApiError):
            run(pods.mark(pod(), "R", "m"))
    else:
        run(pods.mark(pod(), "R", "m"))
    assert len(client.statuses) == 1
