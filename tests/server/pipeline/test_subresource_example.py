"""The subresource of docs/extending/subresource.md is served with its row and its verb in the tables."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orchd.assembly import api, verbs
from orchd.kinds.builtin import core_v1
from orchd.kinds.rows import Row, Subresource
from orchd.testing.doubles.server import InProcessServer, make_server, run, user

ROOT = Path(__file__).resolve().parents[3]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_example", ROOT / "docs" / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extended(resources: tuple[Row, ...], kind: str, row: Subresource) -> tuple[Row, ...]:
    """The table with the row of step 1."""
    return tuple(
        replace(each, subresources=(*each.subresources, row)) if each.kind == kind else each for each in resources
    )


@pytest.fixture
def server(tmp_path: Path, builtin_tables: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    reading, writing = example("subresource"), example("subresource_write")
    resources = extended(core_v1.RESOURCES, "ConfigMap", reading.ROW)
    builtin_tables.setattr(core_v1, "RESOURCES", extended(resources, "Node", writing.ROW))

    def named_verbs(dependencies: verbs.VerbDependencies) -> Mapping[str, Any]:
        more = {reading.ROW.served_by: {"get": reading.get_keys}, writing.ROW.served_by: {"create": writing.cordon}}
        return {**verbs.named_verbs(dependencies), **more}

    builtin_tables.setattr(api, "named_verbs", named_verbs)
    running = make_server(tmp_path)
    yield running
    running.stop()


def test_example_subresource_is_served(server: InProcessServer) -> None:
    """GET returns the keys, discovery lists the subresource, and other methods are rejected."""
    maps = "/api/v1/namespaces/default/configmaps"
    response = run(server.request("POST", maps, body={"metadata": {"name": "a"}, "data": {"y": "1", "x": "2"}}))
    assert response.code == 201
    assert run(server.request("GET", f"{maps}/a/keys")).json == {"keys": ["x", "y"]}
    assert run(server.request("GET", f"{maps}/b/keys")).code == 404
    assert run(server.request("PUT", f"{maps}/a/keys", body={})).code == 405
    listed = {each["name"]: each for each in run(server.request("GET", "/api/v1")).json["resources"]}
    assert listed["configmaps/keys"]["verbs"] == ["get"]


def test_example_subresource_needs_its_own_permission(server: InProcessServer) -> None:
    """RBAC checks configmaps/keys: permission to read the ConfigMap is not enough."""
    run(server.request("POST", "/api/v1/namespaces/default/configmaps", body={"metadata": {"name": "a"}}))
    response = run(server.request("GET", "/api/v1/namespaces/default/configmaps/a/keys", user=user("eve", "people")))
    assert response.code == 403 and 'resource "configmaps/keys"' in response.json["message"]


def test_example_of_a_subresource_that_writes(server: InProcessServer) -> None:
    """POST changes the spec and nothing in a dry run; a body of another form is named; the right to update nodes is not
    enough."""
    nodes = "/api/v1/nodes"
    response = run(server.request("POST", nodes, body={"metadata": {"name": "a"}}))
    assert response.code == 201

    def unschedulable() -> bool:
        return bool(run(server.request("GET", f"{nodes}/a")).json["spec"].get("unschedulable"))

    assert run(server.request("POST", f"{nodes}/a/cordon?dryRun=All", body={})).json["spec"]["unschedulable"] is True
    assert not unschedulable()
    assert run(server.request("POST", f"{nodes}/a/cordon", body={})).code == 200
    assert unschedulable()
    assert run(server.request("POST", f"{nodes}/a/cordon", body={"unschedulable": False})).code == 200
    assert not unschedulable()
    wrong: tuple[object, ...] = ({"unschedulable": 1}, [])
    for body in wrong:
        refused = run(server.request("POST", f"{nodes}/a/cordon", body=body))
        assert refused.code == 400 and "unschedulable true or false" in refused.json["message"]
    assert run(server.request("POST", f"{nodes}/b/cordon", body={})).code == 404
    assert run(server.request("POST", f"{nodes}/a/cordon", body={}, user=user("eve", "people"))).code == 403
