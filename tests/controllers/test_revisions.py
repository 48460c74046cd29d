"""Revisions of templates: which one is used, created or renumbered, and which are deleted."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers import revisions
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from tests.controllers.recording_support import EXISTS, FORBIDDEN, MISSING, recording_client


def parent(image: str = "x", *, collisions: int = 0, annotations: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"image": image}}
    return {
        "metadata": {"name": "s", "namespace": "a", "uid": "u", "annotations": annotations or {}},
        "spec": {"template": template, **spec},
        "status": {"collisionCount": collisions} if collisions else {},
    }


def revision(name: str, number: int, image: str = "x") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "a"}, "revision": number, "data": revisions.data_of(parent(image))}


def newest(client: Any, top: Any, *existing: Any) -> Any:
    return run(revisions.newest(client, top, "apps/v1", "StatefulSet", list(existing), "hash"))


def test_data_restores_the_template() -> None:
    data = revisions.data_of(parent())
    assert data["spec"]["template"]["$patch"] == "replace" and list(data["spec"]["template"]) == [
        "$patch",
        "metadata",
        "spec",
    ]
    assert revisions.template_of({"data": data}) == parent()["spec"]["template"]
    assert revisions.template_of({}) == {}


def test_first_revision_has_the_labels_of_the_template_and_the_annotations_of_its_owner() -> None:
    client = recording_client()
    created, collisions = newest(client, parent(annotations={"b": "c"}))
    hashed = created["metadata"]["labels"]["hash"]
    assert collisions == 0 and client.calls == [("create", "controllerrevisions", f"s-{hashed}")]
    assert created["metadata"] == {
        "name": f"s-{hashed}",
        "namespace": "a",
        "labels": {"app": "a", "hash": hashed},
        "annotations": {"b": "c"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u",
                "controller": True, "blockOwnerDeletion": True,
            }
        ],
    }  # fmt: skip
    assert created["revision"] == 1 and created["data"] == revisions.data_of(parent())
    assert "annotations" not in newest(recording_client(), parent())[0]["metadata"]


@pytest.mark.parametrize(
    ("existing", "call", "number"),
    [
        ([revision("r1", 1), revision("r2", 2, "y")], ("update", "controllerrevisions", "r1"), 3),
        ([revision("r2", 2, "y"), revision("r1", 1)], ("update", "controllerrevisions", "r1"), 3),
        ([revision("r1", 1), revision("r2", 2), revision("r3", 3, "y")], ("update", "controllerrevisions", "r2"), 4),
        ([revision("r1", 1, "y"), revision("r2", 2)], None, 2),
        ([revision("a", 2, "y"), revision("b", 2)], None, 2),
        ([revision("r1", 7, "y")], ("create", "controllerrevisions", ""), 8),
    ],
)
def test_equal_revision_is_used_again(existing: list[Any], call: tuple[str, ...] | None, number: int) -> None:
    """The newest equal one, which becomes the newest of all if it is not."""
    client = recording_client()
    result, _ = newest(client, parent(), *existing)
    assert result["revision"] == number
    if call is None:
        assert not client.calls
    else:
        (sent,) = client.calls
        assert sent[:2] == call[:2] and (not call[2] or sent[2] == call[2])


def test_collisions_change_the_name() -> None:
    """A revision of the name with our data and owner is ours; otherwise the next number of collisions is tried."""
    first, _ = newest(recording_client(), parent())
    second, collisions = newest(recording_client(), parent(collisions=1))
    assert collisions == 1 and first["metadata"]["name"] != second["metadata"]["name"]
    assert newest(recording_client(first, create=EXISTS), parent()) == (first, 0)
    changes: tuple[dict[str, Any], ...] = (
        {"data": {}},
        {"metadata": {**first["metadata"], "ownerReferences": [{"uid": "other"}]}},
    )
    for change in changes:
        client = recording_client(
            {**first, **change, "metadata": change.get("metadata", first["metadata"])}, second, create=EXISTS
        )
        assert newest(client, parent()) == (second, 1)
    with pytest.raises(ApiError):
        newest(recording_client(create=FORBIDDEN), parent())


@pytest.mark.parametrize(
    ("limit", "live", "names"),
    [(1, (), ["r1", "r2"]), (1, ("r1",), ["r2"]), (0, ("r3",), ["r1", "r2"]), (3, (), []), (None, (), [])],
)
def test_oldest_unused_revisions_are_deleted(limit: int | None, live: tuple[str, ...], names: list[str]) -> None:
    """Beyond the limit, ten by default; one that is gone is no error."""
    existing = [revision("r3", 3), revision("r1", 1), revision("r2", 2)]
    spec: dict[str, Any] = {} if limit is None else {"revisionHistoryLimit": limit}
    top = parent(**spec)
    for failures in ({}, {"delete": MISSING}):
        client = recording_client(**failures)
        run(revisions.truncate(client, top, existing, live))
        assert [name for _, _, name in client.calls] == names
    if names:
        refusing = recording_client(delete=FORBIDDEN)
        with pytest.raises(ApiError):
            run(revisions.truncate(refusing, top, existing, live))


def test_ten_revisions_are_kept_by_default() -> None:
    client = recording_client()
    run(revisions.truncate(client, parent(), [revision(f"r{number}", number) for number in range(12)], ()))
    assert [name for _, _, name in client.calls] == ["r0", "r1"]
