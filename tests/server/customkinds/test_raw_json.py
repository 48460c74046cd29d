"""JSON of custom objects in responses: order of members, numbers and characters as in the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, make_server, run

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
PATH = "/apis/example.com/{}/namespaces/default/things"
SPEC = b'"spec":{"a":[{"c":0.5,"z":1}],"m":1500,"z":"\\u003ca\\u0026b\\u003e"}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    schema = {"openAPIV3Schema": {"type": "object", ORCH("x-{long}-preserve-unknown-fields"): True}}
    versions = [{"name": n, "served": True, "storage": n == "v1", "schema": schema} for n in ("v1", "v2")]
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    run(server.client().create(DEFINITIONS, "", {"metadata": {"name": "things.example.com"}, "spec": spec}))
    yield server
    server.stop()


def create_thing(server: InProcessServer, **more: Any) -> bytes:
    body = {
        "kind": "Thing", "apiVersion": "example.com/v1", "zed": 1, "metadata": {"name": "one", "labels": {"z": "1", "b": "2"}},
        "spec": {"z": "<a&b>", "m": 1.5e3, "a": [{"z": 1.0, "c": 0.5}]}, "alpha": 2, **more,
    }  # fmt: skip
    response = run(server.request("POST", PATH.format("v1"), body=body))
    assert response.code == 201
    return response.body


def test_object_members_are_sorted(server: InProcessServer) -> None:
    """The members of every object are sorted, in every version and in a dry run."""
    created = create_thing(server)
    assert created.startswith(
        b'{"alpha":2,"apiVersion":"example.com/v1","kind":"Thing","metadata":{"creationTimestamp":"'
    )
    assert SPEC + b',"zed":1}\n' in created
    assert b'"labels":{"b":"2","z":"1"}' in created
    assert (
        created
        == orjson.dumps(orjson.loads(created), option=orjson.OPT_SORT_KEYS).replace(
            b"<a&b>", b"\\u003ca\\u0026b\\u003e"
        )
        + b"\n"
    )
    shown = run(server.request("GET", PATH.format("v1") + "/one")).body
    assert shown == created
    other = run(server.request("GET", PATH.format("v2") + "/one")).body
    assert other == created.replace(b'"apiVersion":"example.com/v1","kind"', b'"apiVersion":"example.com/v2","kind"')
    pretty = run(server.request("GET", PATH.format("v1") + "/one?pretty=1")).body
    assert [*json.loads(pretty)] == ["alpha", "apiVersion", "kind", "metadata", "spec", "zed"]
    assert b'\n    "m": 1500,\n    "z": "\\u003ca\\u0026b\\u003e"\n' in pretty
    body = {"kind": "Thing", "apiVersion": "example.com/v1", "metadata": {"name": "two"}, "spec": {}}
    tried = run(server.request("POST", PATH.format("v1") + "?dryRun=All", body=body)).body
    assert tried.startswith(b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"creationTimestamp"')
    assert b"resourceVersion" not in tried


def test_list_members_are_sorted(server: InProcessServer) -> None:
    """The members of a list are sorted, too: items before kind and metadata."""
    one = create_thing(server).rstrip(b"\n")
    empty = run(server.request("GET", PATH.format("v1") + "?fieldSelector=metadata.name=none")).body
    assert empty.startswith(b'{"apiVersion":"example.com/v1","items":[],"kind":"ThingList","metadata":{"continue":""')
    listed = run(server.request("GET", PATH.format("v1"))).body
    version = orjson.loads(listed)["metadata"]["resourceVersion"].encode()
    tail = b'],"kind":"ThingList","metadata":{"continue":"","resourceVersion":"%b"}}\n' % version
    assert listed == b'{"apiVersion":"example.com/v1","items":[' + one + tail
    other = run(server.request("GET", PATH.format("v2"))).body
    assert other == listed.replace(
        b'"apiVersion":"example.com/v1","kind"', b'"apiVersion":"example.com/v2","kind"'
    ).replace(b'{"apiVersion":"example.com/v1","items"', b'{"apiVersion":"example.com/v2","items"')


def test_partial_metadata_is_in_declared_order(server: InProcessServer) -> None:
    """PartialObjectMetadata is a declared kind: its members are in declared order."""
    create_thing(server)
    accept = ORCH("application/json;as=PartialObjectMetadata;g=meta.{abbr}.io;v=v1")
    shown = run(server.request("GET", PATH.format("v1") + "/one", headers={"accept": accept})).json
    assert [*shown] == ["kind", "apiVersion", "metadata"]
    members = ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "labels"]
    assert [name for name in shown["metadata"] if name != "managedFields"] == members


def test_deleted_object_has_the_deletions_version(server: InProcessServer) -> None:
    """The final object has the revision of the deletion, and an annotation that looks like one is unchanged."""
    version = orjson.loads(create_thing(server))["metadata"]["resourceVersion"]
    patch = {"metadata": {"annotations": {"resourceVersion": str(int(version) + 1)}}}
    headers = {"content-type": "application/merge-patch+json"}
    changed = run(server.request("PATCH", PATH.format("v1") + "/one", body=patch, headers=headers)).json
    assert changed["metadata"]["resourceVersion"] == changed["metadata"]["annotations"]["resourceVersion"]
    response = run(server.request("GET", PATH.format("v1") + f"?watch=1&resourceVersion={version}"))
    frames: list[bytes] = []

    class Sink:
        buffered = 0

        def write(self, data: bytes) -> None:
            frames.append(data)

        def finish(self) -> None: ...

    stream: Any = response.response.stream
    stream.start(Sink())
    run(server.request("DELETE", PATH.format("v1") + "/one"))
    stream.stop()
    last = orjson.loads(frames[-1])
    assert last["type"] == "DELETED"
    assert last["object"]["metadata"]["annotations"] == patch["metadata"]["annotations"]
    assert int(last["object"]["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])
