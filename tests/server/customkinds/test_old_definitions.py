"""v1beta1 definitions, on a server whose runtime configuration serves them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.server import InProcessServer, make_server, run

GROUP = ORCH("apiextensions.{abbr}.io")
V1 = ResourceRef(GROUP, "v1", "customresourcedefinitions")
V1BETA1 = ResourceRef(GROUP, "v1beta1", "customresourcedefinitions")
THINGS = ResourceRef("example.com", "v1", "things")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, f"--runtime-config={GROUP}/v1beta1=true")
    yield server
    server.stop()


def definition(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "version": "v1", "names": {"plural": "things", "kind": "Thing"}, **spec},
    }


def thing(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **members}


def test_preserve_unknown_fields_keeps_everything(server: InProcessServer) -> None:
    """By default nothing is pruned and no schema is required; a condition reports this."""
    admin = server.client()
    stored_definition = run(admin.create(V1BETA1, "", definition()))
    assert (stored_definition["apiVersion"], stored_definition["spec"]["preserveUnknownFields"]) == (
        f"{GROUP}/v1beta1",
        True,
    )
    assert stored_definition["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]
    body = thing(spec={"a": {"b": [1, {"c": None}]}})
    assert run(admin.create(THINGS, "default", body))["spec"] == body["spec"]
    shown = run(admin.get(V1, "", "things.example.com"))
    assert shown["spec"]["preserveUnknownFields"] is True
    (condition,) = (c for c in shown["status"]["conditions"] if c["type"] == "NonStructuralSchema")
    assert (condition["status"], condition["reason"]) == ("True", "Violations")
    assert condition["message"] == "spec.preserveUnknownFields: Invalid value: true: must be false"


def test_pruning_needs_a_structural_schema(server: InProcessServer) -> None:
    """Without preserveUnknownFields schemas must be structural, and unknown fields are pruned; the condition is removed
    once it is not true."""
    admin = server.client()
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"a": {"type": "string"}}}}}}
    with pytest.raises(ApiError, match="type: Required value: must not be empty for specified object fields"):
        run(admin.create(V1BETA1, "", definition(preserveUnknownFields=False, validation=schema)))
    stored_definition = run(admin.create(V1BETA1, "", definition(validation=schema)))
    stored_definition = run(admin.get(V1BETA1, "", "things.example.com"))
    assert "for specified object fields" in str(stored_definition["status"]["conditions"])
    with pytest.raises(ApiError, match="must be of type string"):
        run(admin.create(THINGS, "default", thing(spec={"a": 1})))
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    stored_definition["spec"]["validation"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": inner}}}
    stored_definition["spec"]["preserveUnknownFields"] = False
    run(admin.update(V1BETA1, "", "things.example.com", stored_definition))
    assert run(admin.create(THINGS, "default", thing(spec={"a": "x", "b": 1})))["spec"] == {"a": "x"}
    shown = run(admin.get(V1, "", "things.example.com"))
    assert [c["type"] for c in shown["status"]["conditions"]] == ["NamesAccepted", "Established"]


def test_v1beta1_cannot_use_defaults(server: InProcessServer) -> None:
    """Defaults need v1, and v1 does not allow preserveUnknownFields."""
    admin = server.client()
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    with pytest.raises(ApiError, match=r"must not be set \(cannot set default values in"):
        run(admin.create(V1BETA1, "", definition(validation=schema)))
    whole = definition()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {**whole["spec"], "scope": "Namespaced", "versions": [version], "preserveUnknownFields": True}
    spec.pop("version")
    with pytest.raises(ApiError, match="cannot set to true, set x-preserve-unknown-fields to true"):
        run(admin.create(V1, "", {**whole, "apiVersion": f"{GROUP}/v1", "spec": spec}))


def test_v1beta1_requests_are_warned(server: InProcessServer) -> None:
    """Requests get a deprecation warning; only the version's own runtime-config key enables it."""
    response = run(server.request("GET", f"/apis/{GROUP}/v1beta1/customresourcedefinitions"))
    assert response.code == 200
    assert f"{GROUP}/v1beta1 CustomResourceDefinition is deprecated in v1.16+" in str(response.headers)
    group = run(server.request("GET", f"/apis/{GROUP}")).json
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"


def test_api_all_does_not_enable_v1beta1(tmp_path: Path) -> None:
    """api/all does not enable a removed version."""
    server = make_server(tmp_path, "--runtime-config=api/all=true")
    try:
        assert run(server.request("GET", f"/apis/{GROUP}/v1beta1/customresourcedefinitions")).code == 404
    finally:
        server.stop()
