"""Discovery of aggregated servers: fetched after changes of APIServices and every minute, and kept when a fetch
fails."""

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
from orchd.server.aggregation.discovery import ForeignDiscovery
from orchd.server.aggregation.foreign_servers import Downloaded, ForeignServers
from orchd.testing.doubles.server import run

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
    """Calls its listeners for objects that a test adds and removes."""

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


class DiscoveryBench:
    """A discovery whose servers return queued responses: an exception is raised, a Deferred is awaited."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.informer = Informer()
        self.answers: list[Any] = []
        self.asked: list[tuple[str, str]] = []
        # It implements the methods that are called.
        informer = cast(IInformer, self.informer)
        registry = AggregatedServices(informer, lambda old, new: None)
        servers = ForeignServers(
            registry=registry, informer=informer, download=self.download, clock=self.clock, in_thread=self.call
        )
        self.discovery = ForeignDiscovery(servers)
        run(self.discovery.start())

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    async def download(self, server: AggregatedService, path: str, *, accept: str, tag: str) -> Downloaded:
        self.asked.append((path, tag))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        result: Downloaded = await answer if isinstance(answer, Deferred) else answer
        return result

    def found(self) -> list[tuple[str, str, Any]]:
        return [(v.version, v.freshness, orjson.loads(b"[" + v.resources + b"]")) for v in self.discovery.versions()]


@pytest.fixture
def bench() -> Iterator[DiscoveryBench]:
    discovery_bench = DiscoveryBench()
    yield discovery_bench
    run(discovery_bench.discovery.stop())
    assert not discovery_bench.clock.getDelayedCalls()


def test_aggregated_discovery_takes_one_request(bench: DiscoveryBench) -> None:
    """One request covers all versions of a server; unknown fields are dropped."""
    bench.answers = [aggregated({**FOO, "more": 1, "subresources": [{"subresource": "status", "verbs": ["get"]}]})]
    bench.informer.put(service())
    nothing = {"group": "", "version": "", "kind": ""}
    subresources = [{"subresource": "status", "responseKind": nothing, "verbs": ["get"]}]
    assert bench.found() == [("v1", CURRENT, [{**FOO, "subresources": subresources}])]
    (version,) = bench.discovery.versions()
    assert (version.group_priority, version.version_priority) == (10, 5)
    assert bench.discovery.versions() is bench.discovery.versions() and bench.asked == [("/apis", "")]


def test_discovery_is_refreshed_every_minute_with_its_tag(bench: DiscoveryBench) -> None:
    """A refresh sends the known Etag; an unchanged document keeps the same value."""
    bench.answers = [aggregated(FOO), answer(304, b""), aggregated(tag="u"), answer(304, b"")]
    bench.informer.put(service())
    first = bench.discovery.versions()
    bench.clock.advance(60)
    assert bench.discovery.versions() is first and bench.asked[-1] == ("/apis", "t")
    bench.clock.advance(60)
    assert bench.found() == [("v1", CURRENT, [])]
    bench.clock.advance(60)
    assert bench.asked[-1] == ("/apis", "u")


@pytest.mark.parametrize(
    "failure",
    [
        OSError("unreachable"),
        answer(503, b""),
        answer(200, b"{", AGGREGATED),
        answer(200, [1], AGGREGATED),
        answer(200, {"items": [{"versions": [{}]}]}, AGGREGATED),
        aggregated({**FOO, "verbs": [1]}),
        aggregated({**FOO, "responseKind": "x"}),
        answer(200, {"items": 5}, AGGREGATED),
    ],
)
def test_failed_discovery_is_listed_as_stale_and_retried(bench: DiscoveryBench, failure: Any) -> None:
    """After a failure the last document is listed as stale, and retries back off."""
    bench.answers = [aggregated(FOO), failure, failure, aggregated(FOO)]
    bench.informer.put(service())
    bench.clock.advance(60)
    assert bench.found() == [("v1", STALE, [FOO])]
    bench.clock.advance(1)
    assert bench.found() == [("v1", STALE, [FOO])] and len(bench.asked) == 3
    bench.clock.advance(1)
    assert len(bench.asked) == 3
    bench.clock.advance(1)
    assert bench.found() == [("v1", CURRENT, [FOO])]


def test_unaggregated_lists_are_read_one_by_one(bench: DiscoveryBench) -> None:
    """Without aggregated discovery the list of each version is read; a failing list makes the server stale."""
    bench.answers = [answer(406), answer(200, {"resources": [{"name": "foos", "namespaced": True, "verbs": ["get"]}]})]
    bench.informer.put(service())
    entry = {**FOO, "responseKind": {**KIND, "kind": ""}, "singularResource": ""}
    assert bench.found() == [("v1", CURRENT, [entry])]
    assert bench.asked == [("/apis", ""), ("/apis/g.com/v1", "")]
    bench.answers = [answer(404), answer(500)]
    bench.clock.advance(60)
    assert bench.found() == [("v1", STALE, [entry])]


def test_unavailable_server_is_not_asked(bench: DiscoveryBench) -> None:
    """An unavailable server is not requested until it becomes available."""
    bench.informer.put(service(available=False))
    assert bench.found() == [("v1", STALE, [])] and not bench.asked
    bench.answers = [aggregated(FOO)]
    bench.informer.put(service())
    assert bench.found() == [("v1", CURRENT, [FOO])]


def test_changes_during_a_fetch_cause_one_further_fetch(bench: DiscoveryBench) -> None:
    """A change of an APIService during a fetch causes exactly one further fetch."""
    waiting: Deferred[Any] = Deferred()
    bench.answers = [waiting, aggregated(FOO)]
    bench.informer.put(service())
    bench.informer.put(service(priority=11))
    bench.informer.put(service(priority=12))
    assert bench.found() == [("v1", STALE, [])]
    waiting.callback(aggregated())
    assert bench.found() == [("v1", CURRENT, [FOO])] and len(bench.asked) == 2


def test_removed_api_service_stops_discovery(bench: DiscoveryBench) -> None:
    """After its APIService is deleted a server is not requested again, and a pending response is dropped."""
    waiting: Deferred[Any] = Deferred()
    bench.answers = [waiting]
    bench.informer.put(service())
    bench.informer.remove("v1.g.com")
    waiting.callback(aggregated(FOO))
    assert bench.found() == [] and not bench.clock.getDelayedCalls()


def test_versions_of_one_server_share_its_document(bench: DiscoveryBench) -> None:
    """APIServices of one server share one document."""
    bench.answers = [aggregated(FOO), aggregated(FOO)]
    bench.informer.put(service())
    bench.informer.put(service("v2"))
    assert bench.found() == [("v1", CURRENT, [FOO]), ("v2", CURRENT, [])]
    bench.answers = [aggregated(FOO)]
    bench.clock.advance(60)
    assert len(bench.asked) == 3
