"""Field ownership of custom objects in several versions, converted without a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

DEFINITIONS = f"/apis/{ORCH('apiextensions.{abbr}.io')}/v1/customresourcedefinitions"
TEXT = {"type": "string"}
#: Version -> members of its spec. Objects are stored as v1.
VERSIONS = {"v1": {"a": TEXT, "b": TEXT}, "v2": {"a": TEXT, "b": TEXT, "c": TEXT}, "v3": {"a": TEXT}}
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("server"))
    versions = [
        {
            "name": name, "served": True, "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": members}}}},
        }
        for name, members in VERSIONS.items()
    ]  # fmt: skip
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": versions,
    }
    assert (
        run(server.request("POST", DEFINITIONS, body={"metadata": {"name": "things.example.com"}, "spec": spec})).code
        == 201
    )
    server.clock.pump([1, 1, 1])
    yield server
    server.stop()


class Things:
    """Writes of one object."""

    def __init__(self, server: InProcessServer, name: str) -> None:
        self._server, self._name = server, name

    def write(self, version: str, manager: str, form: str = MERGE, query: str = "", **spec: Any) -> JsonResponse:
        body = {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": self._name}, "spec": spec}
        url = f"/apis/example.com/{version}/things/{self._name}?fieldManager={manager}{query}"
        return run(self._server.request("PATCH", url, body=body, headers={"content-type": form}))

    def managers(self) -> list[str]:
        url = f"/apis/example.com/v1/things/{self._name}"
        entries = run(self._server.request("GET", url)).json["metadata"].get("managedFields") or ()
        return [
            f"{entry['manager']} {entry['apiVersion'].split('/')[1]} {sorted(entry['fieldsV1']['f:spec'])}"
            for entry in entries
        ]


def test_version_without_a_field_ends_ownership(server: InProcessServer) -> None:
    """A write of a field that the version of another manager does not declare leaves no ownership at all; the next
    apply begins it anew."""
    things = Things(server, "a")
    assert things.write("v1", "m1", APPLY, a="1", b="2").code == 201
    assert things.managers() == ["m1 v1 ['f:a', 'f:b']"]
    assert things.write("v2", "m2", b="3").code == 200
    assert things.managers() == ["m1 v1 ['f:a']", "m2 v2 ['f:b']"]
    assert things.write("v2", "m2", c="4").code == 200
    assert things.managers() == []
    assert things.write("v1", "m1", APPLY, "&force=true", a="5").code == 200
    assert [each.split()[0] for each in things.managers()] == ["m1", "before-first-apply"]


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (("v3", "m1", {"a": "1"}), ("v1", "m2", {"b": "2"}), "failed to convert new object: .spec.b: field not declared in schema"),
        (
            ("v3", "m1", {"a": "1"}), ("v1", "m1", {"a": "2", "b": "2"}),
            "failed to prune fields: failed to convert merged object to last applied version: .spec.b: field not declared in schema",
        ),
    ],
)  # fmt: skip
def test_apply_of_a_field_that_another_version_lacks(
    server: InProcessServer, first: Any, second: Any, why: str
) -> None:
    """An apply is refused if the object does not fit the version in which a manager owns fields."""
    things = Things(server, f"b-{second[1]}")
    assert things.write(first[0], first[1], APPLY, **first[2]).code == 201
    refused = things.write(second[0], second[1], APPLY, "&force=true", **second[2])
    assert (refused.code, refused.json["message"]) == (500, why)
