"""The version of docs/extending/api-version.md is served with its table, registration and conversion."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchd.kinds.builtin import coordination_v1, groups
from orchd.kinds.rows import KindRow, Row
from orchd.testing.doubles.server import InProcessServer, make_server, run

ROOT = Path(__file__).resolve().parents[2]
OLD = "/apis/coordination.orch.io/v1beta1/namespaces/default/leases"
NEW = "/apis/coordination.orch.io/v1/namespaces/default/leases"


def stored_in_v1(row: Row) -> Row:
    """The row of the kind with the storage version, which it needs once it has several versions."""
    assert isinstance(row, KindRow)
    return dataclasses.replace(row, storage_version="coordination.{abbr}.io/v1")


@pytest.fixture
def server(tmp_path: Path, builtin_tables: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    path = "orchd.kinds.builtin.coordination_v1beta1"
    spec = importlib.util.spec_from_file_location(path, ROOT / "docs" / "examples" / "api_version.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    builtin_tables.setitem(sys.modules, path, module)
    builtin_tables.setitem(groups.MODULES, "coordination/v1beta1", "coordination_v1beta1")
    row = ("coordination.{abbr}.io", (groups.GroupVersion("v1"), groups.GroupVersion("v1beta1")))
    rows = tuple(row if each[0] == row[0] else each for each in groups.GROUPS)
    builtin_tables.setattr(groups, "GROUPS", rows)
    builtin_tables.setitem(sys.modules, "orchd.kinds.objects.conversions.leases", module)
    builtin_tables.setattr(coordination_v1, "RESOURCES", (stored_in_v1(coordination_v1.RESOURCES[0]),))
    running = make_server(tmp_path)
    yield running
    running.stop()


def test_both_versions_show_one_object(server: InProcessServer) -> None:
    """An object that is written in one version is read in the other; the deprecated one has a warning."""
    lease = {"metadata": {"name": "a"}, "spec": {"holder": "me", "leaseDurationSeconds": 5}}
    response = run(server.request("POST", OLD, body=lease))
    assert response.code == 201 and response.json["spec"] == lease["spec"]
    assert "coordination.orch.io/v1" in response.headers["Warning"]
    assert run(server.request("GET", f"{NEW}/a")).json["spec"] == {"holderIdentity": "me", "leaseDurationSeconds": 5}
    patch = {"spec": {"holderIdentity": "you"}}
    headers = {"content-type": "application/merge-patch+json"}
    assert run(server.request("PATCH", f"{NEW}/a", body=patch, headers=headers)).code == 200
    listed = run(server.request("GET", OLD)).json
    assert (listed["apiVersion"], listed["items"][0]["spec"]["holder"]) == ("coordination.orch.io/v1beta1", "you")


def test_discovery_lists_the_version(server: InProcessServer) -> None:
    """The group lists both versions, the preferred one first; the OpenAPI document has the field."""
    group = run(server.request("GET", "/apis/coordination.orch.io")).json
    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1"]
    listed = run(server.request("GET", "/apis/coordination.orch.io/v1beta1")).json["resources"]
    assert [each["name"] for each in listed] == ["leases"]


def test_versions_of_the_custom_kind(tmp_path: Path) -> None:
    """With the definition of the page, an object of v2 is read in v1, deprecated, and an update in v1 drops what v1
    lacks; a version that the store may contain stays in the definition. The page's webhook is accepted in its place."""
    page = (ROOT / "docs/extending/api-version.md").read_text(encoding="utf-8")
    definition, webhook = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    server = make_server(tmp_path)
    definitions = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
    assert run(server.request("POST", definitions, body=definition)).code == 201
    server.clock.advance(1)
    paints = "/apis/example.com/{}/namespaces/default/paints"
    body = {
        "apiVersion": "example.com/v2",
        "kind": "Paint",
        "metadata": {"name": "a"},
        "spec": {"color": "red", "gloss": True},
    }
    assert run(server.request("POST", paints.format("v2"), body=body)).code == 201
    old = run(server.request("GET", f"{paints.format('v1')}/a"))
    assert old.json["spec"] == {"color": "red"} and "deprecated" in old.headers["Warning"]
    assert run(server.request("PUT", f"{paints.format('v1')}/a", body=old.json)).code == 200
    assert run(server.request("GET", f"{paints.format('v2')}/a")).json["spec"] == {"color": "red"}
    current = run(server.request("GET", f"{definitions}/paints.example.com")).json
    assert current["status"]["storedVersions"] == ["v2"]
    without = {
        **current,
        "spec": {**current["spec"], "versions": [{**current["spec"]["versions"][1], "storage": True}]},
    }
    assert run(server.request("PUT", f"{definitions}/paints.example.com", body=without)).code == 422
    webhook["conversion"]["webhook"]["clientConfig"]["caBundle"] = ""
    changed = {**current, "spec": {**current["spec"], **webhook}}
    assert run(server.request("PUT", f"{definitions}/paints.example.com", body=changed)).code == 200
    server.stop()
