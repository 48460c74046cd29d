"""Discovery documents of other servers: fetched when their APIServices change and every minute, and kept when that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import IInformer
from orchd.kinds.openapi.aggregated import CURRENT, STALE
from orchd.server.aggregation.api_services import AggregatedService, AggregatedServices
from orchd.server.aggregation.discovered import Downloaded, ForeignDiscovery
from orchd.testing.server import run

KIND: dict[str, str] = {"group": "", "version": "", "kind": "Foo"}
FOO: dict[str, Any] = {
    "resource": "foos", "responseKind": KIND, "scope": "Namespaced", "singularResource": "foo", "verbs": ["get"],
}  # fmt: skip
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def aggregated(*resources: Any, group: str = "g.com", tag: str = "t") -> Downloaded:
    items = [{"metadata": {"name": group}, "versions": [{"version": "v1", "resources": list(resources)}]}]
    return Downloaded(code=200, content_type=AGGREGATED, tag=tag, body=orjson.dumps({"items": items}))


def answer(code: int, body: Any = None, content_type: str = "application/json") -> Downloaded:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return Downloaded(code=code, content_type=content_type, tag="", body=data)


def service(version: str = "v1", *, name: str = "s", available: bool = True, priority: int = 10) -> dict[str, Any]:
    status = "True" if available else "False"
    return {
        "metadata": {"name": f"{version}.g.com"},
        "spec": {
            "group": "g.com", "version": version, "groupPriorityMinimum": priority, "versionPriority": 5,
            "service": {"namespace": "n", "name": name},
        },
        "status": {"conditions": [{"type": "Available", "status": status}]},
    }  # fmt: skip


class Informer:
    """Tells its listeners of objects that a test puts."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[str, Any, Any], None]] = []
        self.objects: dict[str, Any] = {}

    def add_listener(self, listener: Callable[[str, Any, Any], None]) -> None:
        self.listeners.append(listener)

    def put(self, obj: Any) -> None:
        name = obj["metadata"]["name"]
        old, self.objects[name] = self.objects.get(name), obj
        for listener in self.listeners:
            listener("", old, obj)

    def remove(self, name: str) -> None:
        old = self.objects.pop(name)
        for listener in self.listeners:
            listener("", old, None)


