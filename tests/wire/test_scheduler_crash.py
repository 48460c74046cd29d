"""kill -9 of a server during 2,000 bindings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import IO

from orchd.dialect import ORCH
from orchd.testing.processes.daemon import DaemonProcess, exchange
from tests.waiting import until

COUNT, NODES, ROOM = 2000, 20, 105
PODS = "/api/v1/namespaces/default/pods"


def places(server: DaemonProcess) -> dict[str, str]:
    """The node of each pod by its uid, "" for none."""
    code, pods = server.request("GET", PODS)
    assert code == 200
    return {each["metadata"]["uid"]: each["spec"].get("nodeName", "") for each in pods["items"]}


def make_pods(server: DaemonProcess, numbers: range) -> None:
    """Create pods over one connection."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    with closing(server.connect()) as connection:
        for number in numbers:
            code, response = exchange(connection, "POST", PODS, {"metadata": {"name": f"p{number}"}, "spec": spec})
            assert code == 201, response


def make_node(server: DaemonProcess, number: int) -> None:
    room = {"cpu": "64", "memory": "64Gi", "pods": str(ROOM)}
    node = {"metadata": {"name": f"n{number}"}, "status": {"allocatable": room, "capacity": room}}
    assert server.request("POST", "/api/v1/nodes", node)[0] == 201


def bindings(watching: IO[bytes], count: int) -> Iterator[tuple[str, str]]:
    """(uid, node) of the first bindings in a watch of bound pods."""
    for _ in range(count):
        pod = json.loads(watching.readline())["object"]
        yield pod["metadata"]["uid"], pod["spec"]["nodeName"]


def test_killed_scheduler_binds_each_pod_once(tmp_path: Path) -> None:
    """Bound pods keep their node; after the restart the others are bound once each, within the nodes' capacity."""
    flags = ("--controllers=-*", "--scheduler=true", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
    with DaemonProcess(tmp_path, *flags, dialect=ORCH) as server:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda first: make_pods(server, range(first, COUNT, 4)), range(4)))
        pods = places(server)
        assert len(pods) == COUNT
        with closing(server.connect()) as connection:
            connection.request("GET", f"{PODS}?watch=1&fieldSelector=spec.nodeName!%3D")
            watching = connection.getresponse()
            # Capacity for half of the pods, so that some are left at any time of the kill.
            for number in range(NODES // 2):
                make_node(server, number)
            before = dict(bindings(watching, COUNT // 20))
            server.kill()
        server.start()
        for number in range(NODES // 2, NODES):
            make_node(server, number)
        until(lambda: server.request("GET", f"{PODS}?fieldSelector=spec.nodeName%3D&limit=1")[1]["items"] == [])
        after = places(server)
        assert after.keys() == pods.keys(), "no pod is lost"
        assert {uid: after[uid] for uid in before} == before
        assert max(Counter(after.values()).values()) <= ROOM
        code, events = server.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=Scheduled")
        assert code == 200
        told = Counter(each["involvedObject"]["uid"] for each in events["items"])
        assert max(told.values()) == 1 and all(each.get("series") is None for each in events["items"]), (
            "bound once each"
        )
