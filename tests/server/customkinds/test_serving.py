"""Custom kinds on a whole server, from the definition to the deletion of their objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from zope.interface.verify import verifyObject

from orchd.cache.interfaces import ICache
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.ir import Type
from orchd.server.customkinds.schema_upgrade import UpgradingCache
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.server import InProcessServer, make_server, run

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
THINGS = ResourceRef("example.com", "v1", "things")
PATH = "/apis/example.com/v1/namespaces/default/things"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


def definition(
    spec: dict[str, Any] | None = None, *, name: str = "things", kind: str = "Thing", **more: Any
) -> dict[str, Any]:
    """A definition whose objects have `spec`."""
    properties = {"spec": {"type": "object", "properties": spec or {"a": {"type": "string"}}}}
    schema = {"type": "object", "properties": properties}
    return {
        "apiVersion": f"{DEFINITIONS.group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": name, "kind": kind},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}
            ],
        },
    }


def thing(name: str = "one", **members: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, **members}


def conditions(obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in obj["status"]["conditions"] or ()}


def test_defined_kind_is_served_at_once(server: InProcessServer) -> None:
    """Objects can be created as soon as the definition's create is answered."""
    admin = server.client()
    stored_definition = run(admin.create(DEFINITIONS, "", definition()))
    assert stored_definition["status"]["storedVersions"] == ["v1"] and stored_definition["status"]["conditions"] is None
    assert conditions(run(admin.get(DEFINITIONS, "", "things.example.com"))) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    stored = run(admin.create(THINGS, "default", thing(spec={"a": "x", "unknown": 1})))
    assert stored["spec"] == {"a": "x"} and stored["metadata"]["generation"] == 1
    listed = run(server.request("GET", "/apis/example.com/v1")).json
    assert [r["name"] for r in listed["resources"]] == ["things"]
    service = run(admin.get(ResourceRef(ORCH("apiregistration.{abbr}.io"), "v1", "apiservices"), "", "v1.example.com"))
    assert service["metadata"]["labels"] == {ORCH("{short}-aggregator.{long}.io/automanaged"): "true"}


