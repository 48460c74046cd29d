"""kill -9 of a server in the middle of 2,000 bindings."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from orchd.dialect import ORCH
from orchd.testing.process import DaemonProcess, exchange

COUNT, NODES, ROOM = 2000, 20, 105
PODS = "/api/v1/namespaces/default/pods"


def places(server: DaemonProcess) -> dict[str, str]:
    """The node of each pod by its uid, "" for none."""
    code, found = server.request("GET", PODS)
    assert code == 200
    return {each["metadata"]["uid"]: each["spec"].get("nodeName", "") for each in found["items"]}


def make_pods(server: DaemonProcess, numbers: range) -> None:
    """Over one connection."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    with closing(server.connect()) as connection:
        for number in numbers:
            code, answer = exchange(connection, "POST", PODS, {"metadata": {"name": f"p{number}"}, "spec": spec})
            assert code == 201, answer


def make_node(server: DaemonProcess, number: int) -> None:
    room = {"cpu": "64", "memory": "64Gi", "pods": str(ROOM)}
    node = {"metadata": {"name": f"n{number}"}, "status": {"allocatable": room, "capacity": room}}
    assert server.request("POST", "/api/v1/nodes", node)[0] == 201


def test_killed_in_the_middle_of_bindings(tmp_path: Path) -> None:
    """What was bound stays where it is; after the restart the rest is bound, once each and within the nodes' room."""
    flags = ("--controllers=-*", "--scheduler=true", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
    with DaemonProcess(tmp_path, *flags, dialect=ORCH) as server:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda first: make_pods(server, range(first, COUNT, 4)), range(4)))
        for number in range(NODES):
            make_node(server, number)
        before: dict[str, str] = {}
        while sum(map(bool, before.values())) < COUNT // 20:
            before = places(server)
        server.kill()
        bound = sum(map(bool, before.values()))
        assert len(before) == COUNT and bound < COUNT, "the server was too fast to be killed in the middle"
        server.start()
        end = time.monotonic() + 300
        while not all((after := places(server)).values()):
            assert time.monotonic() < end
            time.sleep(0.2)
        assert after.keys() == before.keys(), "no pod is lost"
        assert {uid: after[uid] for uid, place in before.items() if place} == {uid: p for uid, p in before.items() if p}
        assert max(Counter(after.values()).values()) <= ROOM
        code, events = server.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=Scheduled")
        assert code == 200
        told = Counter(each["involvedObject"]["uid"] for each in events["items"])
        assert max(told.values()) == 1 and all(each.get("series") is None for each in events["items"]), "bound once each"