class World:
    """A discovery whose servers answer what a test queues; an exception is raised, a Deferred is waited for."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.informer = Informer()
        self.answers: list[Any] = []
        self.asked: list[tuple[str, str]] = []
        # It has the methods that are called.
        informer = cast(IInformer, self.informer)
        registry = AggregatedServices(informer, lambda old, new: None)
        self.discovery = ForeignDiscovery(registry, informer, self.download, clock=self.clock, in_thread=self.call)
        run(self.discovery.start())

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    async def download(self, server: AggregatedService, path: str, *, accept: str, tag: str) -> Downloaded:
        self.asked.append((path, tag))
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        result: Downloaded = await found if isinstance(found, Deferred) else found
        return result

    def found(self) -> list[tuple[str, str, Any]]:
        return [(v.version, v.freshness, orjson.loads(b"[" + v.resources + b"]")) for v in self.discovery.versions()]


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    run(made.discovery.stop())
    assert not made.clock.getDelayedCalls()


def test_aggregated_discovery_takes_one_request(world: World) -> None:
    """One request for all versions of a server; members that clients do not know are left out."""
    world.answers = [aggregated({**FOO, "more": 1, "subresources": [{"subresource": "status", "verbs": ["get"]}]})]
    world.informer.put(service())
    nothing = {"group": "", "version": "", "kind": ""}
    subresources = [{"subresource": "status", "responseKind": nothing, "verbs": ["get"]}]
    assert world.found() == [("v1", CURRENT, [{**FOO, "subresources": subresources}])]
    (version,) = world.discovery.versions()
    assert (version.group_priority, version.version_priority) == (10, 5)
    assert world.discovery.versions() is world.discovery.versions() and world.asked == [("/apis", "")]


def test_discovery_is_refreshed_every_minute_with_its_tag(world: World) -> None:
    """With the tag of what is known; nothing new is the same value."""
    world.answers = [aggregated(FOO), answer(304, b""), aggregated(tag="u"), answer(304, b"")]
    world.informer.put(service())
    first = world.discovery.versions()
    world.clock.advance(60)
    assert world.discovery.versions() is first and world.asked[-1] == ("/apis", "t")
    world.clock.advance(60)
    assert world.found() == [("v1", CURRENT, [])]
    world.clock.advance(60)
    assert world.asked[-1] == ("/apis", "u")


@pytest.mark.parametrize("failure", [
    OSError("unreachable"), answer(503, b""), answer(200, b"{", AGGREGATED), answer(200, [1], AGGREGATED),
    answer(200, {"items": [{"versions": [{}]}]}, AGGREGATED), aggregated({**FOO, "verbs": [1]}),
    aggregated({**FOO, "responseKind": "x"}), answer(200, {"items": 5}, AGGREGATED),
])
def test_failed_discovery_is_listed_as_stale_and_retried(world: World, failure: Any) -> None:
    """What was known last is listed as stale, and the server asked again after growing pauses."""
    world.answers = [aggregated(FOO), failure, failure, aggregated(FOO)]
    world.informer.put(service())
    world.clock.advance(60)
    assert world.found() == [("v1", STALE, [FOO])]
    world.clock.advance(1)
    assert world.found() == [("v1", STALE, [FOO])] and len(world.asked) == 3
    world.clock.advance(1)
    assert len(world.asked) == 3
    world.clock.advance(1)
    assert world.found() == [("v1", CURRENT, [FOO])]


def test_unaggregated_lists_are_read_one_by_one(world: World) -> None:
    """The lists of their versions are read one by one; one that cannot be read leaves the server stale."""
    world.answers = [answer(406), answer(200, {"resources": [{"name": "foos", "namespaced": True, "verbs": ["get"]}]})]
    world.informer.put(service())
    entry = {**FOO, "responseKind": {**KIND, "kind": ""}, "singularResource": ""}
    assert world.found() == [("v1", CURRENT, [entry])]
    assert world.asked == [("/apis", ""), ("/apis/g.com/v1", "")]
    world.answers = [answer(404), answer(500)]
    world.clock.advance(60)
    assert world.found() == [("v1", STALE, [entry])]


def test_unavailable_server_is_not_asked(world: World) -> None:
    """A server that is known not to answer is not asked, and asked at once when it is."""
    world.informer.put(service(available=False))
    assert world.found() == [("v1", STALE, [])] and not world.asked
    world.answers = [aggregated(FOO)]
    world.informer.put(service())
    assert world.found() == [("v1", CURRENT, [FOO])]


def test_changes_during_a_fetch_cause_one_further_fetch(world: World) -> None:
    """A change of an APIService during a fetch causes exactly one further fetch."""
    waiting: Deferred[Any] = Deferred()
    world.answers = [waiting, aggregated(FOO)]
    world.informer.put(service())
    world.informer.put(service(priority=11))
    world.informer.put(service(priority=12))
    assert world.found() == [("v1", STALE, [])]
    waiting.callback(aggregated())
    assert world.found() == [("v1", CURRENT, [FOO])] and len(world.asked) == 2


def test_removed_api_service_stops_discovery(world: World) -> None:
    """Without an APIService the server is asked no more, even one that has not answered yet."""
    waiting: Deferred[Any] = Deferred()
    world.answers = [waiting]
    world.informer.put(service())
    world.informer.remove("v1.g.com")
    waiting.callback(aggregated(FOO))
    assert world.found() == [] and not world.clock.getDelayedCalls()


def test_versions_of_one_server_share_its_document(world: World) -> None:
    """They share its document."""
    world.answers = [aggregated(FOO), aggregated(FOO)]
    world.informer.put(service())
    world.informer.put(service("v2"))
    assert world.found() == [("v1", CURRENT, [FOO]), ("v2", CURRENT, [])]
    world.answers = [aggregated(FOO)]
    world.clock.advance(60)
    assert len(world.asked) == 3
