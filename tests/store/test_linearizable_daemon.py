"""The same over HTTPS, with a server that is killed while clients are active."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from orchd.testing.contracts.linear import History, Kind, Operation, Outcome
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, exchange
from tests.waiting import until

KEYS = ("a", "b")
PATH = "/api/v1/namespaces/default/configmaps"
SEED = os.environ.get("ORCHD_LINEAR_SEED", "1")
ROUNDS = int(os.environ.get("ORCHD_LINEAR_ROUNDS", "2"))


class Client(threading.Thread):
    """Increments counters by guarded writes, and sometimes deletes one, until it is stopped."""

    def __init__(self, name: str, server: DaemonProcess, history: History, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.wrong: BaseException | None = None
        self._server = server
        self._history = history
        self._stop_asked = stop
        self._choose = Random(f"{SEED}-{name}")
        self._context = server.context()
        self._connection: http.client.HTTPSConnection | None = None

    def run(self) -> None:
        step = 0
        try:
            while not self._stop_asked.is_set():
                step += 1
                try:
                    self._step(step)
                except (OSError, http.client.HTTPException, ValueError):
                    # The operation has an unknown outcome.
                    self._connection = None
                    time.sleep(0.05)
        except BaseException as error:
            self.wrong = error  # Raised where the thread is joined.
        finally:
            if self._connection is not None:
                self._connection.close()

    def _step(self, step: int) -> None:
        key = self._choose.choice(KEYS)
        reading = self._history.begin(self.name, Kind.GET, key)
        code, answer = self._ask("GET", f"{PATH}/{key}")
        if code == 404:
            self._history.saw(reading, None)
            number = expected = 0
        elif code == 200:
            expected = int(answer["metadata"]["resourceVersion"])
            self._history.saw(reading, (answer["data"]["v"], expected))
            number = int(answer["data"]["v"].partition(" ")[0])
        else:
            return
        if expected and self._choose.random() < 0.05:
            deleting = self._history.begin(self.name, Kind.DELETE, key, expected=expected)
            guard = {"preconditions": {"resourceVersion": str(expected)}}
            self._note(deleting, *self._ask("DELETE", f"{PATH}/{key}", guard))
            return
        value = f"{number + 1} {self.name}-{step}"
        version = {"resourceVersion": str(expected)} if expected else {}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key, **version}, "data": {"v": value}}
        writing = self._history.begin(self.name, Kind.PUT, key, value=value, expected=expected)
        response = self._ask("PUT", f"{PATH}/{key}", body) if expected else self._ask("POST", PATH, body)
        self._note(writing, *response)

    def _note(self, operation: Operation, code: int, body: object) -> None:
        if code in (200, 201):
            assert isinstance(body, dict)
            # The response to a deletion does not have its revision.
            revision = 0 if operation.kind is Kind.DELETE else int(body["metadata"]["resourceVersion"])
            self._history.wrote(operation, revision)
        elif code in (404, 409):
            self._history.refused(operation)
        else:
            # The store's connection broke: the outcome of the write is unknown.
            assert code == 500 and isinstance(body, dict), (code, body)
            assert body["message"].startswith("the store cannot take writes: "), body

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, dict[str, str]]]:
        if self._connection is None:
            port = self._server.port
            self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=self._context)
        return exchange(self._connection, method, path, body)


def killed_owner(server: DaemonProcess, choose: Random) -> None:
    """Kill the process that owns the store, and start the server again."""
    server.kill()
    server.start()


def killed_any(server: DaemonProcess, choose: Random) -> None:
    """Kill any process of the server; one that only serves is started again by itself."""
    serving = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    if serving and choose.random() < 0.7:
        os.kill(int(choose.choice(serving)), signal.SIGKILL)
    else:
        killed_owner(server, choose)


@pytest.mark.parametrize(
    ("flags", "kill"), [((), killed_owner), (("--processes=2",), killed_any)], ids=["one process", "two processes"]
)
def test_killed_server_is_linearizable(
    tmp_path: Path, flags: tuple[str, ...], kill: Callable[[DaemonProcess, Random], None]
) -> None:
    """The clients' results before and after kill -9 are linearizable, and revisions increase with time."""
    history, stop, choose = History(), threading.Event(), Random(SEED)
    server = DaemonProcess(tmp_path, "--controllers=-*", *flags)
    with server:
        clients = [Client(f"c{number}", server, history, stop) for number in range(5)]

        def make_progress(operations: int) -> None:
            expected = {key: history.count(Outcome.OK, key) + operations for key in KEYS}
            until(
                lambda: (
                    all(history.count(Outcome.OK, key) > least for key, least in expected.items())
                    or any(client.wrong for client in clients)
                )
            )

        try:
            for client in clients:
                client.start()
            for _ in range(ROUNDS):
                make_progress(choose.randint(10, 20))
                kill(server, choose)
            make_progress(10)
        finally:
            stop.set()
            for client in clients:
                client.join(PATIENCE)
        assert [client.wrong for client in clients if client.wrong] == []
    history.check()
    for key in KEYS:
        assert history.count(Outcome.OK, key) > 10
