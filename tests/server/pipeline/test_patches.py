"""PATCH on a whole server: behaviour that the patch formats share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
EDIT = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
MAPS = "/api/v1/namespaces/a/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/a/widgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/a/deployments"
SCHEME = ORCH("{abbr}.io/{long}/pkg/api/legacyscheme/scheme.go:30")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("server"))
    admin = server.client()
    run(admin.create(ResourceRef("", "v1", "namespaces"), "", {"metadata": {"name": "a"}}))
    free = {"type": "object", f"x-{ORCH('{long}')}-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"free": free, "text": {"type": "string"}}}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": free}}},
    }  # fmt: skip
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version],
        },
    }  # fmt: skip
    run(admin.create(ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions"), "", definition))
    for _ in range(20):
        server.clock.advance(1)
    send(server, "POST", MAPS, {"metadata": {"name": "c"}, "data": {"a": "1"}}, "application/json")
    send(server, "POST", WIDGETS, widget(), "application/json")
    yield server
    server.stop()


def send(server: InProcessServer, method: str, path: str, body: Any, form: str) -> JsonResponse:
    data = body.encode() if isinstance(body, str) else orjson.dumps(body)
    return run(server.request(method, path, body=data, headers={"Content-Type": form}))


def message(response: JsonResponse, code: int) -> str:
    assert response.code == code, response.body
    text: str = response.json["message"]
    return text


def widget(name: str = "w", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"text": "x"}, **more}


@pytest.mark.parametrize("form", [MERGE, STRATEGIC, EDIT])
@pytest.mark.parametrize("patch", ["{}", "{", "[5]"])
def test_missing_object_is_reported_before_patch_errors(server: InProcessServer, form: str, patch: str) -> None:
    """A missing object is reported before errors in the patch."""
    assert message(send(server, "PATCH", f"{MAPS}/none", patch, form), 404) == 'configmaps "none" not found'


@pytest.mark.parametrize("subresource", ["status", "scale"])
def test_apply_creates_objects_but_not_subresources(server: InProcessServer, subresource: str) -> None:
    """Apply creates objects, but not through a subresource."""
    response = send(server, "PATCH", f"{DEPLOYMENTS}/none/{subresource}?fieldManager=m", "{", APPLY)
    assert message(response, 404) == 'deployments.apps "none" not found'


CHANGED_KINDS = [
    ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
    ({"kind": "Nope"}, f'no kind "Nope" is registered for version "v1" in scheme "{SCHEME}"'),
    ({"apiVersion": "v2"}, f'no kind "ConfigMap" is registered for version "v2" in scheme "{SCHEME}"'),
    ({"apiVersion": "apps/v1"}, f'no kind "ConfigMap" is registered for version "apps/v1" in scheme "{SCHEME}"'),
    ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    (
        {"kind": 5},
        "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
    ),
]


@pytest.mark.parametrize(("patch", "why"), CHANGED_KINDS)
def test_patch_cannot_change_the_kind(server: InProcessServer, patch: dict[str, Any], why: str) -> None:
    """A patch cannot change the kind of an object."""
    text = message(send(server, "PATCH", f"{MAPS}/c", patch, MERGE), 422)
    assert text.startswith(' "" is invalid: patch: Invalid value: "{') and text.endswith(f'}}": {why}')
    operations = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in patch.items()]
    assert message(send(server, "PATCH", f"{MAPS}/c", operations, EDIT), 422).endswith(f'}}": {why}')


def test_patch_result_without_kind_or_version(server: InProcessServer) -> None:
    """Without kind the result is read as the endpoint's kind; without apiVersion all fields are unknown; a strategic
    merge patch has no fields for either."""
    response = send(server, "PATCH", f"{MAPS}/c", {"kind": None}, MERGE)
    assert (response.code, response.json["kind"], response.json["data"]) == (200, "ConfigMap", {"a": "1"})
    response = send(server, "PATCH", f"{MAPS}/c", {"apiVersion": None}, MERGE)
    assert message(response, 400).endswith("was undeterminable: name must be provided")
    response = send(server, "PATCH", f"{MAPS}/c", {"kind": "Secret", "apiVersion": "v2"}, STRATEGIC)
    assert (response.code, response.json["kind"], response.json["apiVersion"]) == (200, "ConfigMap", "v1")


def test_patch_cannot_change_a_custom_kind(server: InProcessServer) -> None:
    """For custom objects validation rejects the change."""
    response = send(server, "PATCH", f"{WIDGETS}/w", {"kind": None}, MERGE)
    assert "Object 'Kind' is missing in '{" in message(response, 422)
    response = send(server, "PATCH", f"{WIDGETS}/w", {"kind": "Gadget"}, MERGE)
    assert message(response, 422) == 'Gadget.example.com "w" is invalid: kind: Invalid value: "Gadget": must be Widget'
    response = send(server, "PATCH", f"{WIDGETS}/w", {"apiVersion": "example.com/v2"}, MERGE)
    assert message(response, 422).endswith('apiVersion: Invalid value: "example.com/v2": must be example.com/v1')
    response = send(server, "PATCH", f"{WIDGETS}/w", {"apiVersion": None, "kind": "Gadget"}, MERGE)
    assert message(response, 422) == (
        'Gadget "w" is invalid: [kind: Invalid value: "Gadget": must be Widget, apiVersion: Invalid value: "": must be '
        "example.com/v1]"
    )


CONFIGURATIONS = [
    ("[]", "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ("null", "Incorrect version specified in apply patch. Specified patch version: , expected: v1"),
    ("{apiVersion: 1, kind: ConfigMap}", "Incorrect version specified in apply patch. Specified patch version: , expected: v1"),
    ("{apiVersion: a/b/c, kind: ConfigMap}", "Incorrect version specified in apply patch. Specified patch version: , expected: v1"),
    ("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: []}}", "metadata.managedFields must be nil"),
    ("{apiVersion: v1, metadata: {name: x}}", "failed to create typed patch object (/x; /v1, Kind=): no corresponding type for /v1, Kind="),
    ("{apiVersion: v1, kind: X, metadata: {name: x}}", "failed to create typed patch object (/x; /v1, Kind=X): no corresponding type for /v1, Kind=X"),
    ("{apiVersion: v1, kind: Secret}", "failed to merge config: expected objects of the same type, but got {ConfigMap} and {Secret}"),
    ("{apiVersion: v1, kind: ConfigMap, metadata: x}", "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata: expected map, got &{x}"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "why"), CONFIGURATIONS)
@pytest.mark.parametrize("name", ["c", "none"])
def test_invalid_applies(server: InProcessServer, name: str, config: str, why: str) -> None:
    """Invalid configurations are rejected, whether the object exists or not."""
    response = send(server, "PATCH", f"{MAPS}/{name}?fieldManager=m", config, APPLY)
    assert response.code in (400, 500) and response.json["message"] == why


UNREADABLE = ("creationTimestamp: soon", "deletionTimestamp: 5", "managedFields: [{manager: a, time: soon}]")


@pytest.mark.parametrize("member", UNREADABLE)
def test_unreadable_metadata_of_an_apply(server: InProcessServer, member: str) -> None:
    """What cannot be read in the metadata is an error of the conversion for built-in kinds; custom objects are without
    it."""
    for path, head, code in (
        (MAPS, "apiVersion: v1, kind: ConfigMap", 500),
        (WIDGETS, "apiVersion: example.com/v1, kind: Widget", 201),
    ):
        config = f"{{{head}, metadata: {{name: odd, {member}}}}}"
        response = send(server, "PATCH", f"{path}/odd?fieldManager=m", config, APPLY)
        assert response.code == code, response.json
        if code == 201:
            assert "soon" not in str(response.json) and "deletionTimestamp" not in response.json["metadata"]
            assert send(server, "DELETE", f"{path}/odd", None, "").code == 200
        else:
            assert "to proper version: unable to convert unstructured object" in response.json["message"]


def test_apply_with_a_uid_needs_an_existing_object(server: InProcessServer) -> None:
    """A configuration with a uid requires an existing object."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none", "uid": "u"}}
    assert message(send(server, "PATCH", f"{MAPS}/none?fieldManager=m", config, APPLY), 409) == (
        'Operation cannot be fulfilled on configmaps "none": uid mismatch: the provided object specified uid u, and no '
        "existing object was found"
    )


