"""Watches in a version to which a webhook converts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.server.outbound.webhooks import WebhookError
from orchd.server.pipeline.verbs.watch import conversion
from orchd.testing.doubles.server import InProcessServer, make_server, run
from orchd.txkit.coroutines import start

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
V1 = ResourceRef("example.com", "v1", "things")
V2 = ResourceRef("example.com", "v2", "things")


class Webhook:
    """Converts spec.old of v1 to spec.new of v2 and back. While `held`, it responds only when the test asks it to."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.held = False
        self.open: list[Deferred[None]] = []
        self.broken = False

    async def post(self, where: Any, document: dict[str, Any], seconds: float) -> dict[str, Any]:
        request = document["request"]
        to = request["desiredAPIVersion"]
        self.calls.append([obj["metadata"]["name"] for obj in request["objects"]])
        if self.held:
            waiting: Deferred[None] = Deferred()
            self.open.append(waiting)
            await waiting
        if self.broken:
            raise WebhookError("nobody there")
        member = {"example.com/v1": "old", "example.com/v2": "new"}[to]
        converted = [
            {**obj, "apiVersion": to, "spec": dict.fromkeys([member], *(obj.get("spec") or {"x": ""}).values())}
            for obj in request["objects"]
        ]
        response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
        return {"apiVersion": document["apiVersion"], "kind": document["kind"], "response": response}

    def respond(self) -> None:
        self.open.pop(0).callback(None)


def definition(*versions: tuple[str, str]) -> dict[str, Any]:
    hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}}
    return {
        "apiVersion": f"{DEFINITIONS.group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "conversion": {"strategy": "Webhook", "webhook": hook},
            "versions": [_version(name, member, storage=name == "v1") for name, member in versions],
        },
    }


