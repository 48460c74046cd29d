"""Large definitions are read away from the reactor: what follows from them is late, but in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.testing.doubles.server import InProcessServer, make_server, run
from orchd.txkit.compute_thread import LARGE, ComputeThread
from orchd.txkit.coroutines import start
from tests.server.customkinds.test_serving import DEFINITIONS, definition, thing

THINGS = "/apis/example.com/v1/namespaces/default/things"
NAME = "things.example.com"


class HeldThread:
    """Another thread, whose calls begin when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Deferred[None]] = []

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        turn: Deferred[None] = Deferred()
        self.waiting.append(turn)
        await turn
        return function(*arguments)

    def finish(self) -> None:
        while self.waiting:
            self.waiting.pop(0).callback(None)


@pytest.fixture
def held() -> HeldThread:
    return HeldThread()


@pytest.fixture
def server(tmp_path: Path, held: HeldThread, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("orchd.server.customkinds.tracker._LARGE", LARGE)
    server = make_server(tmp_path)
    server.server.definitions._compute = ComputeThread(held)
    yield server
    server.stop()


def large(**more: Any) -> dict[str, Any]:
    """A definition whose description makes it large."""
    made = definition(**more)
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "x" * LARGE
    return made


def create(server: InProcessServer, held: HeldThread) -> None:
    run(server.client().create(DEFINITIONS, "", large()))
    held.finish()


def test_requests_wait_for_a_large_definition(server: InProcessServer, held: HeldThread) -> None:
    """Of the group of the definition alone."""
    run(server.client().create(DEFINITIONS, "", large()))
    answered: list[Any] = []
    start(server.request("POST", THINGS, body=thing())).addBoth(answered.append)
    assert not answered and run(server.request("GET", "/apis/other.com/v1/things")).code == 404
    held.finish()
    assert answered[0].code == 201


def test_requests_wait_for_a_changed_schema(server: InProcessServer, held: HeldThread) -> None:
    """A kind that is served already has its new schema in requests after the change."""
    create(server, held)
    client = server.client()
    current = run(client.get(DEFINITIONS, "", NAME))
    schema = current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["required"] = ["missing"]
    run(client.update(DEFINITIONS, "", NAME, current))
    answered: list[Any] = []
    start(server.request("POST", THINGS, body=thing())).addBoth(answered.append)
    assert not answered
    held.finish()
    assert answered[0].code == 422


def test_later_changes_wait_for_earlier_ones(server: InProcessServer, held: HeldThread) -> None:
    """A deletion is applied after the change before it, and requests wait for both."""
    create(server, held)
    client, tracker = server.client(), server.server.definitions
    assert NAME in tracker.by_name
    run(client.delete(DEFINITIONS, "", NAME))
    current = run(client.get(DEFINITIONS, "", NAME))
    current["metadata"]["finalizers"] = []
    run(client.update(DEFINITIONS, "", NAME, current))
    assert NAME in tracker.by_name and tracker.is_late("example.com")
    answered: list[Any] = []
    start(server.request("GET", THINGS)).addBoth(answered.append)
    assert not answered
    held.finish()
    assert NAME not in tracker.by_name and not tracker.is_late("example.com")
    assert answered[0].code == 404


def test_small_changes_wait_for_large_ones(server: InProcessServer, held: HeldThread) -> None:
    """The last change is the one that is served."""
    create(server, held)
    client = server.client()
    for title in ("x" * LARGE, "short"):
        current = run(client.get(DEFINITIONS, "", NAME))
        current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = title
        last = run(client.update(DEFINITIONS, "", NAME, current))
    held.finish()
    assert str(server.server.definitions.by_name[NAME].revision) == last["metadata"]["resourceVersion"]


def test_definitions_listed_again_replace_late_ones(server: InProcessServer, held: HeldThread) -> None:
    """What was being read meanwhile is not applied, and nobody waits for it any more."""
    create(server, held)
    client, tracker = server.client(), server.server.definitions
    current = run(client.get(DEFINITIONS, "", NAME))
    current["metadata"]["labels"] = {"a": "b"}
    stored = run(client.update(DEFINITIONS, "", NAME, current))
    settled: list[Any] = []
    start(tracker.settle()).addBoth(settled.append)
    assert not settled
    cache = server.server.registry.cache(tracker.definitions)  # type: ignore[arg-type]  # definitions are served
    tracker._follow(cache)
    assert settled == [None]
    held.finish()
    assert str(tracker.by_name[NAME].revision) == stored["metadata"]["resourceVersion"]
