"""Custom kinds with webhook conversion, on a whole server with a webhook double."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.server.customkinds.conversion_webhook import ConversionWebhook
from orchd.testing.doubles.server import InProcessServer, run
from orchd.txkit.compute_thread import LARGE, ComputeThread

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
V1 = ResourceRef("example.com", "v1", "things")
V2 = ResourceRef("example.com", "v2", "things")


class Webhook:
    """Converts spec.old of v1 to spec.new of v2 and back. `spoil` changes its responses."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.spoil: dict[str, Any] = {}

    async def post(self, where: Any, document: dict[str, Any], seconds: float) -> dict[str, Any]:
        request = document["request"]
        to = request["desiredAPIVersion"]
        self.calls.append((to, len(request["objects"])))
        member = {"example.com/v1": "old", "example.com/v2": "new"}[to]
        converted = [
            {**obj, "apiVersion": to, "spec": dict(zip([member], (obj.get("spec") or {}).values(), strict=False))}
            for obj in request["objects"]
        ]
        response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}, **self.spoil}
        return {"apiVersion": document["apiVersion"], "kind": document["kind"], "response": response}


def version(name: str, member: str, *, storage: bool) -> dict[str, Any]:
    spec = {"type": "object", "properties": {member: {"type": "string", "maxLength": 5}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


@pytest.fixture
def server(restored_server: InProcessServer) -> InProcessServer:
    return restored_server


@pytest.fixture
def webhook(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> Webhook:
    played = Webhook()
    monkeypatch.setattr(server.server.outbound.webhooks, "post", played.post)
    hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}}
    definition = {
        "apiVersion": f"{DEFINITIONS.group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "conversion": {"strategy": "Webhook", "webhook": hook},
            "versions": [version("v1", "old", storage=True), version("v2", "new", storage=False)],
        },
    }
    run(server.client().create(DEFINITIONS, "", definition))
    return played


def thing(version: str, name: str = "a", **spec: str) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def test_reads_convert_with_one_call(server: InProcessServer, webhook: Webhook) -> None:
    """The storage version is read without the webhook; another version takes one call, also for a list."""
    admin = server.client()
    for name in ("a", "b"):
        run(admin.create(V1, "default", thing("v1", name, old="x")))
    assert run(admin.get(V1, "default", "a"))["spec"] == {"old": "x"}
    assert webhook.calls == []
    shown = run(admin.get(V2, "default", "a"))
    assert (shown["apiVersion"], shown["spec"]) == ("example.com/v2", {"new": "x"})
    listed = run(admin.list(V2, "default"))
    assert [item["spec"] for item in listed["items"]] == [{"new": "x"}, {"new": "x"}]
    assert webhook.calls == [("example.com/v2", 1), ("example.com/v2", 2)]


def test_writes_are_stored_in_the_storage_version(server: InProcessServer, webhook: Webhook) -> None:
    """Writes in any version are validated by its schema and stored in the storage version."""
    admin = server.client()
    stored_thing = run(admin.create(V2, "default", thing("v2", new="x")))
    assert (stored_thing["apiVersion"], stored_thing["spec"]) == ("example.com/v2", {"new": "x"})
    assert run(admin.get(V1, "default", "a"))["spec"] == {"old": "x"}
    stored_thing = run(admin.update(V2, "default", "a", {**stored_thing, "spec": {"new": "y"}}))
    assert (stored_thing["spec"], stored_thing["metadata"]["generation"]) == ({"new": "y"}, 2)
    patched = run(admin.patch(V2, "default", "a", {"spec": {"new": "z"}}, content_type="application/merge-patch+json"))
    assert patched["spec"] == {"new": "z"}
    assert run(admin.get(V1, "default", "a"))["spec"] == {"old": "z"}
    with pytest.raises(ApiError) as caught:
        run(admin.create(V2, "default", thing("v2", "b", new="too long")))
    assert caught.value.code == 422
    assert "spec.new" in caught.value.message
    run(admin.delete(V2, "default", "a"))
    with pytest.raises(ApiError) as caught:
        run(admin.get(V1, "default", "a"))
    assert caught.value.code == 404


