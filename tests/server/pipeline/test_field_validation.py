"""``fieldValidation``: unknown and duplicate fields are reported on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

GATE = "--feature-gates=ServerSideFieldValidation=true"
DEPLOYMENTS = "/apis/apps/v1/namespaces/a/deployments"
JSON = """{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "NAME"}, "spec": {
  "unknown1": 1, "twice": 1, "twice": 2, "paused": true, "paused": false, "selector": {"matchLabels": {"app": "x"}},
  "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [
    {"name": "c", "image": "x", "alien": 1, "imagePullPolicy": "Always", "imagePullPolicy": "Never"}]}}}}"""
OF_JSON = [
    'unknown field "unknown1"', 'unknown field "twice"', 'duplicate field "paused"', 'unknown field "alien"',
    'duplicate field "imagePullPolicy"',
]  # fmt: skip
YAML = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  unknown1: 1
  twice: 1
  twice: 2
  paused: true
  paused: false
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      containers:
      - name: c
        image: x
        alien: 1
        imagePullPolicy: Always
        imagePullPolicy: Never
"""
LINES = [
    'line 8: key "twice" already set in map', 'line 10: key "paused" already set in map',
    'line 20: key "imagePullPolicy" already set in map',
]  # fmt: skip
OF_YAML = ['unknown field "alien"', 'unknown field "twice"', 'unknown field "unknown1"']
WIDGETS = "/apis/example.com/v1/namespaces/a/widgets"
OF_WIDGET = [
    'duplicate field "known"', 'duplicate field "twice"', 'unknown field "spec.ports[0].alien"', 'unknown field "spec.twice"',
    'unknown field "spec.unknown1"',
]  # fmt: skip


def definition(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    names = {"plural": f"{name.lower()}s", "kind": name}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": f"{names['plural']}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("server"), GATE)
    admin = server.client()
    run(admin.create(ResourceRef("", "v1", "namespaces"), "", {"metadata": {"name": "a"}}))
    definitions = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
    text = {"type": "string"}
    ports = {"type": "array", "items": objects(port={"type": "integer"})}
    run(admin.create(definitions, "", definition("Widget", objects(spec=objects(known=text, ports=ports)))))
    free = {"type": "object", f"x-{ORCH('{long}')}-preserve-unknown-fields": True}
    run(admin.create(definitions, "", definition("Thing", free)))
    for _ in range(20):
        server.clock.advance(1)
    yield server
    server.stop()


def send(
    server: InProcessServer, method: str, path: str, body: str | dict[str, Any], form: str = "json"
) -> JsonResponse:
    data = body.encode() if isinstance(body, str) else orjson.dumps(body)
    return run(server.request(method, path, body=data, headers={"Content-Type": f"application/{form}"}))


def warnings(response: JsonResponse) -> list[str]:
    """The texts of the Warning headers."""
    return [
        text[len('299 - "') : -1].replace('\\"', '"') for name, text in response.response.headers if name == "Warning"
    ]


def message(response: JsonResponse, code: int) -> str:
    assert response.code == code, response.body
    text: str = response.json["message"]
    return text


@pytest.mark.parametrize(
    ("query", "name"), [("?fieldValidation=Warn", "warned"), ("", "unsaid"), ("?fieldValidation=", "empty")]
)
@pytest.mark.parametrize(("form", "body", "expected"), [("json", JSON, OF_JSON), ("yaml", YAML, [*LINES, *OF_YAML])])
def test_warn_reports_every_problem(
    server: InProcessServer, query: str, name: str, form: str, body: str, expected: list[str]
) -> None:
    """With the gate on, every problem of a body is a warning, also by default. The last of duplicate fields counts,
    unknown ones are dropped."""
    name = f"{name}-{form}"
    response = send(server, "POST", DEPLOYMENTS + query, body.replace("NAME", name), form)
    assert (response.code, warnings(response)) == (201, expected)
    assert "paused" not in response.json["spec"] and "unknown1" not in response.json["spec"]
    changed = send(server, "PUT", f"{DEPLOYMENTS}/{name}{query}", body.replace("NAME", name), form)
    assert (changed.code, warnings(changed)) == (200, expected)


