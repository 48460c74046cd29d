"""Updates on a server that shares its store: the first attempt uses the cached object, which may be outdated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.cache.entries import Entry
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"content-type": "application/merge-patch+json"}


class Behind:
    """A server whose cache of config maps can show an earlier state until somebody waits for the newest."""

    def __init__(self, server: InProcessServer) -> None:
        self.server = server
        registry: Any = server.server.registry
        self._cache: Any = registry.cache(server.server.catalog.resource("", "v1", "configmaps"))
        self._cache.alone = False
        self._get, self._fresh = self._cache.get, self._cache.fresh
        self._cache.get, self._cache.fresh = self._shown, self._wait
        self._former: dict[str, Entry | None] = {}
        #: How often somebody waited for the newest state.
        self.waits = 0

    def _shown(self, path: str) -> Entry | None:
        former: Entry | None = self._former[path] if path in self._former else self._get(path)
        return former

    async def _wait(self) -> None:
        self.waits += 1
        self._former.clear()
        await self._fresh()

    def ask(self, method: str, path: str, body: Any = None) -> JsonResponse:
        headers = MERGE if method == "PATCH" else {}
        return run(self.server.request(method, f"{MAPS}{path}", body=body, headers=headers))

    def fall_behind(self, method: str, path: str, body: Any = None) -> JsonResponse:
        """Make a change that the cache does not show yet."""
        name = path.strip("/") or body["metadata"]["name"]
        entry = self._get(f"default/{name}")
        response = self.ask(method, path, body)
        self._former[f"default/{name}"] = entry
        self.waits = 0
        return response


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    server = make_server(tmp_path)
    behind = Behind(server)
    assert behind.ask("POST", "", {"metadata": {"name": "a"}, "data": {"x": "1"}}).code == 201
    yield behind
    server.stop()


def test_update_of_the_newest_state_does_not_wait(behind: Behind) -> None:
    """A change of what the cache has is written without waiting for what others wrote: the store compares revisions."""
    behind.waits = 0
    assert behind.ask("PATCH", "/a", {"data": {"y": "2"}}).json["data"] == {"x": "1", "y": "2"}
    assert behind.waits == 0


def test_change_of_an_earlier_state_is_repeated(behind: Behind) -> None:
    """A patch of an earlier state is applied to the newest."""
    behind.fall_behind("PATCH", "/a", {"data": {"y": "2"}})
    assert behind.ask("PATCH", "/a", {"data": {"z": "3"}}).json["data"] == {"x": "1", "y": "2", "z": "3"}
    assert behind.waits == 1


def test_refusal_of_an_earlier_state_does_not_count(behind: Behind) -> None:
    """The newest resourceVersion is accepted by a cache that does not have it."""
    newest = behind.fall_behind("PATCH", "/a", {"data": {"y": "2"}}).json
    assert behind.ask("PUT", "/a", {**newest, "data": {"only": "1"}}).json["data"] == {"only": "1"}


def test_refusal_of_the_newest_state(behind: Behind) -> None:
    """A refusal is reported once it is known that the cache had the newest state, without a second attempt."""
    current = behind.ask("GET", "/a").json
    behind.waits = 0
    refused = behind.ask("PUT", "/a", {**current, "metadata": {**current["metadata"], "resourceVersion": "1"}})
    assert (refused.code, refused.json["reason"], behind.waits) == (409, "Conflict", 1)


def test_equal_to_an_earlier_state(behind: Behind) -> None:
    """A change back to an earlier state is written, though the cache has that state."""
    behind.fall_behind("PATCH", "/a", {"data": {"x": "2"}})
    assert behind.ask("PATCH", "/a", {"data": {"x": "1"}}).code == 200
    assert behind.ask("GET", "/a").json["data"] == {"x": "1"}


def test_dry_run_shows_the_newest_state(behind: Behind) -> None:
    """The result of a dry run, which the store does not check, is that of the newest state."""
    behind.fall_behind("PATCH", "/a", {"data": {"y": "2"}})
    assert behind.ask("PATCH", "/a?dryRun=All", {"data": {"z": "3"}}).json["data"] == {"x": "1", "y": "2", "z": "3"}


def test_deleted_and_created_meanwhile(behind: Behind) -> None:
    """A deleted object is not found though the cache has it, and a new one is found though the cache has none."""
    behind.fall_behind("DELETE", "/a")
    assert behind.ask("PATCH", "/a", {"data": {"y": "2"}}).code == 404
    behind.fall_behind("POST", "", {"metadata": {"name": "b"}, "data": {"x": "1"}})
    assert behind.ask("PATCH", "/b", {"data": {"y": "2"}}).json["data"] == {"x": "1", "y": "2"}
