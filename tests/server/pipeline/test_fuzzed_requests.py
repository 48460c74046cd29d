"""Any request gets a response of the API, never an internal error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchd.kinds.codec import protobuf
from orchd.testing.doubles.server import InProcessServer, make_server
from orchd.txkit.coroutines import start

POD: Any = {
    "metadata": {"name": "p", "labels": {"a": "b"}, "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]},
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 80, "name": "http"}],
             "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
             "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
             "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3},
             "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
        ],
        "volumes": [{"name": "v", "configMap": {"name": "x", "items": [{"key": "k", "path": "p"}]}}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}},
    },
}  # fmt: skip
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
ONCE = {"spec": {**POD["spec"], "restartPolicy": "Never"}}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "n": {"type": "integer", "minimum": 1, "default": 1}, "l": {"type": "array", "items": {"type": "string"}}}}}}  # fmt: skip
#: Paths at which objects are created, with a valid object.
SAMPLES: tuple[tuple[str, Any], ...] = (
    ("/api/v1/namespaces/f/pods", POD),
    ("/api/v1/namespaces/f/configmaps", {"metadata": {"name": "c"}, "data": {"a": "b"}, "binaryData": {"x": "AA=="}}),
    ("/api/v1/namespaces/f/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "targetPort": "x"}], "selector": {"a": "b"}}}),
    ("/api/v1/namespaces/f/events", {"metadata": {"name": "e"}, "involvedObject": {"namespace": "f"}, "firstTimestamp": "2020-01-01T00:00:00Z"}),
    ("/api/v1/namespaces/f/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5", "requests.cpu": "1"}}}),
    ("/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]}}),
    ("/apis/apps/v1/namespaces/f/deployments",
     {"metadata": {"name": "d"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}),
    ("/apis/batch/v1/namespaces/f/cronjobs",
     {"metadata": {"name": "j"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": ONCE}}}}),
    ("/apis/autoscaling/v2/namespaces/f/horizontalpodautoscalers",
     {"metadata": {"name": "h"}, "spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "D", "name": "d"}, "metrics": [
         {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}}]}}),
    ("/apis/autoscaling/v1/namespaces/f/horizontalpodautoscalers",
     {"metadata": {"name": "i"}, "spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "D", "name": "d"}}}),
    ("/apis/networking.orch.io/v1/namespaces/f/ingresses",
     {"metadata": {"name": "i"}, "spec": {"rules": [{"host": "a.b", "http": {"paths": [
         {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
    ("/apis/rbac.authorization.orch.io/v1/clusterroles",
     {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}),
    ("/apis/authorization.orch.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
    ("/apis/apiextensions.orch.io/v1/customresourcedefinitions",
     {"metadata": {"name": "foos.f.example"}, "spec": {"group": "f.example", "scope": "Namespaced",
      "names": {"plural": "foos", "kind": "Foo"}, "versions": [{"name": "v1", "served": True, "storage": True,
      "schema": {"openAPIV3Schema": SCHEMA}, "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}]}]}}),
    ("/apis/bars.example/v1/namespaces/f/bars", {"apiVersion": "bars.example/v1", "kind": "Bar", "metadata": {"name": "b"}, "spec": {"n": 2}}),
)  # fmt: skip
BARS = {
    "metadata": {"name": "bars.bars.example"},
    "spec": {"group": "bars.example", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA},
                           "subresources": {"status": {}}}]},
}  # fmt: skip

TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            "a",
            "A",
            "-1",
            "0",
            "1Gi",
            "*",
            "a/b",
            "..",
            "a=b",
            "true",
            "null",
            "2020-01-01T00:00:00Z",
            "{}",
            "\0",
            "é" * 70,
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-2, 2),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
PATCHES = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    head, *rest = path
    if isinstance(value, dict):
        return {**value, head: put(value.get(head), tuple(rest), new)}
    return [put(v, tuple(rest), new) if i == head else v for i, v in enumerate(value)]


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[str, Any]:
    """A valid request with one or two changed members."""
    path, sample = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 2))):
        where = draw(st.sampled_from(list(places(sample))))
        if draw(st.booleans()) and where:
            where = (*where[:-1], draw(TEXTS)) if isinstance(where[-1], str) else where
        sample = put(sample, where, draw(VALUES))
    return path, sample


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("fuzzed"), "--allow-privileged=true")
    definitions = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
    assert (
        send_and_check(server, "POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": "f"}}).encode()).code
        == 201
    )
    send_and_check(server, "POST", "/api/v1/namespaces/f/serviceaccounts", b'{"metadata": {"name": "default"}}')
    assert send_and_check(server, "POST", definitions, json.dumps(BARS).encode()).code == 201
    server.clock.pump([1] * 3)
    for path, sample in SAMPLES:
        response = send_and_check(server, "POST", path, json.dumps(sample).encode())
        assert response.code == 201, (path, response.json["message"])
    yield server
    server.stop()


def send_and_check(server: InProcessServer, method: str, path: str, body: bytes = b"", **headers: str) -> Any:
    """The response, which must not be a 500 InternalError."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answers: list[Any] = []
    start(server.request(method, path, body=body, headers=named)).addBoth(answers.append)
    if not answers:
        # A future version is waited for.
        server.clock.pump([1] * 5)
    (response,) = answers
    assert hasattr(response, "code"), response
    if response.response.stream is not None:
        response.response.stream.stop()
    said = response.json if response.body[:1] == b"{" else {}
    assert response.code < 500 or said.get("reason") != "InternalError", (method, path, body, headers, said)
    return response