def _version(name: str, member: str, *, storage: bool) -> dict[str, Any]:
    spec = {"type": "object", "properties": {member: {"type": "string"}, "more": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    columns = [{"name": "Said", "type": "string", "jsonPath": f".spec.{member}"}]
    return {
        "name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": columns,
    }  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def webhook(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> Webhook:
    played = Webhook()
    monkeypatch.setattr(server.server.outbound.webhooks, "post", played.post)
    run(server.client().create(DEFINITIONS, "", definition(("v1", "old"), ("v2", "new"))))
    return played


def thing(version: str, name: str = "a", *, labels: dict[str, str] | None = None, **spec: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": metadata, "spec": spec}


def seen(event: Any) -> tuple[str, str, str, Any]:
    return event.type, event.object["apiVersion"], event.object["metadata"]["name"], event.object.get("spec")


def next_events(stream: Any, count: int) -> list[Any]:
    """The next events of a watch."""
    return [run(stream.next()) for _ in range(count)]


def test_events_are_converted_to_the_watched_version(server: InProcessServer, webhook: Webhook) -> None:
    """Initial, added, changed and deleted objects come in the watched version, with unchanged revisions."""
    admin = server.client()
    for name in ("a", "b"):
        run(admin.create(V1, "default", thing("v1", name, old="x")))
    stream = run(admin.watch(V2, "default", resource_version="0"))
    run(admin.create(V1, "default", thing("v1", "c", old="y")))
    run(admin.patch(V1, "default", "c", {"spec": {"old": "z"}}, content_type="application/merge-patch+json"))
    last = run(admin.get(V1, "default", "c"))["metadata"]["resourceVersion"]
    run(admin.delete(V1, "default", "c"))
    events = next_events(stream, 5)
    assert [seen(e) for e in events] == [
        ("ADDED", "example.com/v2", "a", {"new": "x"}),
        ("ADDED", "example.com/v2", "b", {"new": "x"}),
        ("ADDED", "example.com/v2", "c", {"new": "y"}),
        ("MODIFIED", "example.com/v2", "c", {"new": "z"}),
        ("DELETED", "example.com/v2", "c", {"new": "z"}),
    ]
    assert events[3].object["metadata"]["resourceVersion"] == last
    assert int(events[4].object["metadata"]["resourceVersion"]) > int(last)
    assert webhook.calls[0] == ["a", "b"]
    stream.close()


def test_conversions_are_shared_between_watches(server: InProcessServer, webhook: Webhook) -> None:
    """An object is converted once for all watches, and again after a change of the definition."""
    admin = server.client()
    run(admin.create(V1, "default", thing("v1", "a", old="x")))
    for _ in range(3):
        stream = run(admin.watch(V2, "default", resource_version="0"))
        assert seen(run(stream.next()))[3] == {"new": "x"}
        stream.close()
    assert webhook.calls == [["a"]]
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    current["spec"]["names"]["shortNames"] = ["th"]
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    stream = run(admin.watch(V2, "default", resource_version="0"))
    assert seen(run(stream.next()))[3] == {"new": "x"}
    assert webhook.calls == [["a"], ["a"]]
    stream.close()


def test_history_is_converted_with_one_call(server: InProcessServer, webhook: Webhook) -> None:
    """A watch from an earlier version gets the changes since, converted with one call."""
    admin = server.client()
    first = run(admin.create(V1, "default", thing("v1", "a", old="x")))
    for name in ("b", "c"):
        run(admin.create(V1, "default", thing("v1", name, old=name)))
    stream = run(admin.watch(V2, "default", resource_version=first["metadata"]["resourceVersion"]))
    assert [seen(e)[2:] for e in next_events(stream, 2)] == [("b", {"new": "b"}), ("c", {"new": "c"})]
    assert webhook.calls == [["b", "c"]]
    stream.close()


def test_events_keep_their_order_during_conversion(server: InProcessServer, webhook: Webhook) -> None:
    """During a conversion changes are queued; they are then sent together, and watchers share the result."""
    admin = server.client()
    streams = [run(admin.watch(V2, "default", resource_version="0")) for _ in range(3)]
    webhook.held = True
    for name in ("a", "b", "c"):
        run(admin.create(V1, "default", thing("v1", name, old=name)))
    assert webhook.calls == [["a"]]
    webhook.respond()
    assert webhook.calls == [["a"], ["b", "c"]]
    webhook.respond()
    for stream in streams:
        assert [seen(e)[2] for e in next_events(stream, 3)] == ["a", "b", "c"]
        stream.close()
    assert len(webhook.calls) == 2


def test_selectors_apply_to_the_watched_version(server: InProcessServer, webhook: Webhook) -> None:
    """Selectors are applied in the watched version, with ADDED and DELETED for objects that begin or cease to match;
    others are not converted."""
    admin = server.client()
    stream = run(admin.watch(V2, "default", resource_version="0", label_selector="l=m"))
    run(admin.create(V1, "default", thing("v1", "a", old="x")))
    assert webhook.calls == []
    for label in ("m", None):
        patch = {"metadata": {"labels": {"l": label}}}
        run(admin.patch(V1, "default", "a", patch, content_type="application/merge-patch+json"))
    events = next_events(stream, 2)
    assert [seen(e) for e in events] == [
        ("ADDED", "example.com/v2", "a", {"new": "x"}), ("DELETED", "example.com/v2", "a", {"new": "x"}),
    ]  # fmt: skip
    revisions = [int(e.object["metadata"]["resourceVersion"]) for e in events]
    assert revisions[0] < revisions[1]
    stream.close()


def test_failed_conversion_ends_the_watch(server: InProcessServer, webhook: Webhook) -> None:
    """A failed conversion is an ERROR event, and the last one."""
    admin = server.client()
    streams = [run(admin.watch(V2, "default", resource_version="0")) for _ in range(2)]
    webhook.broken = True
    run(admin.create(V1, "default", thing("v1", old="x")))
    for stream in streams:
        with pytest.raises(ApiError, match="Kind=Thing failed: nobody there") as caught:
            run(stream.next())
        assert caught.value.code == 500
        assert run(stream.next()) is None


def test_slow_conversion_ends_the_watch(
    server: InProcessServer, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch with too many changes queued for a slow webhook ends, and must be opened again."""
    monkeypatch.setattr(conversion, "MOST_WAITING", 2)
    admin = server.client()
    stream = run(admin.watch(V2, "default", resource_version="0"))
    webhook.held = True
    for name in ("a", "b", "c", "d"):
        run(admin.create(V1, "default", thing("v1", name, old=name)))
    with pytest.raises(ApiError, match="too many changes wait for the conversion webhook") as caught:
        run(stream.next())
    assert caught.value.code == 410
    webhook.respond()


def test_closed_watch_does_not_end_a_shared_conversion(server: InProcessServer, webhook: Webhook) -> None:
    """A closed watch does not cancel a conversion that others wait for."""
    admin = server.client()
    first, second = (run(admin.watch(V2, "default", resource_version="0")) for _ in range(2))
    webhook.held = True
    run(admin.create(V1, "default", thing("v1", old="x")))
    got: list[Any] = []
    start(second.next()).addCallback(got.append)
    first.close()
    assert got == []
    webhook.respond()
    assert [seen(e)[3] for e in got] == [{"new": "x"}]
    second.close()


def test_watch_of_an_unserved_version_ends(server: InProcessServer, webhook: Webhook) -> None:
    """Watches of a version end when the definition no longer serves it."""
    admin = server.client()
    stream = run(admin.watch(V2, "default", resource_version="0"))
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    current["spec"]["versions"][1]["served"] = False
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    run(admin.create(V1, "default", thing("v1", old="x")))
    assert run(stream.next()) is None
    assert webhook.calls == []


def test_objects_of_an_old_storage_version_are_converted(server: InProcessServer, webhook: Webhook) -> None:
    """After a change of the storage version, previously stored objects are converted for its watchers."""
    admin = server.client()
    run(admin.create(V1, "default", thing("v1", old="x")))
    current = run(admin.get(DEFINITIONS, "", "things.example.com"))
    for version in current["spec"]["versions"]:
        version["storage"] = version["name"] == "v2"
    run(admin.update(DEFINITIONS, "", "things.example.com", current))
    stream = run(admin.watch(V2, "default", resource_version="0"))
    assert seen(run(stream.next())) == ("ADDED", "example.com/v2", "a", {"new": "x"})
    assert run(admin.get(V1, "default", "a"))["spec"] == {"old": "x"}
    stream.close()


def test_tables_are_made_of_converted_objects(server: InProcessServer, webhook: Webhook) -> None:
    """Tables and partial metadata are made from converted objects, in lists and gets."""
    run(server.client().create(V1, "default", thing("v1", old="x")))
    group = ORCH("meta.{abbr}.io")
    for path in ("things", "things/a"):
        accept = {"Accept": f"application/json;as=Table;v=v1;g={group}"}
        shown = run(server.request("GET", f"/apis/example.com/v2/namespaces/default/{path}", headers=accept)).json
        assert shown["kind"] == "Table" and shown["rows"][0]["cells"][1] == "x"
    accept = {"Accept": f"application/json;as=PartialObjectMetadataList;v=v1;g={group}"}
    shown = run(server.request("GET", "/apis/example.com/v2/namespaces/default/things", headers=accept)).json
    assert [i["metadata"]["name"] for i in shown["items"]] == ["a"]
    accept = {"Accept": ORCH("application/vnd.{long}.protobuf")}
    assert run(server.request("GET", "/apis/example.com/v2/namespaces/default/things", headers=accept)).code == 406
