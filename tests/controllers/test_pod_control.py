"""Creation and deletion of pods for an owner: preconditions and Events."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.pod_control import PodControl
from orchd.errors import ApiError
from orchd.testing.doubles.server import run

OWNER = {"metadata": {"namespace": "n", "name": "r", "uid": "u"}}
POD = {"metadata": {"namespace": "n", "name": "p", "uid": "uid-p"}}
TERMINATING = {"causes": [{"reason": "NamespaceTerminating"}]}


class Api:
    """Records requests; fails them with `error`."""

    def __init__(self, error: ApiError | None) -> None:
        self.error = error
        self.asked: list[tuple[Any, ...]] = []

    async def create(self, ref: Any, namespace: str, obj: Any) -> Any:
        return self._answer("create", namespace, obj["metadata"]["name"])

    async def delete(self, ref: Any, namespace: str, name: str, *, options: Any, need_response: bool) -> Any:
        return self._answer("delete", namespace, name, options)

    def _answer(self, *asked: Any) -> Any:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return POD


class Recorder:
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, regarding: Any, type: str, reason: str, note: str, **more: Any) -> None:
        self.notes.append((reason, note))


@pytest.mark.parametrize(
    ("error", "raised", "notes"),
    [
        (None, False, [("SuccessfulDelete", "Deleted pod: p")]),
        (ApiError(404, "NotFound", "gone"), False, []),
        (ApiError(409, "Conflict", "another"), False, []),
        (ApiError(403, "Forbidden", "no"), True, [("FailedDelete", "Error deleting: no")]),
    ],
)
def test_pod_deletion_has_a_uid_precondition(
    error: ApiError | None, raised: bool, notes: list[tuple[str, str]]
) -> None:
    """A pod is deleted only with the chosen uid; one that is gone or replaced is no failure."""
    api, recorder = Api(error), Recorder()
    pod_control: Any = PodControl(api, recorder, "apps/v1", "ReplicaSet")  # type: ignore[arg-type]  # doubles with what is used
    if raised:
        with pytest.raises(ApiError):
            run(pod_control.delete(OWNER, POD))
    else:
        run(pod_control.delete(OWNER, POD))
    assert api.asked == [("delete", "n", "p", {"preconditions": {"uid": "uid-p"}})]
    assert recorder.notes == notes


@pytest.mark.parametrize(
    ("error", "notes"),
    [
        (None, [("SuccessfulCreate", "Created pod: p")]),
        (ApiError(403, "Forbidden", "quota"), [("FailedCreate", "Error creating: quota")]),
        (ApiError(403, "Forbidden", "terminating", details=TERMINATING), []),
    ],
)
def test_pod_creation_is_recorded_unless_the_namespace_terminates(
    error: ApiError | None, notes: list[tuple[str, str]]
) -> None:
    """Success and failure are recorded, except failures because the namespace is terminating."""
    api, recorder = Api(error), Recorder()
    pod_control: Any = PodControl(api, recorder, "apps/v1", "ReplicaSet")  # type: ignore[arg-type]  # doubles with what is used
    if error is None:
        run(pod_control.create(OWNER, POD))
    else:
        with pytest.raises(ApiError):
            run(pod_control.create(OWNER, POD))
    assert recorder.notes == notes
