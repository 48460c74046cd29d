"""Representations of responses: JSON, YAML, protobuf, pretty-printed, tables and partial metadata; and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.codec import protobuf
from orchd.testing.doubles.server import run

PROTOBUF = "application/vnd.orch.protobuf"


@pytest.mark.parametrize(
    ("accept", "content_type", "begins"),
    [
        ("application/json", "application/json", b'{"kind":"ConfigMap"'),
        ("", "application/json", b'{"kind":"ConfigMap"'),
        ("*/*", "application/json", b'{"kind":"ConfigMap"'),
        ("application/yaml", "application/yaml", b"apiVersion: v1"),
        (PROTOBUF, PROTOBUF, b"orc\0"),
        ("text/html;q=0.1, application/yaml;q=0.5", "application/yaml", b"apiVersion"),
    ],
)
def test_accept_header_selects_the_representation(space: Any, accept: str, content_type: str, begins: bytes) -> None:
    """Accept selects the representation; a second reader gets the same bytes."""
    space.config("a")
    first = space("GET", "configmaps/a", accept=accept)
    assert first.code == 200 and first.response.content_type == content_type
    assert first.body.startswith(begins) or (content_type == PROTOBUF and b"ConfigMap" in first.body)
    assert space("GET", "configmaps/a", accept=accept).body == first.body


def test_unacceptable_form_is_406(space: Any) -> None:
    """An unsupported representation is 406 in JSON."""
    response = space("GET", "configmaps", accept="text/html")
    assert (response.code, response.json["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(("query", "agent", "pretty"), [("?pretty=true", "x", True), ("", "curl/8", True), ("", "x", False),
                                                       ("?pretty=0", "curl/8", False)])  # fmt: skip
def test_pretty_printing_for_browsers_and_curl(space: Any, query: str, agent: str, pretty: bool) -> None:
    """Browsers and curl get indented JSON unless they opt out; errors are indented alike."""
    space.config("a")
    for rest in ("configmaps/a", "configmaps/missing"):
        assert (b"\n  " in space("GET", rest + query, user_agent=agent).body) is pretty


def test_list_items_have_no_kind(space: Any) -> None:
    """Items of built-in kinds have neither kind nor apiVersion; the list has."""
    space.config("a")
    shown = space("GET", "configmaps").json
    assert (shown["kind"], shown["apiVersion"]) == ("ConfigMapList", "v1")
    assert shown["items"][0].keys() == {"metadata", "data"}
    empty = space("GET", "secrets").json
    assert empty["items"] == []


@pytest.mark.parametrize(
    "damage", [b'{"kind":"Other","apiVersion":"v1",', b'{"kind":"ConfigMap","apiVersion":"v10",', b"{"]
)
def test_unexpected_stored_bytes_are_shown_whole(space: Any, damage: bytes) -> None:
    """Stored bytes that do not begin with kind and apiVersion, of an older release for example, are decoded as a
    whole."""
    space.config("a")
    value = damage + b'"metadata":{"name":"b","namespace":"%b","uid":"u","resourceVersion":""},"data":{"k":"v"}}'
    run(space.server.server.storage.store.create(f"/configmaps/{space.name}/b", value % space.name.encode()))
    listed = space("GET", "configmaps").json["items"]
    assert [(item["metadata"]["name"], item["data"], "kind" in item) for item in listed] == [
        ("a", {"k": "v"}, False), ("b", {"k": "v"}, False),
    ]  # fmt: skip
    assert space("GET", "configmaps/b").json["data"] == {"k": "v"}


def test_tables_and_their_rows(space: Any) -> None:
    """Rows have cells, and what includeObject selects of the object. Ages are computed at the request."""
    meta = space.server.dialect.meta_group
    accept = f"application/json;as=Table;g={meta};v=v1"
    space.config("a")
    for include, kind in (("", "PartialObjectMetadata"), ("Object", "ConfigMap"), ("None", None)):
        table = space("GET", f"configmaps?includeObject={include}", accept=accept).json
        assert table["kind"] == "Table" and table["rows"][0]["cells"] == ["a", 1, "0s"]
        assert (table["rows"][0]["object"] or {}).get("kind") == kind
    assert space("GET", "configmaps?includeObject=Else", accept=accept).code == 400
    assert space("GET", "configmaps/a", accept=accept).json["rows"][0]["cells"][0] == "a"


def test_rows_do_not_depend_on_the_version_of_the_request(space: Any) -> None:
    """Cells and metadata of built-in kinds are the same in every version: v1 keeps a metric of Pods in an annotation.
    An included object has the requested version."""
    meta = space.server.dialect.meta_group
    accept = f"application/json;as=Table;g={meta};v=v1"
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3, "metrics": [metric]}
    space.make("horizontalpodautoscalers", {"metadata": {"name": "h"}, "spec": spec}, group="autoscaling/v2")
    for version in ("v1", "v2", "v2beta1"):
        group = f"autoscaling/{version}"
        row = space("GET", "horizontalpodautoscalers", group=group, accept=accept).json["rows"][0]
        assert row["cells"][2] == "<unknown>/10"
        assert "annotations" not in row["object"]["metadata"]
        whole = space("GET", "horizontalpodautoscalers?includeObject=Object", group=group, accept=accept).json["rows"][
            0
        ]
        assert (whole["object"]["apiVersion"], "metrics" in whole["object"]["spec"]) == (group, version != "v1")


def test_partial_metadata_of_objects_and_lists(space: Any) -> None:
    """PartialObjectMetadata is for objects, PartialObjectMetadataList for lists; otherwise it is 406."""
    meta = space.server.dialect.meta_group
    one, many = (
        f"application/json;as={k};g={meta};v=v1" for k in ("PartialObjectMetadata", "PartialObjectMetadataList")
    )
    space.config("a")
    assert "data" not in space("GET", "configmaps/a", accept=one).json
    assert space("GET", "configmaps", accept=many).json["items"][0]["metadata"]["name"] == "a"
    space.config("b")
    page = space("GET", "configmaps?limit=1", accept=many).json["metadata"]
    assert page["continue"] and "remainingItemCount" not in page
    assert space("GET", "configmaps", accept=one).code == space("GET", "configmaps/a", accept=many).code == 406


def test_objects_are_shown_in_the_requested_version(space: Any) -> None:
    """An object is converted to the requested version."""
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 70,
    }
    body = {"metadata": {"name": "h"}, "spec": spec}
    group = "autoscaling/v1"
    assert space.make("horizontalpodautoscalers", body, group=group)["spec"]["targetCPUUtilizationPercentage"] == 70
    newer = space("GET", "horizontalpodautoscalers", group="autoscaling/v2").json["items"][0]
    assert newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70


def test_deprecated_versions_warn(space: Any) -> None:
    """Responses in a deprecated version have one warning."""
    response = space("GET", "poddisruptionbudgets", group="policy/v1beta1")
    assert "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+" in response.headers["Warning"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/nonsense", 404),
        ("GET", "/apis/none/v1/x", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/pods/p", 404),
        ("POST", "/api/v1/pods", 405),
        ("PUT", "/api/v1/namespaces/default/pods", 405),
        ("HEAD", "/api/v1/namespaces/default/pods", 405),
        ("OPTIONS", "/api/v1/namespaces/default/pods", 405),
        ("GET", "/api/v1/namespaces/default/pods/p/nonsense", 404),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/nonsense", 404),
        ("GET", "/version", 200),
        ("GET", "/readyz", 200),
        ("GET", "/livez/ping", 200),
        ("GET", "/metrics", 200),
        ("GET", "/api", 200),
        ("GET", "/apis/apps", 200),
        ("GET", "/apis/apps/v1", 200),
        ("GET", "/openapi/v2", 200),
    ],
)
def test_unknown_paths_and_methods(server: Any, method: str, path: str, code: int) -> None:
    """Unknown paths and methods are 404 or 405; the server's documents are served."""
    assert run(server.request(method, path)).code == code