@given(spoiled())
def test_fuzzed_creates(fuzzed: InProcessServer, request_: tuple[str, Any]) -> None:
    """A create with any object, as JSON and as YAML."""
    path, sample = request_
    body = json.dumps(sample).encode()
    send_and_check(fuzzed, "POST", f"{path}?dryRun=All", body)
    send_and_check(fuzzed, "POST", f"{path}?dryRun=All", body, content_type="application/yaml")


@given(spoiled())
def test_fuzzed_updates(fuzzed: InProcessServer, request_: tuple[str, Any]) -> None:
    """A replacement of the object, its status or its scale by any object."""
    path, sample = request_
    name = dict(SAMPLES)[path]["metadata"]["name"] if "selfsubject" not in path else "x"
    for rest in ("", "/status", "/scale"):
        send_and_check(fuzzed, "PUT", f"{path}/{name}{rest}?dryRun=All", json.dumps(sample).encode())


@given(spoiled(), st.sampled_from(PATCHES))
def test_fuzzed_patches(fuzzed: InProcessServer, request_: tuple[str, Any], form: str) -> None:
    """A patch with any content."""
    path, sample = request_
    name = dict(SAMPLES)[path]["metadata"]["name"] if "selfsubject" not in path else "x"
    query = "?dryRun=All&fieldManager=m" + ("&force=true" if "apply" in form else "")
    send_and_check(
        fuzzed, "PATCH", f"{path}/{name}{query}", json.dumps(sample).encode(), content_type=f"application/{form}"
    )


OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
        optional={"path": st.one_of(TEXTS, st.sampled_from(["/data/a", "/metadata", "", "/data/-", "/metadata/labels/a"])),
                  "from": st.sampled_from(["/data", "/x", ""]), "value": VALUES},
    ),
    max_size=4,
)  # fmt: skip


@given(OPERATIONS)
def test_fuzzed_json_patches(fuzzed: InProcessServer, operations: Any) -> None:
    """Any JSON patch operations, on a built-in and on a custom kind."""
    for path in ("/api/v1/namespaces/f/configmaps/c", "/apis/bars.example/v1/namespaces/f/bars/b"):
        body = json.dumps(operations).encode()
        send_and_check(fuzzed, "PATCH", f"{path}?dryRun=All", body, content_type="application/json-patch+json")


@given(
    st.one_of(st.binary(max_size=60), TEXTS.map(lambda t: t.encode("utf-8", "surrogatepass"))),
    st.sampled_from(["json", "yaml", "vnd.orch.protobuf"]),
)
@example(b"&a [*a, *a]", "yaml")
@example(b"a: &a\n  <<: *a", "yaml")
@example(b"\xff\xfe", "yaml")
@example(b"[" * 5000, "json")
def test_fuzzed_bytes(fuzzed: InProcessServer, data: bytes, form: str) -> None:
    """Any bytes with any content type."""
    for path in ("/api/v1/namespaces/f/configmaps", "/apis/bars.example/v1/namespaces/f/bars"):
        send_and_check(fuzzed, "POST", path, data, content_type=f"application/{form}")
    send_and_check(fuzzed, "DELETE", "/api/v1/namespaces/f/configmaps/none", data, content_type=f"application/{form}")
    send_and_check(
        fuzzed,
        "PATCH",
        "/api/v1/namespaces/f/configmaps/c?fieldManager=m",
        data,
        content_type="application/apply-patch+yaml",
    )


