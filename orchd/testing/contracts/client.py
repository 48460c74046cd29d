"""The contract of `IClient` as checks that any implementation can be put through.

Each check is a coroutine function with a `ClientSubject` argument; `CHECKS` lists them all. They need a server with
namespaces and config maps, and no controllers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from orchd.client.interfaces import IClient, IWatchStream, ResourceRef, WatchEvent
from orchd.client.paging import list_pages
from orchd.client.requests import Call
from orchd.errors import ApiError
from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within

MAPS = ResourceRef("", "v1", "configmaps")
NAMESPACES = ResourceRef("", "v1", "namespaces")
_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class ClientSubject:
    """A client with all permissions, and a namespace for it."""

    client: IClient
    namespace: str
    reactor: Any

    def map(self, name: str, **data: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"name": name}},
            "data": data,
        }

    async def make(self, name: str, **data: str) -> dict[str, Any]:
        created: dict[str, Any] = await self.client.create(MAPS, self.namespace, self.map(name, **data))
        return created

    async def event(self, stream: IWatchStream) -> WatchEvent | None:
        """The next event that is not a bookmark."""
        while True:
            event = await within(start(_next(stream)), _SECONDS, self.reactor)
            if event is None or event.type != "BOOKMARK":
                return event

    async def refused(self, work: Awaitable[Any]) -> ApiError:
        try:
            await work
        except ApiError as error:
            return error
        raise AssertionError("it was not refused")


async def _next(stream: IWatchStream) -> WatchEvent | None:
    event: WatchEvent | None = await stream.next()
    return event


async def check_create_and_get(s: ClientSubject) -> None:
    """A created object can be read, with the fields that the server added."""
    created = await s.make("a", k="v")
    obj = await s.client.get(MAPS, s.namespace, "a")
    assert obj["metadata"]["uid"] == created["metadata"]["uid"]
    assert obj["data"] == {"k": "v"}


async def check_text_survives(s: ClientSubject) -> None:
    """Non-ASCII text and characters with a meaning in URLs are returned unchanged."""
    await s.make("text", value='ä "quoted" \U0001f600\n%2F?&=')
    assert (await s.client.get(MAPS, s.namespace, "text"))["data"]["value"] == 'ä "quoted" \U0001f600\n%2F?&='


async def check_not_found(s: ClientSubject) -> None:
    """An error carries code, reason, message and details of the server's Status."""
    error = await s.refused(s.client.get(MAPS, s.namespace, "none"))
    assert (error.code, error.reason) == (404, "NotFound")
    assert error.message == 'configmaps "none" not found'
    assert error.details == {"name": "none", "kind": "configmaps"}


async def check_exists_and_conflict(s: ClientSubject) -> None:
    """A name can be created once; an update from an old version is rejected."""
    created = await s.make("twice")
    assert (await s.refused(s.make("twice"))).reason == "AlreadyExists"
    await s.client.update(MAPS, s.namespace, "twice", {**created, "data": {"a": "1"}})
    error = await s.refused(s.client.update(MAPS, s.namespace, "twice", {**created, "data": {"a": "2"}}))
    assert (error.code, error.reason) == (409, "Conflict")


async def check_invalid(s: ClientSubject) -> None:
    """Every cause of an invalid object is reported."""
    error = await s.refused(s.make("Not_A_Name"))
    assert error.code == 422
    assert error.details is not None and error.details["causes"][0]["field"] == "metadata.name"


async def check_dry_run(s: ClientSubject) -> None:
    """A dry run responds and writes nothing."""
    await s.client.create(MAPS, s.namespace, s.map("dry"), dry_run=True)
    assert (await s.refused(s.client.get(MAPS, s.namespace, "dry"))).code == 404


async def check_unneeded_response(s: ClientSubject) -> None:
    """Writes whose response the caller does not need are carried out, and their errors are raised."""
    await s.client.create(MAPS, s.namespace, s.map("quiet", a="1"), need_response=False)
    change = {"data": {"a": "2"}}
    await s.client.patch(
        MAPS, s.namespace, "quiet", change, content_type="application/merge-patch+json", need_response=False
    )
    assert (await s.client.get(MAPS, s.namespace, "quiet"))["data"] == {"a": "2"}
    await s.client.update(MAPS, s.namespace, "quiet", s.map("quiet", a="3"), need_response=False)
    assert (await s.client.get(MAPS, s.namespace, "quiet"))["data"] == {"a": "3"}
    again = s.client.create(MAPS, s.namespace, s.map("quiet"), need_response=False)
    assert (await s.refused(again)).reason == "AlreadyExists"
    await s.client.delete(MAPS, s.namespace, "quiet", need_response=False)
    assert (await s.refused(s.client.get(MAPS, s.namespace, "quiet"))).code == 404
    again = s.client.delete(MAPS, s.namespace, "quiet", need_response=False)
    assert (await s.refused(again)).code == 404


