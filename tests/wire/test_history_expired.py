"""A history of one second: responses to requests for expired versions, on either store."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.etcd import running_etcd
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)
SHORT = ("--controllers=-*", "--history-duration=1s", "--etcd-compaction-interval=1s")


@pytest.fixture(params=["embedded", "etcd"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DaemonProcess]:
    if request.param == "embedded":
        with DaemonProcess(tmp_path, *SHORT) as process:
            yield process
        return
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        DaemonProcess(tmp_path, *SHORT, f"--etcd-servers={etcd.url}") as process,
    ):
        yield process


def config(name: str, value: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"mine": "yes"}},
        "data": {"v": value},
    }


def listed_values(response: Any) -> str:
    return " ".join(item["metadata"]["name"] + item["data"]["v"] for item in response["items"])


def test_expired_token_is_410_with_a_new_token(server: DaemonProcess) -> None:
    """An expired continue token is 410 with a token that continues at the current version."""

    def ask(method: str, path: str, body: Any = None) -> Any:
        code, response = server.request(method, path, body)
        assert code in (200, 201), response
        return response

    def went_on(token: str) -> tuple[int, Any]:
        return server.request("GET", f"{MAPS}?labelSelector=mine&limit=2&continue={quote(token)}")

    def rest_in_time(again: str) -> bool:
        """The remaining items as of now, at one version; False if it expired between the two pages."""
        code, second = went_on(again)
        assert (code, listed_values(second)) == (200, "c2 e1")
        assert int(second["metadata"]["resourceVersion"]) > int(version)
        code, third = went_on(second["metadata"]["continue"])
        if code == 410:
            return False
        assert (code, listed_values(third)) == (200, "f1 g1")
        assert third["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
        assert "continue" not in third["metadata"]
        return True

    for name in "abcdef":
        ask("POST", MAPS, config(name, "1"))
    token = version = ""

    def read_on_in_time() -> bool:
        """Two pages at one version. On a slow machine the second may be too late."""
        nonlocal token, version
        first = ask("GET", f"{MAPS}?labelSelector=mine&limit=2")
        assert listed_values(first) == "a1 b1"
        token, version = first["metadata"]["continue"], first["metadata"]["resourceVersion"]
        code, second = went_on(token)
        assert code == 410 or (code, listed_values(second)) == (200, "c1 d1")
        return code == 200

    until(read_on_in_time)
    ask("PUT", f"{MAPS}/c", config("c", "2"))
    ask("DELETE", f"{MAPS}/d")
    ask("POST", MAPS, config("g", "1"))
    # Unchanged while the version is kept; then 410.
    code, response = went_on(token)
    assert code == 410 or listed_values(response) == "c1 d1"
    for _ in range(2):
        until(lambda: went_on(token)[0] == 410)
        code, response = went_on(token)
        again = response["metadata"].pop("continue")
        assert (code, response) == (
            410,
            {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": TOO_OLD,
                "reason": "Expired", "code": 410,
            },
        )  # fmt: skip
        assert json.loads(base64.urlsafe_b64decode(again + "=" * (-len(again) % 4))) == {
            "v": f"{server.dialect.meta_group}/v1",
            "rv": -1,
            "start": "b\x00",
        }
        until(partial(rest_in_time, again))
        # The same after a restart, which may find history that was not deleted yet.
        server.kill()
        server.start()
    until(lambda: went_on(token)[0] == 410)
    # The same for a list and a watch at that version.
    code, response = server.request("GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (code, response["reason"]) == (410, "Expired")
    (event,) = watch_events(server, version)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    # From the current version both continue.
    assert watch_events(server, ask("GET", MAPS)["metadata"]["resourceVersion"]) == []


def watch_events(server: DaemonProcess, version: str) -> list[Any]:
    """The events of a watch of one second."""
    connection = server.connect()
    connection.request("GET", f"{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    response = connection.getresponse()
    assert response.status == 200
    lines = response.read().splitlines()
    connection.close()
    return [json.loads(line) for line in lines]