#: The nesting that libyaml refuses itself from 0.2.6 on, or else the reference's limit.
DEEPEST_YAML = 1_000 if yaml.__with_libyaml__ and yaml._yaml.get_version() >= (0, 2, 6) else 10_000


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("depth", [260, 900, 2_000, 9_000, 10_100])
def test_deep_nesting_is_handled(server: InProcessServer, depth: int) -> None:
    """Unknown fields are dropped at any depth that JSON may have; known ones are rejected beyond a limit."""
    body = f'{{"metadata":{{"name":"deep{depth}"}},"unknown":{nested(depth)}}}'
    assert send(server, "POST", MAPS, body, "application/json").code == (201 if depth < 10_000 else 400)
    body = f'{{"metadata":{{"name":"yaml{depth}"}},"unknown":{nested(depth)}}}'
    assert send(server, "POST", MAPS, body, "application/yaml").code == (201 if depth < DEEPEST_YAML else 400)
    head = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"free":'
    for method, path, form in (
        ("POST", WIDGETS, "application/json"), ("PUT", f"{WIDGETS}/w", "application/json"), ("POST", WIDGETS, "application/yaml"),
        ("PATCH", f"{WIDGETS}/w", MERGE), ("PATCH", f"{WIDGETS}/w?fieldManager=m", APPLY),
    ):  # fmt: skip
        response = send(server, method, path, head + nested(depth) + "}}", form)
        assert response.code == 400, (method, form, response.body)
    operation = f'[{{"op":"add","path":"/spec/free","value":{nested(depth)}}}]'
    assert send(server, "PATCH", f"{WIDGETS}/w", operation, EDIT).code == 400
    assert send(server, "PATCH", f"{MAPS}/c", f'{{"data":{nested(depth)}}}', STRATEGIC).code == 400


