"""OpenAPI v2 documents of other servers: fetched when their APIServices change and every minute, and kept when that
fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import IInformer
from orchd.server.aggregation.api_services import AggregatedService, AggregatedServices
from orchd.server.aggregation.foreign_servers import Downloaded, ForeignServers
from orchd.server.aggregation.specifications import ForeignSpecifications
from orchd.testing.doubles.server import run
from tests.server.aggregation.test_foreign_discovery import Informer, service

DOCUMENT: Any = {
    "swagger": "2.0",
    "paths": {"/apis/g.com/v1/foos": {"get": {"responses": {}}}, "/apis/g.com/v2/foos": {}},
}


def answer(code: int, body: Any = DOCUMENT, tag: str = "t") -> Downloaded:
    return Downloaded(
        code=code,
        content_type="application/json",
        tag=tag,
        body=body if isinstance(body, bytes) else orjson.dumps(body),
    )


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.informer = Informer()
        self.answers: list[Any] = []
        self.asked: list[str] = []
        self.changes = 0
        informer = cast(IInformer, self.informer)
        registry = AggregatedServices(informer, lambda old, new: None)
        servers = ForeignServers(
            registry=registry, informer=informer, download=self.download, clock=self.clock, in_thread=self.call
        )
        self.found = ForeignSpecifications(servers)
        self.found.changed = self.change
        run(self.found.start())

    def change(self) -> None:
        self.changes += 1

    async def call(self, function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    async def download(self, server: AggregatedService, path: str, *, accept: str, tag: str) -> Downloaded:
        assert (path, accept) == ("/openapi/v2", "application/json")
        self.asked.append(tag)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast(Downloaded, answer)

    def paths(self) -> list[list[str]]:
        return [list(each.paths) for each in self.found.all()]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    run(world.found.stop())
    assert not world.clock.getDelayedCalls()


def test_specifications_are_refreshed_every_minute(world: World) -> None:
    """A refresh sends the known Etag; an unchanged document keeps the same value, and listeners are not called."""
    world.answers = [
        answer(200),
        answer(304),
        answer(200, {**DOCUMENT, "paths": {"/apis/g.com/v1/bars": {}}}, "u"),
        answer(404),
    ]
    world.informer.put(service())
    assert world.paths() == [["/apis/g.com/v1/foos"]]
    found, changes = world.found.all(), world.changes
    world.clock.advance(60)
    assert (world.found.all() is found, world.changes) == (True, changes)
    world.clock.advance(60)
    assert world.paths() == [["/apis/g.com/v1/bars"]] and world.changes == changes + 1
    world.clock.advance(60)
    assert world.paths() == [] and world.asked == ["", "t", "t", "u"]


def test_second_version_of_a_server_is_read_at_once(world: World) -> None:
    """A new version's part of the document is read at once; that of a deleted version is left out."""
    world.answers = [answer(200), answer(200)]
    world.informer.put(service())
    world.informer.put(service("v2"))
    assert sorted(world.paths()) == [["/apis/g.com/v1/foos"], ["/apis/g.com/v2/foos"]]
    world.informer.remove("v1.g.com")
    assert world.paths() == [["/apis/g.com/v2/foos"]]
    world.informer.remove("v2.g.com")
    assert world.paths() == []


@pytest.mark.parametrize(
    "broken",
    [OSError("unreachable"), answer(500), answer(200, b"{"), answer(200, []), answer(200, {"paths": {"/apis/g.com/v1/a": {"get": []}}}),
     answer(200, b'{"paths":{"/apis/g.com/v1/a":{"get":{"x-a":' + b"[" * 500 + b"]" * 500 + b"}}}}")],
    ids=["unreachable", "500", "no JSON", "no object", "no operation", "too deep"],
)  # fmt: skip
def test_malformed_document_keeps_the_previous_one(world: World, broken: Any) -> None:
    """A malformed document replaces nothing, and is requested again soon."""
    world.answers = [answer(200), broken, answer(200, {**DOCUMENT, "paths": {"/apis/g.com/v1/new": {}}})]
    world.informer.put(service())
    world.clock.advance(60)
    assert world.paths() == [["/apis/g.com/v1/foos"]]
    world.clock.advance(1)
    assert world.paths() == [["/apis/g.com/v1/new"]]


def test_unavailable_server_is_not_asked(world: World) -> None:
    """It is requested once it is available."""
    world.informer.put(service(available=False))
    assert world.asked == []
    world.answers = [answer(200)]
    world.informer.put(service())
    assert world.paths() == [["/apis/g.com/v1/foos"]]
