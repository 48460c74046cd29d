"""Three server processes on one etcd."""

from __future__ import annotations

from pathlib import Path

from orchd.testing.process import DaemonProcess
from orchd.testing.trio import Trio
from tests.waiting import ELECTION, until

MAPS = "/api/v1/namespaces/default/configmaps"


def test_three_servers_serve_the_same_objects(program: str, tmp_path: Path) -> None:
    """Three servers serve the same objects with the same versions; one that is killed does not affect clients, and a
    restart continues."""
    with Trio(tmp_path) as trio:
        one, two, three = trio.servers
        code, made = one.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        assert code == 201
        assert [server.request("GET", f"{MAPS}/a") for server in trio.servers] == [(200, made)] * 3
        code, changed = two.request("PUT", f"{MAPS}/a", {**made, "data": {"x": "2"}})
        assert code == 200
        assert three.request("GET", f"{MAPS}/a") == (200, changed)
        assert one.request("PUT", f"{MAPS}/a", {**made, "data": {"x": "3"}})[0] == 409
        one.kill()
        code, again = three.request("PUT", f"{MAPS}/a", {**changed, "data": {"x": "3"}})
        assert (code, two.request("GET", f"{MAPS}/a")) == (200, (200, again))
        one.start()
        assert one.request("GET", f"{MAPS}/a") == (200, again)
    with Trio(tmp_path) as trio:
        assert [server.request("GET", f"{MAPS}/a") for server in trio.servers] == [(200, again)] * 3


LEASE = "/apis/coordination.orch.io/v1/namespaces/orch-system/leases/orch-controller-manager"
NAMESPACES = "/api/v1/namespaces"


def is_leader(server: DaemonProcess) -> bool:
    """Whether this process runs the controllers, by its metrics."""
    code, text = server.request("GET", "/metrics")
    assert code == 200
    return 'leader_election_master_status{name="orch-controller-manager"} 1.0' in str(text)


def holder_of_lease(server: DaemonProcess) -> str:
    return str(server.request("GET", LEASE)[1]["spec"]["holderIdentity"])


def test_one_of_three_runs_the_controllers(program: str, tmp_path: Path) -> None:
    """Exactly one server is_leader; when it is killed another one takes over, and the controllers continue."""
    with Trio(tmp_path, *ELECTION) as trio:
        servers = list(trio.servers)
        until(lambda: any(map(is_leader, servers)))
        (leader,) = [server for server in servers if is_leader(server)]
        holder = holder_of_lease(leader)
        leader.kill()
        servers.remove(leader)
        # For the length of the lease; reading metrics costs much more.
        until(lambda: holder_of_lease(servers[0]) != holder)
        until(lambda: any(map(is_leader, servers)))
        assert [is_leader(server) for server in servers].count(True) == 1
        lease = servers[0].request("GET", LEASE)[1]["spec"]
        assert lease["holderIdentity"] != holder
        assert lease["leaseTransitions"] == 1
        # The controllers of the new leader create the service account of the namespace.
        assert servers[0].request("POST", NAMESPACES, {"metadata": {"name": "after"}})[0] == 201
        until(lambda: servers[1].request("GET", f"{NAMESPACES}/after/serviceaccounts/default")[0] == 200)
        # An orderly stop releases the lock.
        (second,) = [server for server in servers if is_leader(server)]
        second.terminate()
        servers.remove(second)
        until(lambda: is_leader(servers[0]))