def test_schema_is_enforced_and_changes_raise_the_generation(server: InProcessServer) -> None:
    """Invalid objects are rejected; every change outside metadata raises the generation; PUT needs a
    resourceVersion."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    with pytest.raises(ApiError, match="must be of type string"):
        run(admin.create(THINGS, "default", thing(spec={"a": 1})))
    with pytest.raises(ApiError, match='kind: Invalid value: "Other": must be Thing'):
        run(admin.create(THINGS, "default", {**thing(), "kind": "Other"}))
    stored = run(admin.create(THINGS, "default", thing(spec={"a": "x"})))
    labelled = {**stored, "metadata": {**stored["metadata"], "labels": {"l": "m"}}}
    stored = run(admin.update(THINGS, "default", "one", labelled))
    assert stored["metadata"]["generation"] == 1
    stored = run(admin.update(THINGS, "default", "one", {**stored, "spec": {"a": "y"}}))
    assert stored["metadata"]["generation"] == 2
    with pytest.raises(ApiError, match="must be specified for an update"):
        run(admin.update(THINGS, "default", "one", thing(spec={"a": "z"})))


def test_status_subresource_separates_status(server: InProcessServer) -> None:
    """With the subresource only /status changes the status; without it the path does not exist."""
    admin = server.client()
    whole = definition(subresources={"status": {}})
    schema = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"] = {"type": "object", "x-orch-preserve-unknown-fields": True}
    run(admin.create(DEFINITIONS, "", whole))
    stored = run(admin.create(THINGS, "default", thing(spec={"a": "x"}, status={"s": 1})))
    assert "status" not in stored
    changed = {**stored, "spec": {"a": "y"}, "status": {"s": 2}}
    changed["metadata"] = {**stored["metadata"], "labels": {"l": "m"}}
    stored = run(admin.update(THINGS, "default", "one", changed, subresource="status"))
    assert (stored["spec"], stored["status"]) == ({"a": "x"}, {"s": 2})
    assert "labels" not in stored["metadata"] and stored["metadata"]["generation"] == 1
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    current["spec"]["versions"][0].pop("subresources")
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    response = run(server.request("GET", f"{PATH}/one/status"))
    assert (response.code, response.json["message"]) == (404, 'things.example.com "one" not found')


def test_existing_objects_are_read_with_the_new_schema(server: InProcessServer) -> None:
    """Objects from before a schema change are pruned and defaulted by the new schema, in lists, gets and watches from
    earlier versions; the stored form changes with the next write."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition({"a": {"type": "string"}, "b": {"type": "string"}})))
    first = run(admin.create(THINGS, "default", thing(spec={"a": "x", "b": "y"})))
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    properties = {"a": {"type": "string"}, "c": {"type": "integer", "default": 3}}
    current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    read = run(admin.get(THINGS, "default", "one"))
    assert read["spec"] == {"a": "x", "c": 3}
    assert read["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert [o["spec"] for o in run(admin.list(THINGS, "default"))["items"]] == [{"a": "x", "c": 3}]
    stream = run(admin.watch(THINGS, "default", resource_version="0"))
    event = run(stream.next())
    assert event is not None and event.object["spec"] == {"a": "x", "c": 3}
    stream.close()


def test_custom_kind_cache_passes_the_contract(server: InProcessServer) -> None:
    """The wrapper of a custom kind's cache passes the contract of caches."""
    run(server.client().create(DEFINITIONS, "", definition()))
    resource = server.server.catalog.resource("example.com", "v1", "things")
    assert resource is not None
    cache = server.server.registry.cache(resource)
    assert isinstance(cache, UpgradingCache)
    verifyObject(ICache, cache)


def test_versions_share_objects_without_a_webhook(server: InProcessServer) -> None:
    """Without a webhook versions differ only in apiVersion and in the fields of their schemas."""
    admin = server.client()
    whole = definition({"a": {"type": "string"}})
    (version,) = whole["spec"]["versions"]
    other = {**version, "name": "v2", "storage": False}
    other["schema"] = definition({"a": {"type": "string"}, "b": {"type": "string"}})["spec"]["versions"][0]["schema"]
    whole["spec"]["versions"].append(other)
    run(admin.create(DEFINITIONS, "", whole))
    second = ResourceRef("example.com", "v2", "things")
    body = {**thing(spec={"a": "x", "b": "y"}), "apiVersion": "example.com/v2"}
    stored = run(admin.create(second, "default", body))
    assert stored["apiVersion"] == "example.com/v2"
    assert run(admin.get(THINGS, "default", "one"))["spec"] == {"a": "x"}


def test_storage_version_can_change(server: InProcessServer) -> None:
    """Objects of the previous storage version are served in every version, and storedVersions keeps that version."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    run(admin.create(THINGS, "default", thing(spec={"a": "x"})))
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    (version,) = current["spec"]["versions"]
    current["spec"]["versions"] = [{**version, "storage": False}, {**version, "name": "v2"}]
    changed = run(admin.update(DEFINITIONS, "", "things.example.com", current))
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    for name in ("v1", "v2"):
        read = run(admin.get(ResourceRef("example.com", name, "things"), "default", "one"))
        assert (read["apiVersion"], read["spec"]) == (f"example.com/{name}", {"a": "x"})


def test_conflicting_definition_waits_for_the_name(server: InProcessServer) -> None:
    """The second definition waits until the first one is deleted, then gets the name."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    run(admin.create(DEFINITIONS, "", definition(name="stuff")))
    waiting = run(admin.get(DEFINITIONS, "", "stuff.example.com"))
    assert conditions(waiting) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert run(server.request("GET", "/apis/example.com/v1/stuff")).code == 404
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    assert conditions(run(admin.get(DEFINITIONS, "", "stuff.example.com")))["Established"][0] == "True"


def test_deleting_a_definition_deletes_its_objects(server: InProcessServer) -> None:
    """Deleting a definition deletes its objects first; an object with a finalizer keeps both, and creates are
    rejected."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    run(admin.create(THINGS, "default", thing("free")))
    held = thing("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    held = run(admin.create(THINGS, "default", held))
    marked = run(admin.delete(DEFINITIONS, "", "things.example.com"))
    assert marked["metadata"]["finalizers"] == [ORCH("customresourcecleanup.apiextensions.{abbr}.io")]
    assert conditions(marked)["Terminating"] == ("True", "InstanceDeletionPending")
    left = run(admin.list(THINGS, "default"))["items"]
    assert [o["metadata"]["name"] for o in left] == ["held"]
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    assert conditions(current)["Terminating"] == ("True", "InstanceDeletionInProgress")
    with pytest.raises(ApiError, match="create not allowed while custom resource definition is terminating"):
        run(admin.create(THINGS, "default", thing("late")))
    released = {**left[0], "metadata": {k: v for k, v in left[0]["metadata"].items() if k != "finalizers"}}
    run(admin.update(THINGS, "default", "held", released))
    server.clock.advance(2)
    with pytest.raises(ApiError, match="not found"):
        run(admin.get(DEFINITIONS, "", "things.example.com"))
    assert run(server.request("GET", "/apis/example.com")).code == 404
    assert run(server.request("GET", PATH)).code == 404


def test_watches_end_with_the_definition(server: InProcessServer) -> None:
    """Watchers get the deletion of the objects; then their watch ends."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    run(admin.create(THINGS, "default", thing()))
    stream = run(admin.watch(THINGS, "default", resource_version="0"))
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    seen = []
    try:
        while (event := run(stream.next())) is not None:
            seen.append(event.type)
    except ApiError as error:
        seen.append(str(error.code))
    assert seen[:2] == ["ADDED", "DELETED"] and seen[2:] in ([], ["410"])


def test_paths_of_unserved_resources_are_404(server: InProcessServer) -> None:
    """In a group of custom kinds, unknown paths are 404."""
    run(server.client().create(DEFINITIONS, "", definition()))
    for path in ("/apis/example.com/v9/things", "/apis/example.com/v1/things/one"):
        response = run(server.request("GET", path))
        assert (response.code, response.body) == (404, b"404 page not found\n")


def test_foreign_finalizers_keep_a_definition(server: InProcessServer) -> None:
    """When the objects are gone only other finalizers are left, and a further delete changes nothing."""
    admin = server.client()
    whole = definition()
    whole["metadata"]["finalizers"] = ["example.com/hold"]
    run(admin.create(DEFINITIONS, "", whole))
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    for _ in range(2):
        current = run(admin.get(DEFINITIONS, "", "things.example.com"))
        assert current["metadata"]["finalizers"] == ["example.com/hold"]
        assert conditions(current)["Terminating"] == ("False", "InstanceDeletionCompleted")
        run(admin.delete(DEFINITIONS, "", "things.example.com"))


def test_webhook_conversion_is_never_skipped(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its webhook an object is never shown in another version unconverted."""

    async def nobody(*arguments: Any, **more: Any) -> dict[str, Any]:
        raise WebhookError("nobody there")

    monkeypatch.setattr(server.server.outbound.webhooks, "post", nobody)
    admin = server.client()
    whole = definition()
    (version,) = whole["spec"]["versions"]
    whole["spec"]["versions"].append({**version, "name": "v2", "storage": False})
    hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}}
    whole["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
    run(admin.create(DEFINITIONS, "", whole))
    run(admin.create(THINGS, "default", thing(spec={"a": "x"})))
    assert run(admin.get(THINGS, "default", "one"))["spec"] == {"a": "x"}
    second = PATH.replace("v1", "v2")
    for path in (f"{second}/one", second):
        response = run(server.request("GET", path))
        assert response.code == 500 and "conversion webhook for example.com/v1, Kind=Thing" in response.json["message"]
    stream = run(admin.watch(ResourceRef("example.com", "v2", "things"), "default", resource_version="0"))
    with pytest.raises(ApiError, match="conversion webhook for") as caught:
        run(stream.next())
    assert caught.value.code == 500


def test_definition_of_a_built_in_resource_serves_nothing(server: InProcessServer) -> None:
    """A definition of a built-in resource serves nothing, and its deletion deletes nothing else."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    whole = definition(name="customresourcedefinitions", kind="Other")
    whole["metadata"] = {
        "name": f"customresourcedefinitions.{DEFINITIONS.group}",
        "annotations": {ORCH("api-approved.{long}.io"): "unapproved"},
    }
    whole["spec"]["group"] = DEFINITIONS.group
    run(admin.create(DEFINITIONS, "", whole))
    assert len(run(admin.list(DEFINITIONS))["items"]) == 2
    run(admin.delete(DEFINITIONS, "", whole["metadata"]["name"]))
    assert [item["metadata"]["name"] for item in run(admin.list(DEFINITIONS))["items"]] == ["things.example.com"]
    assert run(admin.create(THINGS, "default", thing()))["kind"] == "Thing"


def test_remaining_instances_are_reported_after_a_minute(server: InProcessServer) -> None:
    """After a minute the condition of a terminating definition reports its remaining objects."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    held = thing("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    run(admin.create(THINGS, "default", held))
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    for _ in range(62):
        server.clock.advance(1)
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    assert conditions(current)["Terminating"] == ("True", "InstanceDeletionCheck")


def test_watches_of_an_unserved_version_end(server: InProcessServer) -> None:
    """When a version is no longer served its watches end orderly; those of other versions continue with the schema in
    force."""
    admin = server.client()
    whole = definition()
    (version,) = whole["spec"]["versions"]
    whole["spec"]["versions"].append({**version, "name": "v2", "storage": False})
    run(admin.create(DEFINITIONS, "", whole))
    first = run(admin.watch(THINGS, "default", resource_version="0"))
    second = run(admin.watch(ResourceRef("example.com", "v2", "things"), "default", resource_version="0"))
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    current["spec"]["versions"][1]["served"] = False
    properties = current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["b"] = {"type": "string", "default": "y"}
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    assert run(second.next()) is None
    run(admin.create(THINGS, "default", thing(spec={"a": "x"})))
    event = run(first.next())
    assert event is not None and event.object["spec"] == {"a": "x", "b": "y"}
    first.close()


def test_a_created_object_has_the_default_of_its_status(server: InProcessServer) -> None:
    """The status of a new object is the default of its schema, whatever was sent; one without a default has none."""
    status = {"type": "object", "default": {"phase": "Pending"}, "properties": {"phase": {"type": "string"}}}
    with_status = definition(subresources={"status": {}})
    with_status["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    run(server.client("admin").create(DEFINITIONS, "", with_status))
    server.clock.advance(5)
    for name, members in (("one", {}), ("two", {"status": {"phase": "Running"}})):
        created = run(server.client("admin").create(THINGS, "default", thing(name, **members)))
        assert created["status"] == {"phase": "Pending"}
        assert run(server.client("admin").get(THINGS, "default", name))["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("member", "created", "applied"),
    [
        ({"type": "object"}, {}, "must be of type object"),
        ({"type": "object", "nullable": True}, {"m": None}, {"m": None}),
        ({"type": "string", "default": "d"}, {"m": "d"}, {"m": "d"}),
    ],
)
def test_nulls_of_applied_objects(
    server: InProcessServer, member: dict[str, Any], created: dict[str, Any], applied: dict[str, Any] | str
) -> None:
    """A body loses nulls that its schema does not allow; in an applied configuration they are validated."""
    run(server.client().create(DEFINITIONS, "", definition({"m": member})))
    server.clock.pump([1, 1, 1])
    response = run(server.request("POST", PATH, body=thing("created", spec={"m": None})))
    assert (response.code, response.json["spec"]) == (201, created)
    headers = {"content-type": "application/apply-patch+yaml"}
    body = thing("applied", spec={"m": None})
    response = run(server.request("PATCH", f"{PATH}/applied?fieldManager=x", body=body, headers=headers))
    if isinstance(applied, str):
        assert response.code == 422 and applied in response.json["message"]
    else:
        assert (response.code, response.json["spec"]) == (201, applied)


def test_defaults_of_the_storage_version(server: InProcessServer) -> None:
    """An object that is written in another version has the defaults of the storage version too, as far as the version
    has the fields."""

    def version(name: str, **properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}

    defined = definition()
    text = {"type": "string"}
    defined["spec"]["versions"] = [
        version("v1", a={**text, "default": "one"}, first={**text, "default": "x"}, c=text),
        version("v2", a=text, c={**text, "default": "two"}, second={**text, "default": "y"}),
    ]
    run(server.client().create(DEFINITIONS, "", defined))
    server.clock.pump([1, 1, 1])
    later = PATH.replace("/v1/", "/v2/")
    response = run(server.request("POST", later, body={**thing(spec={}), "apiVersion": "example.com/v2"}))
    assert (response.code, response.json["spec"]) == (201, {"a": "one", "c": "two"})
    assert run(server.request("GET", f"{later}/one")).json["spec"] == {"a": "one", "c": "two"}
    assert run(server.request("GET", f"{PATH}/one")).json["spec"] == {"a": "one", "first": "x", "c": "two"}


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Without the garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def custom_types() -> int:
    """How many types of custom kinds there are in memory."""
    return sum(isinstance(each, Type) and each.constraints is not None for each in gc.get_objects())


def test_former_kinds_are_freed(server: InProcessServer, uncollected: None) -> None:
    """Nothing keeps a kind whose definition is gone or replaced, not even until the next collection of garbage: its
    types take much memory."""
    admin = server.client()
    before = custom_types()
    described = {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a[*].b"}]
    created = run(admin.create(DEFINITIONS, "", definition(described, additionalPrinterColumns=columns)))

    def use(name: str) -> int:
        """Use the kind in all ways; how many types there are then."""
        run(admin.create(THINGS, "default", thing(name, spec={"a": [{"b": "c"}]})))
        tables = {"accept": f"application/json;as=Table;v=v1;g={ORCH('meta.{abbr}.io')}"}
        assert run(server.request("GET", PATH, headers=tables)).code == 200
        apply = {"content-type": "application/apply-patch+yaml"}
        two = thing("two", spec={"a": [{"b": "c"}]})
        assert run(server.request("PATCH", f"{PATH}/two?fieldManager=m", body=two, headers=apply)).code in (200, 201)
        return custom_types()

    first = use("one")
    assert first > before
    replaced = run(admin.get(DEFINITIONS, "", created["metadata"]["name"]))
    replaced["spec"]["versions"][0]["additionalPrinterColumns"] = [*columns, *columns]
    run(admin.update(DEFINITIONS, "", created["metadata"]["name"], replaced))
    server.clock.pump([1] * 10)
    assert use("three") == first
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    server.clock.pump([1] * 10)
    assert server.server.catalog.resource("example.com", "v1", "things") is None
    # The next write and read forget the former catalog.
    run(admin.create(ResourceRef("", "v1", "configmaps"), "default", {"metadata": {"name": "one"}}))
    run(admin.list(DEFINITIONS))
    assert custom_types() == before


def test_scale_of_a_custom_kind(server: InProcessServer) -> None:
    """Replicas whose path the schema does not have are pruned like other unknown members; the endpoint negotiates like
    those of its kind, whose objects have no protobuf encoding."""
    scale = {"specReplicasPath": ".spec.unknown", "statusReplicasPath": ".status.replicas"}
    run(server.client().create(DEFINITIONS, "", definition(subresources={"scale": scale})))
    run(server.request("POST", PATH, body=thing(spec={"a": "x"})))
    merge = {"content-type": "application/merge-patch+json"}
    body = {"spec": {"replicas": 2}}
    scaled = run(server.request("PATCH", f"{PATH}/one/scale", body=body, headers=merge))
    assert (scaled.code, scaled.json["spec"]) == (200, {"replicas": 2})
    assert run(server.request("GET", f"{PATH}/one")).json["spec"] == {"a": "x"}
    refused = run(server.request("PATCH", f"{PATH}/one/scale", body=body, headers={**merge, "accept": "text/html"}))
    assert refused.code == 406 and refused.json["message"].startswith("only the following media types are accepted: ")


def test_status_that_does_not_fit_its_schema_ends_the_tracking_of_managers(server: InProcessServer) -> None:
    """A status that the main endpoint drops is not validated, but managers cannot be computed with it."""
    status = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with_status = definition(subresources={"status": {}})
    with_status["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    run(server.client().create(DEFINITIONS, "", with_status))
    for name, sent, tracked in (("a", {"n": 1}, True), ("b", {"n": "x"}, False), ("c", 0, False), ("d", None, True)):
        created = run(server.request("POST", PATH, body=thing(name, spec={"a": "x"}, status=sent)))
        assert (created.code, "status" in created.json) == (201, False)
        assert ("managedFields" in created.json["metadata"]) is tracked


def test_request_metrics_end_with_the_definition(server: InProcessServer) -> None:
    """The labels of kinds that come and go do not grow without end."""
    admin = server.client()
    run(admin.create(DEFINITIONS, "", definition()))
    run(admin.create(THINGS, "default", thing()))
    run(admin.watch(THINGS, "default", resource_version="0"))

    def lines() -> set[str]:
        body = run(server.request("GET", "/metrics")).response.body
        text = body if isinstance(body, bytes) else b"".join(body)
        return {line.partition("{")[0] for line in text.decode().splitlines() if 'group="example.com"' in line}

    counted = {"apiserver_request_total", "apiserver_watch_events_total"}
    assert counted <= lines()
    run(admin.delete(DEFINITIONS, "", "things.example.com"))
    server.clock.advance(2)
    assert not counted & lines()
