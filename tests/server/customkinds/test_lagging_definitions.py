"""A server whose cache of definitions lags behind the store, as beside other servers on the same store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchd.cache.entries import Change
from orchd.cache.interfaces import ICache, ISubscription
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.testing.doubles.server import make_server, run
from tests.server.customkinds.test_serving import DEFINITIONS, definition, thing

THINGS = "/apis/example.com/v1/namespaces/default/things"


class LateCache:
    """A cache that delivers changes when a caller waits for them."""

    def __init__(self, cache: ICache) -> None:
        self._cache = cache
        self._late: list[Change] = []
        self._on_change: Callable[[Change], None] = self._late.append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def subscribe(self, *, on_change: Callable[[Change], None], **how: Any) -> ISubscription:
        self._on_change = on_change
        return self._cache.subscribe(on_change=self._late.append, **how)

    def deliver(self) -> None:
        """Deliver the first late change."""
        self._on_change(self._late.pop(0))

    async def fresh(self) -> None:
        while self._late:
            self.deliver()


def test_established_kind_is_found_before_its_event(tmp_path: Path) -> None:
    """A request of a kind that another server established waits for the definition, rather than being told that it does
    not exist."""
    server = make_server(tmp_path)
    tracker: DefinitionTracker = server.server.definitions
    resource = tracker.definitions
    assert resource is not None
    cache = LateCache(server.server.registry.cache(resource))
    run(tracker.stop())
    run(tracker.start(cache))  # type: ignore[arg-type]  # a double
    run(server.client().create(DEFINITIONS, "", definition()))
    cache.deliver()
    assert tracker.catalog.resource("example.com", "v1", "things") is None, "the condition is late"
    assert run(server.request("POST", THINGS, body=thing())).code == 201
    assert run(server.request("GET", "/apis/example.com/v1/others")).code == 404
    server.stop()
