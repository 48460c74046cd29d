"""Three server processes on one etcd."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from orchd.dialect import KUBERNETES
from orchd.testing.etcd_cluster import EtcdCluster
from orchd.testing.processes.daemon import DaemonProcess
from orchd.testing.processes.ports import free_port
from tests.waiting import ELECTION, until

MAPS = "/api/v1/namespaces/default/configmaps"


def test_three_servers_serve_the_same_objects(program: str, tmp_path: Path) -> None:
    """Three servers serve the same objects with the same versions; one that is killed does not affect clients, and a
    restart continues."""
    with EtcdCluster(tmp_path) as cluster:
        one, two, three = cluster.servers
        code, created = one.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        assert code == 201
        assert [server.request("GET", f"{MAPS}/a") for server in cluster.servers] == [(200, created)] * 3
        code, changed = two.request("PUT", f"{MAPS}/a", {**created, "data": {"x": "2"}})
        assert code == 200
        assert three.request("GET", f"{MAPS}/a") == (200, changed)
        assert one.request("PUT", f"{MAPS}/a", {**created, "data": {"x": "3"}})[0] == 409
        one.kill()
        code, again = three.request("PUT", f"{MAPS}/a", {**changed, "data": {"x": "3"}})
        assert (code, two.request("GET", f"{MAPS}/a")) == (200, (200, again))
        one.start()
        assert one.request("GET", f"{MAPS}/a") == (200, again)
    with EtcdCluster(tmp_path) as cluster:
        assert [server.request("GET", f"{MAPS}/a") for server in cluster.servers] == [(200, again)] * 3


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
    with EtcdCluster(tmp_path, *ELECTION) as cluster:
        servers = list(cluster.servers)
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


def test_command_takes_dialect_and_port(program: str, tmp_path: Path) -> None:
    """The command starts servers of the dialect in its flags, on ports from the given one, and refuses an unknown flag
    in one line."""
    words = [sys.executable, "-m", "orchd.testing.etcd_cluster"]
    wrong = subprocess.run([*words, str(tmp_path), "--dialekt=x"], capture_output=True, text=True)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1), wrong.stderr
    port = free_ports(3)
    command = [*words, f"--port={port}", str(tmp_path), f"--dialect={KUBERNETES.name}", "--controllers=-*"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            lines = [running.stdout.readline().split() for _ in range(3)]
            assert [url for url, _ in lines] == [f"https://127.0.0.1:{port + number}" for number in range(3)]
            assert all(
                Path(file).name == f"admin.{KUBERNETES.config_file_kind}" and Path(file).exists() for _, file in lines
            )
        finally:
            running.terminate()
    assert running.returncode == 0


def free_ports(count: int) -> int:
    """The first of `count` neighbouring ports that were free."""
    while True:
        first = free_port()
        if all(is_free(first + number) for number in range(1, count)):
            return first


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