@pytest.mark.parametrize(("form", "body", "why"), [
    ("json", JSON, ", ".join(OF_JSON)),
    ("yaml", YAML, ", ".join(["yaml: unmarshal errors:\n  " + "\n  ".join(LINES), *OF_YAML])),
])  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_strict_refuses_with_every_problem(
    server: InProcessServer, method: str, form: str, body: str, why: str
) -> None:
    """Strict responds with 400 and all problems."""
    path = DEPLOYMENTS + ("/x" if method == "PUT" else "") + "?fieldValidation=Strict"
    response = send(server, method, path, body.replace("NAME", "x"), form)
    head = 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
    assert message(response, 400) == head + why


def test_ignore_reports_nothing(server: InProcessServer, tmp_path: Path) -> None:
    """Ignore reports nothing; with the gate off it is the only behaviour, but the value must be valid."""
    response = send(server, "POST", DEPLOYMENTS + "?fieldValidation=Ignore", JSON.replace("NAME", "ignored"))
    assert (response.code, warnings(response)) == (201, [])
    path = "/api/v1/namespaces?fieldValidation=Strict"
    body = '{"metadata": {"name": "b", "name": "c", "x": 1}}'
    assert message(send(server, "POST", path, body), 400).endswith('duplicate field "name", unknown field "x"')
    plain = make_server(tmp_path, GATE.replace("true", "false"))
    response = send(plain, "POST", path, body)
    assert (response.code, warnings(response), response.json["metadata"]["name"]) == (201, [], "c")
    wrong = send(plain, "POST", "/api/v1/namespaces?fieldValidation=strict", body)
    assert message(wrong, 422) == (
        'CreateOptions.meta.orch.io "" is invalid: fieldValidation: Unsupported value: "strict": '
        'supported values: "", "Ignore", "Strict", "Warn"'
    )
    plain.stop()


def test_duplicate_fields_of_a_body_without_its_kind(later: InProcessServer) -> None:
    """apiVersion and kind may be missing beside duplicate fields too."""
    body = '{"data":{"a":"1"},"data":{"a":"2"},"metadata":{"name":"d","name":"e"}}'
    response = send(later, "POST", "/api/v1/namespaces/a/configmaps?dryRun=All&fieldValidation=Warn", body)
    assert (response.code, response.json["data"], response.json["metadata"]["name"]) == (201, {"a": "2"}, "e")
    assert len(warnings(response)) == 2


def test_options_are_checked_before_the_body(server: InProcessServer) -> None:
    """Invalid options are reported before the body; a body of the wrong type is rejected for that alone."""
    response = send(server, "POST", DEPLOYMENTS + "?dryRun=some", "{")
    assert "dryRun" in message(response, 422)
    response = send(
        server, "POST", DEPLOYMENTS + "?fieldValidation=Strict", JSON.replace('"twice": 1', '"replicas": "x"')
    )
    assert "strict" not in message(response, 400) and "json: cannot unmarshal string" in message(response, 400)


def widget(name: str) -> str:
    return (
        '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "NAME"}, "spec": {"unknown1": 1, "known": "x",'
        ' "known": "y", "twice": 1, "twice": 2, "ports": [{"alien": 1, "port": 1}]}}'
    ).replace("NAME", name)


def test_problems_of_custom_kinds(server: InProcessServer) -> None:
    """For custom kinds duplicate fields are reported, and pruned fields with their paths."""
    response = send(server, "POST", WIDGETS, widget("warned"))
    assert (response.code, warnings(response)) == (201, OF_WIDGET)
    response = send(server, "POST", WIDGETS + "?fieldValidation=Strict", widget("refused"))
    head = 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
    assert message(response, 400) == head + ", ".join(OF_WIDGET)
    things = widget("free").replace("Widget", "Thing")
    response = send(server, "POST", WIDGETS.replace("widgets", "things") + "?fieldValidation=Strict", things)
    assert message(response, 400) == head.replace("Widget", "Thing") + ", ".join(OF_WIDGET[:2])


PATCHES = [
    ("merge-patch+json", '{"spec": {"foo": 1, "paused": true, "paused": false, "paused": true}}', [
        'duplicate field "paused"', 'unknown field "foo"']),
    ("strategic-merge-patch+json", '{"spec": {"foo": 1, "paused": true, "paused": false, "template": {"spec": {"foo": 1}}}}', [
        'duplicate field "paused"', 'unknown field "spec.foo"', 'unknown field "spec.template.spec.foo"']),
    ("json-patch+json", '[{"op": "add", "path": "/spec/foo", "path": "/spec/foo", "x": 1, "value": {"a": 1, "a": 2}}]', [
        'json patch duplicate field "path"', 'json patch unknown field "x"', 'json patch duplicate field "a"',
        'unknown field "foo"']),
]  # fmt: skip