async def check_patch(s: ClientSubject) -> None:
    """Patches of several media types; apply creates."""
    await s.make("patched", a="1", b="2")
    merged = await s.client.patch(
        MAPS, s.namespace, "patched", {"data": {"a": None}}, content_type="application/merge-patch+json"
    )
    assert merged["data"] == {"b": "2"}
    operations = [{"op": "add", "path": "/data/c", "value": "3"}]
    patched = await s.client.patch(MAPS, s.namespace, "patched", operations, content_type="application/json-patch+json")
    assert patched["data"] == {"b": "2", "c": "3"}
    applied = await s.client.patch(
        MAPS,
        s.namespace,
        "applied",
        s.map("applied", x="y"),
        content_type="application/apply-patch+yaml",
        field_manager="contract",
        force=True,
    )
    assert applied["data"] == {"x": "y"}


async def check_list(s: ClientSubject) -> None:
    """Lists by label and in pages."""
    for name in ("l1", "l2", "l3"):
        await s.make(name)
    chosen = await s.client.list(MAPS, s.namespace, label_selector="name in (l1,l3)")
    assert [o["metadata"]["name"] for o in chosen["items"]] == ["l1", "l3"]
    one = await s.client.list(MAPS, s.namespace, field_selector="metadata.name=l2")
    assert [o["metadata"]["name"] for o in one["items"]] == ["l2"]
    names, token = [], ""
    while True:
        page = await s.client.list(MAPS, s.namespace, limit=2, continue_=token)
        names += [o["metadata"]["name"] for o in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert names == ["l1", "l2", "l3"]


async def check_delete(s: ClientSubject) -> None:
    """Deletes honour preconditions; a deleted object does not exist."""
    created = await s.make("gone")
    wrong = {"preconditions": {"uid": "another"}}
    assert (await s.refused(s.client.delete(MAPS, s.namespace, "gone", options=wrong))).code == 409
    right = {"preconditions": {"uid": created["metadata"]["uid"]}}
    await s.client.delete(MAPS, s.namespace, "gone", options=right)
    assert (await s.refused(s.client.get(MAPS, s.namespace, "gone"))).code == 404


async def check_delete_collection(s: ClientSubject) -> None:
    """A collection is deleted within the selector."""
    await s.make("c1")
    await s.make("c2")
    await s.client.delete_collection(MAPS, s.namespace, label_selector="name=c1")
    assert [o["metadata"]["name"] for o in (await s.client.list(MAPS, s.namespace))["items"]] == ["c2"]
    await s.client.delete_collection(MAPS, s.namespace, options={"propagationPolicy": "Background"})
    assert (await s.client.list(MAPS, s.namespace))["items"] == []


async def check_subresource(s: ClientSubject) -> None:
    """Subresources are read and written by the name of their object."""
    namespace = await s.client.get(NAMESPACES, "", s.namespace, subresource="status")
    assert namespace["status"]["phase"] == "Active"
    changed = {**namespace, "status": {**namespace["status"], "phase": "Active"}}
    assert (await s.client.update(NAMESPACES, "", s.namespace, changed, subresource="status"))["kind"] == "Namespace"


async def check_exchange(s: ClientSubject) -> None:
    """A request of any path gets a response in the media type that it asks for; refusals are raised."""
    client: Any = s.client
    await s.make("raw")
    path = f"/api/v1/namespaces/{s.namespace}/configmaps/raw"
    response = await client.exchange(Call(method="GET", path=path, accept="application/yaml"))
    assert (response.code, response.content_type.partition(";")[0]) == (200, "application/yaml")
    assert b"name: raw\n" in response.body
    assert (await s.refused(client.exchange(Call(method="GET", path=f"{path}x")))).code == 404


async def check_stream(s: ClientSubject) -> None:
    """The body of an endless response comes in pieces; nothing comes after `close`. Refusals are raised."""
    client: Any = s.client
    version = (await s.client.list(MAPS, s.namespace))["metadata"]["resourceVersion"]
    path = f"/api/v1/namespaces/{s.namespace}/configmaps"
    stream = await client.stream(Call(method="GET", path=path, query={"watch": "1", "resourceVersion": version}), 60.0)
    await s.make("piece")
    data = b""
    while b"\n" not in data:
        piece = await within(start(stream.next()), _SECONDS, s.reactor)
        assert piece, "the stream has ended"
        data += piece
    assert b'"ADDED"' in data
    stream.close()
    stream.close()
    assert await within(start(stream.next()), _SECONDS, s.reactor) is None
    assert (await s.refused(client.stream(Call(method="GET", path="/api/v1/nothing"), 60.0))).code == 404


async def check_watch(s: ClientSubject) -> None:
    """A watch reports each change after its start version, in order."""
    version = (await s.client.list(MAPS, s.namespace))["metadata"]["resourceVersion"]
    stream = await s.client.watch(MAPS, s.namespace, resource_version=version)
    created = await s.make("w", k="1")
    await s.client.update(MAPS, s.namespace, "w", {**created, "data": {"k": "2"}})
    await s.client.delete(MAPS, s.namespace, "w")
    events = [await s.event(stream) for _ in range(3)]
    assert [e.type for e in events if e is not None] == ["ADDED", "MODIFIED", "DELETED"]
    stream.close()
    stream.close()
    assert await s.event(stream) is None


async def check_watch_of_metadata(s: ClientSubject) -> None:
    """A watch for metadata has at least these of each object, however large it is."""
    version = (await s.client.list(MAPS, s.namespace))["metadata"]["resourceVersion"]
    stream = await s.client.watch(MAPS, s.namespace, resource_version=version, metadata_only=True)
    created = [await s.make("small", k="1"), await s.make("large", k="x" * 200_000)]
    for each in created:
        event = await s.event(stream)
        assert event is not None and event.type == "ADDED"
        kept = {name: value for name, value in event.object["metadata"].items() if name != "managedFields"}
        assert kept == {name: value for name, value in each["metadata"].items() if name != "managedFields"}
    stream.close()


async def check_list_of_metadata(s: ClientSubject) -> None:
    """A list for metadata has at least these of each item, as a get has of its object; without this option it has complete
    items of any size."""
    for number, size in enumerate((1, 200_000, 200_000)):
        await s.make(f"item{number}", k="x" * size)
    complete = await s.client.list(MAPS, s.namespace)
    reduced = await s.client.list(MAPS, s.namespace, metadata_only=True)
    assert [len(item["data"]["k"]) for item in complete["items"]] == [1, 200_000, 200_000]
    assert reduced["metadata"] == complete["metadata"]
    for item, whole in zip(reduced["items"], complete["items"], strict=True):
        kept = [{k: v for k, v in each["metadata"].items() if k != "managedFields"} for each in (item, whole)]
        assert kept[0] == kept[1]
        got = await s.client.get(MAPS, s.namespace, whole["metadata"]["name"], metadata_only=True)
        assert {k: v for k, v in got["metadata"].items() if k != "managedFields"} == kept[1]
    pages = [page async for page in list_pages(s.client, MAPS, s.namespace, limit=2)]
    assert [item for page in pages for item in page["items"]] == complete["items"]


async def check_watch_many(s: ClientSubject) -> None:
    """Unread events are buffered; none is lost, however slowly they are read."""
    version = (await s.client.list(MAPS, s.namespace))["metadata"]["resourceVersion"]
    stream = await s.client.watch(MAPS, s.namespace, resource_version=version, label_selector="name!=other")
    for number in range(60):
        await s.make(f"m{number:02}", data="x" * 50_000)
    await s.make("other")
    for number in range(60):
        event = await s.event(stream)
        assert event is not None and event.object["metadata"]["name"] == f"m{number:02}"
    stream.close()


async def check_watch_refused(s: ClientSubject) -> None:
    """A watch that cannot begin raises the server's error."""
    error = await s.refused(s.client.watch(MAPS, s.namespace, field_selector="spec.none=1"))
    assert error.code == 400


async def check_cancel(s: ClientSubject) -> None:
    """Waiting for an event can be cancelled, and the stream continues."""
    stream = await s.client.watch(MAPS, s.namespace, resource_version="0")
    waiting: Deferred[Any] = start(_next(stream))
    if not waiting.called:
        waiting.cancel()
        with contextlib.suppress(CancelledError):
            await waiting
    await s.make("after")
    event = await s.event(stream)
    assert event is not None and event.object["metadata"]["name"] == "after"
    stream.close()


CHECKS: tuple[Callable[[ClientSubject], Awaitable[None]], ...] = tuple(
    value for name, value in list(globals().items()) if name.startswith("check_")
)