@given(st.data())
def test_fuzzed_protobuf(fuzzed: InProcessServer, data: st.DataObject) -> None:
    """A protobuf message with some bytes changed, removed or repeated."""
    resource = fuzzed.server.catalog.resource("", "v1", "pods")
    assert resource is not None
    whole = protobuf.encode({"apiVersion": "v1", "kind": "Pod", **POD}, resource.type)
    at = data.draw(st.integers(4, len(whole) - 1))
    to = data.draw(st.integers(at, min(at + 4, len(whole))))
    body = whole[:at] + data.draw(st.binary(max_size=4)) + whole[to:]
    send_and_check(
        fuzzed, "POST", "/api/v1/namespaces/f/pods?dryRun=All", body, content_type="application/vnd.orch.protobuf"
    )


NAMES = ("limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "timeoutSeconds",
         "watch", "allowWatchBookmarks", "dryRun", "fieldManager", "force", "gracePeriodSeconds", "propagationPolicy",
         "orphanDependents", "pretty", "includeObject", "fieldValidation", "export", "uid")  # fmt: skip
WORDS = st.one_of(
    TEXTS,
    st.sampled_from(
        [
            "1",
            "All",
            "Exact",
            "a in (b,c)",
            "!a",
            "a,b",
            "metadata.name=c",
            "spec.nodeName!=",
            "((",
            "a\\,b=c",
            "Orphan",
            "x>1",
        ]
    ),
    st.text("ain(),=!<>\\ -", max_size=10),
)
PARAMETERS = st.dictionaries(st.sampled_from(NAMES), WORDS, max_size=4)


def query(parameters: dict[str, str]) -> str:
    return "&".join(
        f"{name}={quote(value.encode('utf-8', 'surrogatepass'), safe='')}" for name, value in parameters.items()
    )


@given(PARAMETERS, st.sampled_from([path for path, _ in SAMPLES if "selfsubject" not in path]))
def test_fuzzed_parameters(fuzzed: InProcessServer, parameters: dict[str, str], path: str) -> None:
    """Any parameters of lists, watches, reads and writes."""
    asked = query(parameters)
    name = dict(SAMPLES)[path]["metadata"]["name"]
    send_and_check(fuzzed, "GET", f"{path}?{asked}")
    send_and_check(fuzzed, "GET", f"{path}/{name}?{asked}")
    send_and_check(fuzzed, "DELETE", f"{path}/{name}?{asked}&dryRun=All")
    send_and_check(fuzzed, "DELETE", f"{path}?{asked}&dryRun=All")
    send_and_check(
        fuzzed, "PATCH", f"{path}/{name}?{asked}&dryRun=All", b"{}", content_type="application/merge-patch+json"
    )


ACCEPTS = st.lists(
    st.one_of(
        st.text(max_size=10),
        st.text("applicationjson/*;=,q.0 ", max_size=20),
        st.builds(
            "{}{}".format,
            st.sampled_from(["application/json", "application/yaml", "application/vnd.orch.protobuf", "*/*", "text/html", "application/*"]),
            st.sampled_from(["", ";as=Table;g=meta.orch.io;v=v1", ";as=PartialObjectMetadataList;g=meta.orch.io;v=v1beta1",
                             ";as=PartialObjectMetadata;g=meta.orch.io;v=v1", ";q=0", ";q=x", ";stream=watch", ";pretty=1", ";as=X"]),
        ),
    ),
    max_size=3,
).map(",".join)  # fmt: skip


@given(ACCEPTS, st.sampled_from([path for path, _ in SAMPLES if "selfsubject" not in path]), TEXTS)
def test_fuzzed_media_types(fuzzed: InProcessServer, accept: str, path: str, content_type: str) -> None:
    """Any Accept and Content-Type, for objects, lists, watches, documents and errors."""
    name = dict(SAMPLES)[path]["metadata"]["name"]
    for asked in (
        path,
        f"{path}/{name}",
        f"{path}/none",
        f"{path}?watch=1",
        "/api",
        "/apis/apps",
        "/openapi/v2",
        "/version",
    ):
        send_and_check(fuzzed, "GET", asked, accept=accept)
    send_and_check(fuzzed, "POST", f"{path}?dryRun=All", b"{}", accept=accept, content_type=content_type)


@given(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"]), st.lists(
    st.one_of(st.sampled_from(["api", "apis", "v1", "apps", "namespaces", "f", "pods", "p", "watch", "proxy", "status", "scale", "log",
                               "exec", "eviction", "token", "serviceaccounts", "default", "finalize", "nodes", "n", "..", "", "bars.example", "bars"]),
              st.text(max_size=5)), max_size=9))  # fmt: skip
def test_fuzzed_methods_and_paths(fuzzed: InProcessServer, method: str, parts: list[str]) -> None:
    """Any method and path."""
    path = "/" + "/".join(quote(part.encode("utf-8", "surrogatepass"), safe="") for part in parts)
    send_and_check(fuzzed, method, f"{path}?dryRun=All", b"{}")
