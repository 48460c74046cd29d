"""Lists, gets and watches of past versions on the embedded store, before and after restarts."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.waiting import until

NAMESPACE = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACE}/configmaps"
LABEL = "labelSelector=mine"
FAR = 10_000_000


class Stage:
    """A server with a history: at version `old` a..e existed; since then a was changed, b deleted, f created."""

    def __init__(self, server: DaemonProcess) -> None:
        self.server = server
        for name in "abcde":
            self.create(name)
        self.old = int(self.get(f"{MAPS}?{LABEL}")["metadata"]["resourceVersion"])
        self.ask("PUT", f"{MAPS}/a", self.body("a", "2"))
        self.ask("DELETE", f"{MAPS}/b")
        self.create("f")
        self.now = int(self.get(f"{MAPS}?{LABEL}")["metadata"]["resourceVersion"])
        #: What remains of a paged list of the past after its first page.
        self.token: str = self.get(f"{MAPS}?fieldSelector=metadata.name!=none&limit=2")["metadata"]["continue"]

    @staticmethod
    def body(name: str, value: str) -> dict[str, Any]:
        metadata = {"name": name, "labels": {"mine": value}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}

    def create(self, name: str) -> None:
        self.ask("POST", MAPS, self.body(name, "1"))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        code, response = self.server.request(method, path, body)
        assert code in (200, 201), (code, response)
        return response

    def get(self, path: str) -> Any:
        return self.ask("GET", path)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with DaemonProcess(tmp_path_factory.mktemp("history"), "--controllers=-*") as server:
        yield Stage(server)


@pytest.fixture(scope="module", params=["running", "restarted", "killed"])
def past(request: pytest.FixtureRequest, stage: Stage) -> Stage:
    """The same stage after a stop and start, and after a kill and start."""
    if request.param != "running":
        if request.param == "killed":
            stage.server.kill()
        else:
            stage.server.terminate()
        stage.server.start()
    return stage


def values(response: Any) -> str:
    """Names with their values: ``a1 b1``."""
    return " ".join(item["metadata"]["name"] + item["data"]["v"] for item in response["items"])


OLD, NOW = "a1 b1 c1 d1 e1", "a2 c1 d1 e1 f1"
#: resourceVersion, resourceVersionMatch, limit -> the listed objects and their version, or the error code.
CELLS: list[tuple[str, str, int, str, str]] = [
    ("", "", 0, NOW, "now"),
    ("", "", 2, "a2 c1", "now"),
    ("", "Exact", 0, "422", ""),
    ("", "Exact", 2, "422", ""),
    ("", "NotOlderThan", 0, "422", ""),
    ("", "NotOlderThan", 2, "422", ""),
    ("0", "", 0, NOW, "now"),
    ("0", "", 2, NOW, "now"),
    ("0", "Exact", 0, "422", ""),
    ("0", "Exact", 2, "422", ""),
    ("0", "NotOlderThan", 0, NOW, "now"),
    ("0", "NotOlderThan", 2, NOW, "now"),
    ("old", "", 0, NOW, "now"),
    ("old", "", 2, "a1 b1", "old"),
    ("old", "Exact", 0, OLD, "old"),
    ("old", "Exact", 2, "a1 b1", "old"),
    ("old", "NotOlderThan", 0, NOW, "now"),
    ("old", "NotOlderThan", 2, "a2 c1", "now"),
    ("now", "", 0, NOW, "now"),
    ("now", "", 2, "a2 c1", "now"),
    ("now", "Exact", 0, NOW, "now"),
    ("now", "NotOlderThan", 2, "a2 c1", "now"),
    ("far", "", 2, "500", ""),
    ("far", "Exact", 0, "500", ""),
    ("old", "Older", 0, "422", ""),
    ("x", "", 0, "500", ""),
]


@pytest.mark.parametrize(("version", "match", "limit", "expected", "at"), CELLS)
def test_list_by_version_match_and_limit(
    past: Stage, version: str, match: str, limit: int, expected: str, at: str
) -> None:
    """Each combination of resourceVersion, resourceVersionMatch and limit, also for versions before a restart."""
    versions = {"old": str(past.old), "now": str(past.now), "far": str(FAR)}
    query = f"{LABEL}&resourceVersion={versions.get(version, version)}&resourceVersionMatch={match}&limit={limit}"
    code, response = past.server.request("GET", f"{MAPS}?{query}")
    if expected.isdigit():
        assert (str(code), response["status"]) == (expected, "Failure")
        return
    assert (code, values(response)) == (200, expected)
    shown = int(response["metadata"]["resourceVersion"])
    # A restart may write, which changes the current version but not past ones.
    assert shown == past.old if at == "old" else shown >= past.now
    assert bool(response["metadata"].get("continue")) == (len(expected.split()) == 2)


@pytest.mark.parametrize("version", ["", "0", "old", "now"])
def test_get_is_never_older_than_requested(past: Stage, version: str) -> None:
    """A get is never older than the requested version."""
    asked = {"old": past.old, "now": past.now}.get(version, version)
    assert past.get(f"{MAPS}/a?resourceVersion={asked}")["data"] == {"v": "2"}


def test_future_version_is_504(stage: Stage) -> None:
    """A read not older than a future version waits, and ends with 504 and a retry hint."""
    paths = [f"{MAPS}{query}resourceVersion={FAR}" for query in ("?", "?resourceVersionMatch=NotOlderThan&", "/a?")]
    with ThreadPoolExecutor() as pool:
        for code, response in pool.map(lambda path: stage.server.request("GET", path), paths):
            assert (code, response["reason"]) == (504, "Timeout")
            assert response["details"]["retryAfterSeconds"] == 1
            assert response["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
            assert response["message"].startswith(f"Timeout: Too large resource version: {FAR}, current: ")


def test_pages_show_the_first_pages_version(past: Stage) -> None:
    """Continue tokens page through the list as of the first page, with the remaining count, whatever was written
    since."""
    first = past.get(f"{MAPS}?limit=3&resourceVersion={past.old}&resourceVersionMatch=Exact")
    assert first["metadata"]["remainingItemCount"] == len(past.get(MAPS)["items"]) - 3
    names, page = [item["metadata"]["name"] for item in first["items"]], first
    while token := page["metadata"].get("continue"):
        page = past.get(f"{MAPS}?limit=3&continue={quote(token)}")
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"] == str(past.old)
        names += [item["metadata"]["name"] for item in page["items"]]
    assert [name for name in names if len(name) == 1] == list("abcde")
    filtered = past.get(f"{MAPS}?{LABEL}&limit=3")
    assert "remainingItemCount" not in filtered["metadata"]


def test_continue_token_survives_a_restart(past: Stage) -> None:
    """A continue token from before a restart is valid."""
    rest = past.get(f"{MAPS}?fieldSelector=metadata.name!=none&continue={quote(past.token)}")
    token = json.loads(base64.urlsafe_b64decode(past.token + "=" * (-len(past.token) % 4)))
    assert rest["metadata"]["resourceVersion"] == str(token["rv"])
    assert "f" in [item["metadata"]["name"] for item in rest["items"]]


class Watch:
    """A watch on its own connection, read line by line."""

    def __init__(self, server: DaemonProcess, path: str) -> None:
        self._connection = server.connect()
        self._connection.request("GET", path)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def __iter__(self) -> Iterator[Any]:
        while line := self._answer.readline():
            yield json.loads(line)

    def close(self) -> None:
        self._connection.close()


def event_text(event: Any) -> str:
    """``MODIFIED a2``, or the code of an error."""
    obj = event["object"]
    return (
        str(event["type"]) + " " + (str(obj["code"]) if "code" in obj else obj["metadata"]["name"] + obj["data"]["v"])
    )


SINCE = ["MODIFIED a2", "DELETED b1", "ADDED f1"]
STATE = ["ADDED a2", "ADDED c1", "ADDED d1", "ADDED e1", "ADDED f1"]
#: resourceVersion, other parameters -> events.
WATCHES: list[tuple[str, str, list[str]]] = [
    ("", "", STATE),
    ("0", "", STATE),
    ("old", "", SINCE),
    ("now", "", []),
    ("far", "", []),
    ("", "&fieldSelector=metadata.name=b", []),
    ("", "&fieldSelector=metadata.name=c", ["ADDED c1"]),
    ("old", "&fieldSelector=metadata.name=b", ["DELETED b1"]),
    ("old", "&fieldSelector=metadata.name=c", []),
    # Leaves and enters the selection by its labels.
    ("old", ",mine=1", ["DELETED a1", "DELETED b1", "ADDED f1"]),
    ("old", ",mine=2", ["ADDED a2"]),
]


def test_watch_from_every_kind_of_version(past: Stage) -> None:
    """Without a version the watch begins with the state; from a version with the changes after it, in one namespace and
    across all."""
    versions, opened = {"old": past.old, "now": past.now, "far": FAR}, []
    for path in (MAPS, "/api/v1/configmaps"):
        for version, more, expected in WATCHES:
            query = f"watch=1&timeoutSeconds=1&resourceVersion={versions.get(version, version)}&{LABEL}{more}"
            opened.append((Watch(past.server, f"{path}?{query}"), query, expected))
    for watch, query, expected in opened:
        assert [event_text(event) for event in watch] == expected, query
        watch.close()


def test_resumed_watch_misses_nothing_across_kills(tmp_path: Path) -> None:
    """A watch that is resumed at the last seen version after each kill -9 misses no acknowledged write and repeats
    none."""
    acknowledged: list[tuple[str, int]] = []
    stop = threading.Event()
    with DaemonProcess(tmp_path, "--controllers=-*") as server:

        def write() -> None:
            number, connection = 0, None
            while not stop.is_set():
                number += 1
                try:
                    connection = connection or server.connect()
                    connection.request(
                        "POST", MAPS, json.dumps(Stage.body(f"n{number}", "1")), {"Content-Type": "application/json"}
                    )
                    response = connection.getresponse()
                    body = json.loads(response.read())
                    if response.status == 201:
                        acknowledged.append((f"n{number}", int(body["metadata"]["resourceVersion"])))
                except (OSError, http.client.HTTPException, ValueError):
                    connection = None
                    time.sleep(0.02)

        def make_progress() -> None:
            before = len(acknowledged)
            until(lambda: len(acknowledged) > before + 10)

        def kill() -> None:
            try:
                for _ in range(3):
                    make_progress()
                    server.kill()
                    server.start()
            finally:
                stop.set()

        last = int(server.request("GET", MAPS)[1]["metadata"]["resourceVersion"])
        seen: list[tuple[str, int]] = []
        threads = [threading.Thread(target=each, daemon=True) for each in (write, kill)]
        for thread in threads:
            thread.start()
        ended = False
        while not ended:
            # A last read after all writes.
            ended = stop.is_set() and not threads[0].is_alive()
            try:
                watch = Watch(server, f"{MAPS}?watch=1&resourceVersion={last}&timeoutSeconds=1")
                for event in watch:
                    assert event["type"] == "ADDED", event
                    metadata = event["object"]["metadata"]
                    last = int(metadata["resourceVersion"])
                    seen.append((metadata["name"], last))
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                time.sleep(0.02)  # The server is being killed and started.
        for thread in threads:
            thread.join()
    seen = [each for each in seen if each[0].startswith("n")]
    assert len(set(seen)) == len(seen), "shown twice"
    assert [revision for _, revision in seen] == sorted(revision for _, revision in seen)
    assert set(acknowledged) <= set(seen)
    assert len(seen) - len(acknowledged) <= 3, "at most the one under way at each kill was not acknowledged"
    assert len(acknowledged) > 20