@pytest.fixture(scope="module")
def deployment(server: InProcessServer) -> str:
    response = send(server, "POST", DEPLOYMENTS + "?fieldValidation=Ignore", JSON.replace("NAME", "patched"))
    assert response.code == 201
    return f"{DEPLOYMENTS}/patched"


@pytest.mark.parametrize(("form", "patch", "expected"), PATCHES)
def test_problems_of_patches(
    server: InProcessServer, deployment: str, form: str, patch: str, expected: list[str]
) -> None:
    """Duplicate fields of a patch and unknown fields of the result are reported: 422 if strict, else warnings."""
    response = send(server, "PATCH", deployment, patch, form)
    assert (response.code, warnings(response)) == (200, expected)
    response = send(server, "PATCH", deployment + "?fieldValidation=Strict", patch, form)
    text = message(response, 422)
    assert text.startswith(' "" is invalid: patch: Invalid value: "') and text.endswith(
        ": strict decoding error: " + ", ".join(expected)
    )
    response = send(server, "PATCH", deployment + "?fieldValidation=Ignore", patch, form)
    assert (response.code, warnings(response)) == (200, [])


@pytest.mark.parametrize(("form", "patch", "why"), [
    ("merge-patch+json", "[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ("merge-patch+json", "{", "error decoding patch: unexpected end of JSON input"),
    ("json-patch+json", '[{"op": 1}]', "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
    ("json-patch+json", "[1]", "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
    ("json-patch+json", "{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
])  # fmt: skip
def test_invalid_patches(server: InProcessServer, deployment: str, form: str, patch: str, why: str) -> None:
    """With the gate on, a patch is validated before it is applied."""
    assert message(send(server, "PATCH", deployment, patch, form), 400) == why
    assert send(server, "PATCH", f"{DEPLOYMENTS}/missing", patch, form).code == 404


def test_problems_of_applies(server: InProcessServer) -> None:
    """Apply rejects unknown fields itself; duplicate fields are reported with their lines."""
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},\n"data": {"a": "1",\n"a": "2"}}'
    path = "/api/v1/namespaces/a/configmaps/c?fieldManager=m"
    line = 'line 3: key "a" already set in map'
    response = send(server, "PATCH", path + "&fieldValidation=Strict", body, "apply-patch+yaml")
    head = "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
    assert message(response, 400) == head + line
    response = send(server, "PATCH", path, body, "apply-patch+yaml")
    assert (response.code, warnings(response), response.json["data"]) == (201, [line], {"a": "2"})
    response = send(server, "PATCH", path, body, "apply-patch+yaml")
    assert (response.code, warnings(response)) == (200, [line])


def test_problems_of_subresource_bodies(server: InProcessServer, deployment: str) -> None:
    """Bodies of subresources are validated by their own kinds."""
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "patched", "namespace": "a", "x": 1},
        "spec": {"replicas": 2, "y": 1},
    }
    response = send(server, "PUT", deployment + "/scale", scale)
    assert (response.code, warnings(response)) == (200, ['unknown field "x"', 'unknown field "y"'])
    response = send(
        server, "PATCH", deployment + "/scale?fieldValidation=Strict", '{"spec": {"y": 1}}', "merge-patch+json"
    )
    assert message(response, 422).endswith('strict decoding error: unknown field "y"')
    response = send(server, "PATCH", deployment + "/status", '{"status": {"y": 1}}', "merge-patch+json")
    assert (response.code, warnings(response)) == (200, ['unknown field "y"'])


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    """A server with the gate at its default."""
    server = make_server(tmp_path_factory.mktemp("later"))
    admin = server.client()
    run(admin.create(ResourceRef("", "v1", "namespaces"), "", {"metadata": {"name": "a"}}))
    definitions = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
    ports = {"type": "array", "items": objects(port={"type": "integer"})}
    run(
        admin.create(
            definitions, "", definition("Widget", objects(spec=objects(known={"type": "string"}, ports=ports)))
        )
    )
    for _ in range(20):
        server.clock.advance(1)
    yield server
    server.stop()


LATER_OF_JSON = [
    'unknown field "spec.unknown1"', 'unknown field "spec.twice"', 'duplicate field "spec.paused"',
    'unknown field "spec.template.spec.containers[0].alien"',
    'duplicate field "spec.template.spec.containers[0].imagePullPolicy"',
]  # fmt: skip
LATER_OF_YAML = [
    'unknown field "spec.template.spec.containers[0].alien"', 'unknown field "spec.twice"', 'unknown field "spec.unknown1"',
]  # fmt: skip


@pytest.mark.parametrize(("form", "body", "expected", "why"), [
    ("json", JSON, LATER_OF_JSON, LATER_OF_JSON),
    ("yaml", YAML, [*LINES, *LATER_OF_YAML], ["yaml: unmarshal errors:\n  " + "\n  ".join(LINES), *LATER_OF_YAML]),
])  # fmt: skip
def test_explicit_parameter_works_without_the_gate(
    later: InProcessServer, form: str, body: str, expected: list[str], why: list[str]
) -> None:
    """Without the gate, requests without the parameter get no report; others get one with the paths of the fields."""
    silent = send(later, "POST", DEPLOYMENTS, body.replace("NAME", f"silent-{form}"), form)
    assert (silent.code, warnings(silent)) == (201, [])
    warned = send(later, "POST", DEPLOYMENTS + "?fieldValidation=Warn", body.replace("NAME", f"warned-{form}"), form)
    assert (warned.code, warnings(warned)) == (201, expected)
    refused = send(later, "POST", DEPLOYMENTS + "?fieldValidation=Strict", body.replace("NAME", "x"), form)
    head = 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
    assert message(refused, 400) == head + ", ".join(why)
    ignored = send(
        later,
        "PUT",
        f"{DEPLOYMENTS}/silent-{form}?fieldValidation=Ignore",
        body.replace("NAME", f"silent-{form}"),
        form,
    )
    assert (ignored.code, warnings(ignored)) == (200, [])


LATER_PATCHES = [
    ("merge-patch+json", PATCHES[0][1], ['duplicate field "spec.paused"', 'unknown field "spec.foo"']),
    ("strategic-merge-patch+json", PATCHES[1][1], [
        'duplicate field "spec.paused"', 'unknown field "spec.foo"', 'unknown field "spec.template.spec.foo"']),
    ("json-patch+json", PATCHES[2][1], [
        'json patch duplicate field "[0].path"', 'json patch unknown field "[0].x"', 'json patch duplicate field "[0].value.a"',
        'unknown field "spec.foo"']),
]  # fmt: skip


@pytest.mark.parametrize(("form", "patch", "expected"), LATER_PATCHES)
def test_explicit_parameter_on_patches(later: InProcessServer, form: str, patch: str, expected: list[str]) -> None:
    """Problems have paths within the patch, and within the result."""
    send(later, "POST", DEPLOYMENTS, JSON.replace("NAME", "patched"))
    path = f"{DEPLOYMENTS}/patched"
    assert warnings(send(later, "PATCH", path, patch, form)) == []
    assert warnings(send(later, "PATCH", path + "?fieldValidation=Warn", patch, form)) == expected
    text = message(send(later, "PATCH", path + "?fieldValidation=Strict", patch, form), 422)
    assert text.endswith(": strict decoding error: " + ", ".join(expected))


def test_explicit_parameter_on_custom_kinds(later: InProcessServer) -> None:
    """Duplicate fields have paths, too, including keys of maps."""
    response = send(later, "POST", WIDGETS + "?fieldValidation=Warn", widget("warned"))
    twice = ['duplicate field "spec.known"', 'duplicate field "spec.twice"']
    assert (response.code, warnings(response)) == (201, [*twice, *OF_WIDGET[2:]])
    body = '{"metadata": {"name": "b", "labels": {"x": "1", "x": "2"}}}'
    response = send(later, "POST", "/api/v1/namespaces?fieldValidation=Strict", body)
    assert message(response, 400).endswith('strict decoding error: duplicate field "metadata.labels.x"')


def test_explicit_parameter_on_apply(later: InProcessServer) -> None:
    """Duplicate keys are reported with their lines."""
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},\n"data": {"a": "1",\n"a": "2"}}'
    path = "/api/v1/namespaces/a/configmaps/c?fieldManager=m"
    line = 'line 3: key "a" already set in map'
    assert message(send(later, "PATCH", path + "&fieldValidation=Strict", body, "apply-patch+yaml"), 400).endswith(line)
    assert warnings(send(later, "PATCH", path + "&fieldValidation=Warn", body, "apply-patch+yaml")) == [line]
    assert warnings(send(later, "PATCH", path, body, "apply-patch+yaml")) == []
