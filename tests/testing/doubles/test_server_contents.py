"""A server in process goes back to the contents that its store had."""

from __future__ import annotations

from pathlib import Path

from orchd.client.interfaces import ResourceRef
from orchd.testing.doubles.server import make_server, run

MAPS = ResourceRef("", "v1", "configmaps")
ROLES = ResourceRef("rbac.authorization.orch.io", "v1", "clusterroles")
DEFINITIONS = ResourceRef("apiextensions.orch.io", "v1", "customresourcedefinitions")


def test_contents_are_restored(tmp_path: Path) -> None:
    """What was created is gone, what was deleted or changed is back, and the catalog follows."""
    server = make_server(tmp_path)
    client = server.client()
    before, role = server.contents(), run(client.get(ROLES, "", "view"))
    run(client.create(MAPS, "default", {"metadata": {"name": "m"}}))
    run(client.delete(ROLES, "", "edit"))
    run(client.update(ROLES, "", "view", {**role, "metadata": {**role["metadata"], "labels": {"a": "b"}}}))
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "x.example.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Cluster",
        "versions": [version],
    }
    run(client.create(DEFINITIONS, "", {"metadata": {"name": "foos.x.example.com"}, "spec": spec}))
    server.clock.pump([1] * 3)
    assert server.server.catalog.resource("x.example.com", "v1", "foos") is not None
    server.restore(before)
    assert {key: item.value for key, item in server.contents().items()} == {
        key: item.value for key, item in before.items()
    }
    assert run(server.request("GET", "/api/v1/namespaces/default/configmaps/m")).code == 404
    restored = run(client.get(ROLES, "", "view"))["metadata"]
    assert restored["labels"] == role["metadata"]["labels"] and run(client.get(ROLES, "", "edit"))
    assert server.server.catalog.resource("x.example.com", "v1", "foos") is None
    server.stop()
