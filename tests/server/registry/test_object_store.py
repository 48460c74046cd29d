"""Keys, sizes and entries of stored objects, and caches of custom kinds whose selectable fields change."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import Any

import orjson
import pytest

from orchd.cache.entries import Change, ChangeType
from orchd.cache.stored_encoding import encode
from orchd.errors import ApiError
from orchd.kinds.objects.list_options import ListOptions
from orchd.kinds.objects.list_query import EVERYTHING, ListQuery
from orchd.server.registry.object_store import path_of
from orchd.server.registry.operations import Create, Delete, Edit
from tests.server.registry.registry_support import Bench, Object
from tests.server.registry.test_field_management import WEBHOOK, custom, thing

MAPS = "v1/configmaps"


@pytest.mark.parametrize(("path", "name", "key"), [(MAPS, "x", "a/x"), (MAPS, "..x", "a/..x"), ("v1/nodes", "x", "x")])
def test_paths_of_objects(path: str, name: str, key: str) -> None:
    assert path_of(Bench().resource(path), "a", name) == key


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
        ("a/b", "may not contain '/'"),
        ("a%b", "may not contain '%'"),
        ("a%/b", "may not contain '/'"),
    ],
)
def test_names_that_are_no_part_of_a_path(name: str, why: str) -> None:
    with pytest.raises(ApiError, match="Name parameter invalid: ") as refused:
        path_of(Bench().resource(MAPS), "a", name)
    assert refused.value.code == 400 and refused.value.message.endswith(why)


def test_entries_of_objects_that_are_not_stored() -> None:
    """They have the revision of the object, if that is a number, and its labels."""
    bench = Bench()
    resource, access = bench.resource(MAPS), bench.registry.access
    for version, revision in (("7", 7), ("", 0), ("x", 0)):
        metadata = {"name": "x", "namespace": "a", "labels": {"a": "b"}, "resourceVersion": version}
        entry = access.transient_entry(resource, "a/x", bench.canonical(MAPS, {"metadata": metadata}))
        assert (entry.path, entry.revision, entry.created, entry.labels) == ("a/x", revision, revision, {"a": "b"})
        assert entry.decoded()["metadata"].get("resourceVersion", "") == version


def test_size_of_stored_objects() -> None:
    """A request has the key twice, for a change three times, and the object: in protobuf where the kind has that."""
    bench = Bench()
    access, key = bench.registry.access, "/configmaps/a/x"
    obj = bench.canonical(MAPS, {"metadata": {"name": "x", "namespace": "a"}, "data": {"k": "v" * 100}})
    value = access.encode(bench.resource(MAPS), obj)
    new = access.stored_size(bench.resource(MAPS), key, obj, value, None)
    assert new - 2 * 24 - 27 < len(value)
    assert access.stored_size(bench.resource(MAPS), key, obj, value, obj) == new + 24 + 9
    things = custom(WEBHOOK).resource("a.b", "v1", "things")
    assert things is not None
    text = access.encode(things, thing(note=1))
    assert access.stored_size(things, "/a.b/things/a/x", thing(note=1), text, None) == len(text) + 2 * 24 + 27
    revision: Object = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "r"},
        "data": {"a": 1},
    }
    kind, text = bench.resource("apps/v1/controllerrevisions"), encode(revision)
    assert access.stored_size(kind, key, revision, text, None) == len(text) + 2 * 24 + 27


def test_caches_follow_selectable_fields() -> None:
    """A cache whose entries have the values of other fields is made anew, unless the request has an older catalog."""
    bench = Bench().start()
    access = bench.registry.access
    bench.catalog = custom(WEBHOOK)
    old = bench.catalog.resource("a.b", "v1", "things")
    assert old is not None
    first = access.cache(old)
    assert access.cache(old) is first
    new = replace(old, selectable=("spec.x",))
    # As long as the catalog does not have it, the new one is that of another server.
    assert access.cache(new) is first
    bench.catalog = _Catalog(new)  # type: ignore[assignment]  # as much of a catalog as is asked
    second = access.cache(new)
    assert second is not first and access.cache(new) is second
    assert access.cache(old) is second
    access.forget(new.key)
    access.forget(new.key)
    assert new.key not in bench.caches.caches
    assert access.cache(new) is not second


class _Catalog:
    """A catalog of one resource."""

    def __init__(self, resource: Any) -> None:
        self._resource = resource

    def resource(self, group: str, version: str, plural: str) -> Any:
        return self._resource


def test_requests_of_a_kind_with_a_webhook() -> None:
    """Objects are stored in one version and returned in that of the request; a removed one as it was stored."""
    bench = Bench().start()
    bench.catalog = custom(WEBHOOK)
    first, second = (bench.catalog.resource("a.b", version, "things") for version in ("v1", "v2"))
    assert first is not None and second is not None

    async def conversion(resource: Any, objects: Any, to: str) -> Any:
        return [{**obj, "apiVersion": to} for obj in objects]

    registry = bench.registry
    registry.access.versions._conversion = conversion
    context = replace(bench.context(MAPS), resource=second)
    obj = {**thing("v2", note=1), "metadata": {"name": "t", "namespace": "a", "finalizers": ["x.y/z"]}}
    made = bench.do(registry.write(context, Create(obj=obj))).entry.decoded()
    assert (made["apiVersion"], made["note"]) == ("a.b/v2", 1)
    for resource, version in ((first, "a.b/v1"), (second, "a.b/v2")):
        assert bench.do(registry.get(resource, "a", "t")).decoded()["apiVersion"] == version
        query = ListQuery(resource=resource, options=ListOptions(), selection=EVERYTHING, prefix="a/", path="")
        assert [entry.decoded()["apiVersion"] for entry in bench.do(registry.list(query)).entries] == [version]
    marked = bench.do(registry.delete(context, Delete(name="t")))
    assert (marked.object["apiVersion"], marked.gone) == ("a.b/v2", False)

    async def release(obj: Object) -> Object:
        return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "finalizers"}}

    assert bench.do(registry.write(context, Edit(name="t", change=release))).entry.decoded()["apiVersion"] == "a.b/v2"
    bench.do(registry.write(context, Create(obj=thing("v2", note=1) | {"metadata": {"name": "u", "namespace": "a"}})))
    gone = bench.do(registry.delete(context, Delete(name="u")))
    assert (gone.object["apiVersion"], gone.gone) == ("a.b/v1", True)
    for name, code in (("", 400), ("t", 404)):
        with pytest.raises(ApiError) as refused:
            bench.do(registry.get(first, "a", name))
        assert refused.value.code == code


def test_entries_in_the_requested_version() -> None:
    """Only those of another version are converted, in order."""
    bench = Bench()
    access = bench.registry.access
    bench.catalog = custom(WEBHOOK)
    second = bench.catalog.resource("a.b", "v2", "things")
    assert second is not None and second.converter is not None

    async def conversion(resource: Any, objects: Any, to: str) -> Any:
        return [{**obj, "apiVersion": to} for obj in objects]

    access.versions._conversion = conversion
    entries = [
        access.transient_entry(second, f"a/{n}", thing(version, note=n)) for n, version in enumerate(("v1", "v2", "v1"))
    ]
    shown = bench.do(access.to_requested_version(second, entries))
    assert [entry.decoded() for entry in shown] == [thing("v2", note=n) for n in range(3)]
    assert shown[1] is entries[1] and shown[0].path == "a/0"
    assert bench.do(access.to_requested_version(second, shown)) is shown
    maps = bench.resource(MAPS)
    assert bench.do(access.to_requested_version(maps, entries)) is entries


def test_delivered_objects_are_those_that_the_bytes_decode_to(space: Any) -> None:
    """Watchers and later writes share the object of a write: it has every member where the bytes have it, and decoded
    values, also when it is marked for deletion, and where the bytes preserve a text."""
    access, catalog = space.server.server.registry.access, space.server.server.catalog
    seen: list[str] = []

    def compare(change: Change) -> None:
        entry = change.entry
        if change.type is not ChangeType.DELETED:
            assert entry.fresh is not None and entry.fresh["data"].__class__ is dict
            assert dumps(entry.fresh) == dumps(orjson.loads(entry.json))
            seen.append(f"{change.type.value} {entry.path.rpartition('/')[2]}")

    for group, plural in (("", "configmaps"), ("apps", "controllerrevisions")):
        cache = access.cache(catalog.resource(group, "v1", plural))
        cache.subscribe(after=cache.revision, prefix=f"{space.name}/", on_change=compare, on_end=print)
    metadata = {"finalizers": ["x.test/f"], "labels": {"b": "", "a": ""}, "name": "c"}
    space.make("configmaps", {"data": {"b": "1", "a": "2"}, "metadata": metadata})
    note = {"metadata": {"annotations": {"n": "1"}}}
    assert space("PATCH", "configmaps/c", note, content_type="application/merge-patch+json").code == 200
    assert space("DELETE", "configmaps/c").code == 200
    revision = {"data": {"spec": {"b": 1, "a": 2}}, "revision": 1, "metadata": {"name": "r"}}
    space.make("controllerrevisions", revision, group="apps/v1")
    assert seen == ["ADDED c", "MODIFIED c", "MODIFIED c", "ADDED r"]