def test_patches_cannot_exceed_the_nesting_limit(server: InProcessServer) -> None:
    """Several patches cannot build a nesting that a single request could not send."""
    step = {"op": "add", "path": "/spec/free", "value": orjson.loads(nested(200))}
    deeper = {"op": "copy", "from": "/spec/free", "path": "/spec/free" + "/a" * 150}
    response = send(server, "PATCH", f"{WIDGETS}/w", [step, deeper], EDIT)
    assert response.code == 422
    assert send(server, "PATCH", f"{WIDGETS}/w", [step], EDIT).code == 200


def managers(response: JsonResponse) -> list[str]:
    assert response.code < 300, response.body
    return [entry["manager"] for entry in response.json["metadata"].get("managedFields", [])]


CLEARED = [
    ("PATCH", MERGE, {"metadata": {"managedFields": [{}]}}), ("PATCH", MERGE, {"metadata": {"managedFields": []}}),
    ("PATCH", STRATEGIC, {"metadata": {"managedFields": [{}]}}), ("PATCH", STRATEGIC, {"metadata": {"managedFields": []}}),
    ("PATCH", EDIT, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
    ("PATCH", EDIT, [{"op": "replace", "path": "/metadata/managedFields", "value": []}]),
    ("PUT", "application/json", {"metadata": {"name": "owned", "managedFields": [{}]}, "data": {"k": "v"}}),
    ("PUT", "application/json", {"metadata": {"name": "owned", "managedFields": []}, "data": {"k": "v"}}),
]  # fmt: skip
KEPT = [
    ("PATCH", MERGE, {"metadata": {"managedFields": None}}), ("PATCH", EDIT, [{"op": "remove", "path": "/metadata/managedFields"}]),
    ("PATCH", MERGE, {"metadata": {"managedFields": [{"manager": "x", "operation": "Odd"}]}}),
    ("PATCH", MERGE, {"metadata": {"managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}]}}),
    ("PUT", "application/json", {"metadata": {"name": "owned"}, "data": {"k": "v"}}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "form", "body", "left"), [
    *((*case, []) for case in CLEARED), *((*case, ["m"]) for case in KEPT),
])  # fmt: skip
def test_patch_can_reset_managed_fields(
    server: InProcessServer, method: str, form: str, body: Any, left: list[str]
) -> None:
    """An empty list or entry removes all managers; omitted or invalid entries do not. A later applier shares ownership
    with earlier ones."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, "data": {"k": "v"}}
    run(server.request("DELETE", f"{MAPS}/owned"))
    assert managers(send(server, "PATCH", f"{MAPS}/owned?fieldManager=m", config, APPLY)) == ["m"]
    assert managers(send(server, method, f"{MAPS}/owned", body, form)) == left
    again = managers(send(server, "PATCH", f"{MAPS}/owned?fieldManager=m", config, APPLY))
    assert again == ["m"] + ([] if left else ["before-first-apply"])


def test_duplicate_owner_references_are_warned_of(server: InProcessServer) -> None:
    """A patch with duplicate owner references gets the warning of a change by admission; apply rejects it."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    response = send(server, "PATCH", f"{MAPS}/c", {"metadata": {"ownerReferences": [owner, owner]}}, MERGE)
    (warning,) = (text for name, text in response.response.headers if name == "Warning")
    assert "duplicate entries after mutating admission happens" in warning
    assert response.json["metadata"]["ownerReferences"] == [owner]
    metadata = {"name": "c", "ownerReferences": [owner, owner]}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    assert "duplicate entries" in message(send(server, "PATCH", f"{MAPS}/c?fieldManager=m", config, APPLY), 500)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400, "1" + "0" * 250 + "e99", "1" + "0" * 299 + ".5e10"])
def test_numbers_beyond_floats_are_refused(server: InProcessServer, number: str) -> None:
    """The error is about the result and names the target type; a strategic merge patch fails to decode."""
    path, why = f"{DEPLOYMENTS}/d", f"json: cannot unmarshal number {number} into Go "
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}}
    send(server, "POST", DEPLOYMENTS, made, "application/json")
    for form, text in (
        (MERGE, f'{{"spec":{{"replicas":{number}}}}}'),
        (EDIT, f'[{{"op":"add","path":"/spec/replicas","value":{number}}}]'),
    ):
        found = message(send(server, "PATCH", path, text, form), 422)
        assert found.endswith(f"{why}struct field DeploymentSpec.spec.replicas of type int32")
    text = f'{{"spec":{{"replicas":{number}}}}}'
    assert message(send(server, "PATCH", path, text, STRATEGIC), 400) == f"{why}value of type float64"
    for form, text in (
        (MERGE, f'{{"spec":{{"free":{{"x":[{number}]}}}}}}'),
        (EDIT, f'[{{"op":"add","path":"/spec/free","value":{number}}}]'),
    ):
        assert message(send(server, "PATCH", f"{WIDGETS}/w", text, form), 422).endswith(f"{why}value of type float64")
