"""Many watchers of one resource: each gets every change, and together they cost little."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from tests.processes import resident_memory

MAPS = "/api/v1/namespaces/default/configmaps"


def test_many_slow_watchers_get_every_event_in_order(tmp_path: Path) -> None:
    """Three hundred watchers that do not read during a hundred changes read all of them afterwards, in order; the
    server keeps each change once and not once per watcher."""
    watchers, changes, size = 300, 100, 4_000
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        _, listed = server.request("GET", MAPS)
        path = f"{MAPS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
        before = resident_memory(server.pid)
        connections, answers = [], []
        context = server.context()
        for _ in range(watchers):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE, context=context)
            connection.request("GET", path)
            connections.append(connection)
            answers.append(connection.getresponse())
        watched = resident_memory(server.pid)
        assert watched - before < watchers * 200_000
        writer = server.connect()
        for number in range(changes):
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"n{number}"},
                "data": {"v": "x" * size},
            }
            writer.request("POST", MAPS, json.dumps(body), {"Content-Type": "application/json"})
            written = writer.getresponse()
            assert (written.read() and written.status) == 201
        # All changes for all watchers would be 120 MB and more; socket buffers and TLS records hold some of it.
        assert resident_memory(server.pid) - watched < watchers * 100_000 + 20 * changes * size
        expected = [f"n{number}" for number in range(changes)]
        for response in answers:
            assert [json.loads(response.readline())["object"]["metadata"]["name"] for _ in expected] == expected
        for connection in [*connections, writer]:
            connection.close()