def test_openapi_documents(server: Any) -> None:
    """The document has an Etag and a compressed encoding."""
    first = run(server.request("GET", "/openapi/v2"))
    tag = first.headers["Etag"]
    assert run(server.request("GET", "/openapi/v2", headers={"If-None-Match": tag})).code == 304
    packed = run(server.request("GET", "/openapi/v2", headers={"Accept-Encoding": "gzip"}))
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < len(first.body) / 4
    assert run(server.request("GET", "/openapi/v2", headers={"Accept": "text/html"})).code == 406


def test_metadata_in_protobuf(space: Any) -> None:
    """Partial metadata of all objects has a protobuf form, also of custom objects, which have none themselves."""
    meta = space.server.dialect.meta_group
    run(space.server.request("POST", f"/apis/apiextensions.{space.server.dialect('{abbr}.io')}/v1/customresourcedefinitions", body={
        "metadata": {"name": "ants.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "ants", "kind": "Ant"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    }))  # fmt: skip
    space.server.clock.pump([1] * 3)
    space.make(
        "ants", {"apiVersion": "example.com/v1", "kind": "Ant", "metadata": {"name": "a"}}, group="example.com/v1"
    )
    refused = space("GET", "ants/a", group="example.com/v1", accept=PROTOBUF)
    assert refused.code == 406 and PROTOBUF.encode() in refused.body
    types = space.server.server.catalog.types
    for version in ("v1", "v1beta1"):
        one = space(
            "GET", "ants/a", group="example.com/v1", accept=f"{PROTOBUF};as=PartialObjectMetadata;g={meta};v={version}"
        )
        envelope = protobuf.open_envelope(one.body)
        assert (envelope.api_version, envelope.kind) == (f"{meta}/{version}", "PartialObjectMetadata")
        assert (
            protobuf.decode_message(envelope.raw, types.get("meta/v1.PartialObjectMetadata"))["metadata"]["name"] == "a"
        )
        many = space(
            "GET",
            "ants",
            group="example.com/v1",
            accept=f"{PROTOBUF};as=PartialObjectMetadataList;g={meta};v={version}",
        )
        envelope = protobuf.open_envelope(many.body)
        listed = protobuf.decode_message(envelope.raw, types.get(f"meta/{version}.PartialObjectMetadataList"))
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"] and listed["metadata"]["resourceVersion"]


@pytest.mark.parametrize("as_", ["Table", "PartialObjectMetadata"])
def test_delete_status_has_no_other_form(space: Any, as_: str) -> None:
    """The Status of a completed delete ignores the requested representation; other writes use it."""
    accept = f"application/json;as={as_};g={space.server.dialect.meta_group};v=v1"
    response = space("POST", "configmaps", {"metadata": {"name": "a"}}, accept=accept)
    assert (response.code, response.json["kind"]) == (201, as_)
    changed = space(
        "PATCH", "configmaps/a", {"data": {"a": "b"}}, accept=accept, content_type="application/merge-patch+json"
    )
    assert (changed.code, changed.json["kind"]) == (200, as_)
    gone = space("DELETE", "configmaps/a", accept=accept)
    assert (gone.code, gone.json["kind"], gone.json["status"]) == (200, "Status", "Success")


def test_kinds_without_tables_fall_back_to_json(space: Any) -> None:
    """A Scale has no table: a client that also accepts JSON gets JSON. Otherwise the request is rejected before it is
    executed."""
    meta = space.server.dialect.meta_group
    table = f"application/json;as=Table;g={meta};v=v1"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    space.make("deployments", {"metadata": {"name": "d"}, "spec": spec}, group="apps/v1")
    shown = space("GET", "deployments/d/scale", group="apps/v1", accept=f"{table},application/json")
    assert (shown.code, shown.json["kind"]) == (200, "Scale")
    assert space("GET", "deployments/d/scale", group="apps/v1", accept=table).code == 406
    metadata = space(
        "GET", "deployments/d/scale", group="apps/v1", accept=table.replace("Table", "PartialObjectMetadata")
    )
    assert metadata.json["kind"] == "PartialObjectMetadata"
    change = {"metadata": {"name": "d"}, "spec": {"replicas": 5}}
    assert space("PUT", "deployments/d/scale", change, group="apps/v1", accept=table).code == 406
    assert space("GET", "deployments/d/scale", group="apps/v1").json["spec"] == {"replicas": 1}
    space.make("pods", {"metadata": {"name": "p"}, "spec": template["spec"]})
    for accept, code in (("text/html", 406), (table, 406), (f"{table},application/json", 201)):
        assert space("POST", "pods/p/eviction", {"metadata": {"name": "p"}}, accept=accept).code == code
    assert space("GET", "pods/p").code == 404


def test_members_are_served_in_the_order_of_the_types(space: Any) -> None:
    """The order is the same for any order in the request, in the stored and other versions, and in a dry run."""
    metric = {
        "resource": {"target": {"averageUtilization": 5, "type": "Utilization"}, "name": "cpu"},
        "type": "Resource",
    }
    spec = {"metrics": [metric], "maxReplicas": 2, "scaleTargetRef": {"name": "a", "kind": "Deployment"}}
    expected = b'"spec":{"scaleTargetRef":{"kind":"Deployment","name":"a"},"minReplicas":1,"maxReplicas":2,"metrics":['
    of_metric = b'{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}}}'
    autoscaler = {"spec": spec, "metadata": {"name": "a"}}
    for query in ("?dryRun=All", ""):
        response = space("POST", f"horizontalpodautoscalers{query}", autoscaler, group="autoscaling/v2")
        assert response.code == 201
        assert expected + of_metric in response.body
    assert expected + of_metric in space("GET", "horizontalpodautoscalers/a", group="autoscaling/v2").body
    older = space("GET", "horizontalpodautoscalers/a", group="autoscaling/v1").body
    assert (
        b'"spec":{"scaleTargetRef":{"kind":"Deployment","name":"a"},"minReplicas":1,"maxReplicas":2,"targetCPUUtilizationPercentage":5}'
        in older
    )


def test_reviews_are_answered_in_the_order_of_their_type(space: Any) -> None:
    """A posted review is returned in the order of its type, before the status."""
    spec = {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "n"}}
    response = run(
        space.server.request("POST", "/apis/authorization.orch.io/v1/subjectaccessreviews", body={"spec": spec})
    )
    expected = b'"spec":{"resourceAttributes":{"namespace":"n","verb":"get","resource":"pods"},"user":"a"},"status":{'
    assert response.code == 201 and expected in response.body


def test_dry_runs_of_new_objects_have_no_version_in_tables(space: Any) -> None:
    """The table of an object that is not created has no resourceVersion; that of an existing one has the object's."""
    accept = f"application/json;as=Table;g={space.server.dialect.meta_group};v=v1"
    response = space("POST", "configmaps?dryRun=All", {"metadata": {"name": "a"}}, accept=accept)
    assert (response.code, response.json["metadata"]) == (201, {})
    space.config("a")
    changed = space(
        "PATCH",
        "configmaps/a?dryRun=All",
        {"data": {"a": "b"}},
        accept=accept,
        content_type="application/merge-patch+json",
    )
    assert changed.json["metadata"] == {
        "resourceVersion": space("GET", "configmaps/a").json["metadata"]["resourceVersion"]
    }


def test_members_of_a_completed_delete_are_in_the_order_of_the_reference(space: Any) -> None:
    """Name, group, kind, uid."""
    space.make("leases", {"metadata": {"name": "a"}}, group="coordination.orch.io/v1")
    assert list(space("DELETE", "leases/a", group="coordination.orch.io/v1").json["details"]) == [
        "name",
        "group",
        "kind",
        "uid",
    ]