def created_object(**members: Any) -> dict[str, Any]:
    """A response with one object."""
    return {
        "convertedObjects": [{"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "a"}, **members}]
    }


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"result": "fine"}, "failed: response.result is of type string"),
        ({"convertedObjects": []}, "returned 0 objects, expected 1"),
        ({"uid": "zz"}, "failed: expected response.uid="),
        ({"result": {"status": "Failure", "message": "cannot"}}, "failed: cannot"),
        ({"result": {}}, "failed: response.result.status was '', not 'Success'"),
        (
            created_object(apiVersion="example.com/v9"),
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v9)",
        ),
        (
            created_object(kind="Other"),
            "returned invalid object at index 0: invalid kind (expected Thing, received Other)",
        ),
        (created_object(metadata={"name": "z"}), "returned invalid object: must have the same name: a != z"),
        (
            created_object(metadata={"name": "a", "namespace": "default", "labels": {"a": 1}}),
            "returned invalid object: must have the same UID: ",
        ),
    ],
)
def test_invalid_conversion_responses_are_500(
    server: InProcessServer, webhook: Webhook, spoil: dict[str, Any], message: str
) -> None:
    """An invalid response is a 500 error that names the problem."""
    run(server.client().create(V1, "default", thing("v1", old="x")))
    webhook.spoil = spoil
    with pytest.raises(ApiError) as caught:
        run(server.client().get(V2, "default", "a"))
    assert caught.value.code == 500
    assert caught.value.message.startswith("conversion webhook for example.com/v1, Kind=Thing ")
    assert message in caught.value.message


METADATA = [
    ({"labels": {"a": 1}}, "metadata.labels[a] must be a string, but is int64 in converted object"),
    ({"annotations": []}, "invalid metadata.annotations of type []interface {} in converted object"),
    ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be'),
]


@pytest.mark.parametrize(("metadata", "message"), METADATA)
def test_webhook_may_change_labels_and_annotations_only(
    server: InProcessServer, webhook: Webhook, metadata: dict[str, Any], message: str
) -> None:
    """The webhook may change labels and annotations to valid ones; other metadata is restored."""
    stored = run(server.client().create(V1, "default", thing("v1", old="x")))
    webhook.spoil = created_object(metadata={**stored["metadata"], **metadata})
    with pytest.raises(ApiError) as caught:
        run(server.client().get(V2, "default", "a"))
    assert f"returned invalid metadata: {message}" in caught.value.message
    webhook.spoil = created_object(metadata={**stored["metadata"], "labels": {"l": "m"}, "generation": 99})
    shown = run(server.client().get(V2, "default", "a"))["metadata"]
    assert (shown["labels"], shown["generation"]) == ({"l": "m"}, 1)


def test_list_error_is_that_of_the_object(server: InProcessServer, webhook: Webhook) -> None:
    """An object that fails to convert in a list gives the error that a get of it gives."""
    admin = server.client()
    for name in ("a", "b"):
        run(admin.create(V1, "default", thing("v1", name, old="x")))
    webhook.spoil = {"convertedObjects": []}
    with pytest.raises(ApiError, match="returned 0 objects, expected 1"):
        run(admin.list(V2, "default"))
    assert [count for _, count in webhook.calls] == [2, 1]


def owners(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Owned fields of the spec, by manager and version."""
    found = {}
    for entry in obj["metadata"].get("managedFields") or ():
        fields = sorted((entry["fieldsV1"].get("f:spec") or {}).keys() - {"."})
        found[entry["manager"], entry["apiVersion"].rpartition("/")[2]] = fields
    return found


def patched(
    server: InProcessServer, version: str, manager: str, content: str, *, force: bool = False, **spec: str
) -> Any:
    query = f"fieldManager={manager}" + ("&force=true" if force else "")
    path = f"/apis/example.com/{version}/namespaces/default/things/a?{query}"
    headers = {"Content-Type": f"application/{content}"}
    return run(server.request("PATCH", path, body=thing(version, "a", **spec), headers=headers))


def test_ownership_across_versions(server: InProcessServer, webhook: Webhook) -> None:
    """Ownership of a field in one version is lost when another version changes the field, and preserved otherwise."""
    assert patched(server, "v1", "one", "apply-patch+yaml", old="x").code == 201
    merged = patched(server, "v2", "two", "merge-patch+json", new="x").json
    assert owners(merged) == {("one", "v1"): ["f:old"]}
    merged = patched(server, "v2", "two", "merge-patch+json", new="y").json
    assert owners(merged) == {("two", "v2"): ["f:new"]}
    stored = run(server.client().get(V1, "default", "a"))
    assert (stored["spec"], owners(stored)) == ({"old": "y"}, {("two", "v2"): ["f:new"]})


def test_apply_conflicts_across_versions(server: InProcessServer, webhook: Webhook) -> None:
    """An apply in one version conflicts with managers that applied in another."""
    assert patched(server, "v1", "one", "apply-patch+yaml", old="x").code == 201
    refused = patched(server, "v2", "two", "apply-patch+yaml", new="y")
    assert refused.code == 409
    assert refused.json["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.old"}
    ]
    shared = patched(server, "v2", "two", "apply-patch+yaml", new="x").json
    assert owners(shared) == {("one", "v1"): ["f:old"], ("two", "v2"): ["f:new"]}
    taken = patched(server, "v2", "two", "apply-patch+yaml", force=True, new="y").json
    assert owners(taken) == {("two", "v2"): ["f:new"]}


def test_applier_can_change_its_version(server: InProcessServer, webhook: Webhook) -> None:
    """An applier that changes its version keeps the fields that it applies again and gives up the others."""
    assert patched(server, "v1", "one", "apply-patch+yaml", old="x").code == 201
    moved = patched(server, "v2", "one", "apply-patch+yaml", new="x").json
    assert owners(moved) == {("one", "v2"): ["f:new"]}
    left = patched(server, "v1", "one", "apply-patch+yaml").json
    assert left["spec"] == {} and owners(left) == {("one", "v1"): []}


def test_ownership_is_dropped_when_the_webhook_fails(server: InProcessServer, webhook: Webhook) -> None:
    """Without the webhook a write in the storage version succeeds and drops all owners, since those of other versions
    cannot be compared; an apply fails."""
    assert patched(server, "v2", "two", "apply-patch+yaml", new="x").code == 201
    webhook.spoil = {"result": {"status": "Failure", "message": "cannot"}}
    stored = patched(server, "v1", "one", "merge-patch+json", old="y")
    assert stored.code == 200
    assert (stored.json["spec"], owners(stored.json)) == ({"old": "y"}, {})
    assert patched(server, "v2", "two", "apply-patch+yaml", new="x").code == 500


def test_large_results_of_a_conversion_use_another_thread(
    server: InProcessServer, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a webhook makes of small objects may be large: its shape is checked, and it is encoded, in another
    thread."""
    client = server.client()
    metadata = run(client.create(V1, "default", thing("v1", old="a")))["metadata"]
    others: list[str] = []

    async def call(self: ComputeThread, size: int, function: Any, *arguments: Any) -> Any:
        if size > LARGE:
            others.append(function.__name__)
        return function(*arguments)

    monkeypatch.setattr(ComputeThread, "__call__", call)
    run(client.get(V2, "default", "a"))
    assert others == []
    labels = {f"k{number}": "v" for number in range(5000)}
    webhook.spoil = {"convertedObjects": [{**thing("v2", new="a"), "metadata": {**metadata, "labels": labels}}]}
    stored_thing = run(client.get(V2, "default", "a"))
    assert stored_thing["metadata"]["labels"] == labels and others[:2] == ["_shaped", "_encode_all"]


@pytest.mark.parametrize(
    ("spoil", "result"),
    [
        ({}, ("success", "")),
        ({"result": {"status": "Failure"}}, ("failure", "conversion_webhook_malformed_response_failure")),
        ({"convertedObjects": []}, ("failure", "conversion_webhook_partial_response_failure")),
        (
            created_object(apiVersion="example.com/v9"),
            ("failure", "conversion_webhook_invalid_converted_object_failure"),
        ),
    ],
)
def test_calls_are_measured_in_later_releases(spoil: Any, result: tuple[str, str]) -> None:
    """Calls are counted by their result and the type of a failure."""
    webhook = Webhook()
    webhook.spoil = spoil
    resource: Any = SimpleNamespace(
        plural="things", group="example.com", kind="Thing", converter={"conversionReviewVersions": ["v1"]}
    )
    convert = ConversionWebhook(webhook, ORCH, lambda: "u", NEWEST)
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"old": "x"}}
    with suppress(ApiError):
        run(convert(resource, [obj], "example.com/v2"))
    (total,) = (each for each in convert.instruments if each.name == "apiserver_conversion_webhook_request_total")
    assert [tuple(each.labels.values()) for each in total.family().samples] == [result]
    assert len(ConversionWebhook(webhook, ORCH, lambda: "u").instruments) == 1
