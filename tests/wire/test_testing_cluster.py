"""`orchd.testing.Cluster`: servers in separate processes, for users' tests."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.testing import Cluster, ClusterError
from orchd.testing.cluster.cluster import reachable
from orchd.testing.forking.lifetime import is_running
from orchd.testing.processes.daemon import PATIENCE
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def watch(cluster: Cluster, query: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
    """An open watch of config maps."""
    context = ssl.create_default_context(cafile=cluster.ca_file)
    host, port = cluster.url.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=PATIENCE, context=context)
    connection.request("GET", f"{MAPS}?watch=1&{query}", headers={"Authorization": f"Bearer {cluster.token}"})
    return connection, connection.getresponse()


def revision(cluster: Cluster) -> str:
    return str(cluster.request("GET", MAPS)[1]["metadata"]["resourceVersion"])


def test_clusters_share_nothing() -> None:
    """Two clusters at a time have their own objects, ports and processes."""
    with Cluster() as one, Cluster() as other:
        assert one.request("POST", MAPS, config_map("only-here"))[0] == 201
        assert one.request("GET", f"{MAPS}/only-here")[0] == 200
        assert other.request("GET", f"{MAPS}/only-here")[0] == 404
        assert one.url != other.url and one.pid != other.pid


def watched_sockets(pid: int) -> set[str]:
    """The sockets whose events the reactor of a process waits for, as inode and device in its epoll instance."""
    with socket.socket() as probe:
        device = f"sdev:{os.fstat(probe.fileno()).st_dev:x}"
    folder = Path(f"/proc/{pid}")
    numbers = [file.name for file in (folder / "fd").iterdir() if "eventpoll" in os.readlink(file)]
    lines = "".join((folder / "fdinfo" / number).read_text() for number in numbers).splitlines()
    return {" ".join(line.split()[-2:]) for line in lines if line.startswith("tfd:") and line.endswith(device)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_clusters_do_not_share_a_reactor() -> None:
    """A cluster gets no events of another one's connections, whose descriptors have the same numbers."""
    with Cluster() as one, Cluster() as other:
        connections = [watch(cluster, "") for cluster in (one, other)]
        sockets = [watched_sockets(cluster.pid) for cluster in (one, other)]
        assert all(sockets)
        assert not sockets[0] & sockets[1]
        for connection, _ in connections:
            connection.close()


def test_a_stopped_cluster_leaves_no_process() -> None:
    """When `stop` returns the port is closed and the process has ended."""
    with Cluster() as cluster:
        url, pid = cluster.url, cluster.pid
        assert reachable(url)
    assert not reachable(url)
    # The kernel may need another moment to reap the process.
    cluster.wait_for(lambda: not is_running(pid), what="the process is gone", timeout=PATIENCE)
    with pytest.raises(ClusterError, match="not running"):
        cluster.request("GET", "/")


@pytest.mark.parametrize(("dialect", "namespace"), [("kubernetes", "kube-system"), ("orch", "orch-system")])
def test_cluster_speaks_the_requested_dialect(dialect: str, namespace: str) -> None:
    """A cluster has the requested dialect."""
    with Cluster(dialect=dialect) as cluster:
        assert cluster.request("GET", f"/api/v1/namespaces/{namespace}")[0] == 200


def test_administrator_credentials(shared: Cluster) -> None:
    """The kubeconfig, the certificate and the token all belong to the administrator; without them requests are
    anonymous."""
    config = yaml.safe_load(Path(shared.config_file).read_text())
    assert config["clusters"][0]["cluster"]["server"] == shared.url
    assert shared.environment() == {"KUBECONFIG": shared.config_file}
    context = ssl.create_default_context(cafile=shared.ca_file)
    context.load_cert_chain(shared.certificate_file, shared.key_file)
    host, port = shared.url.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=PATIENCE, context=context)
    connection.request("GET", "/api/v1/secrets")
    assert connection.getresponse().status == 200
    connection.close()
    assert shared.request("GET", "/api/v1/secrets")[0] == 200
    assert shared.request("GET", "/api/v1/secrets", token="")[0] == 403
    assert shared.request("GET", "/api/v1/secrets", token="wrong")[0] == 401


def test_controllers_run_unless_they_are_switched_off() -> None:
    """With controllers a deleted namespace is removed, without them it stays."""
    for on in (True, False):
        with Cluster(controllers=on) as cluster:
            assert cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})[0] == 201
            if on:
                cluster.wait_for_object("/api/v1/namespaces/a/serviceaccounts/default", timeout=PATIENCE)
            assert cluster.request("DELETE", "/api/v1/namespaces/a")[0] == 200
            if on:
                cluster.wait_for_absence("/api/v1/namespaces/a", timeout=PATIENCE)
            else:
                assert cluster.request("GET", "/api/v1/namespaces/a")[1]["status"]["phase"] == "Terminating"


def test_default_objects_exist_when_a_cluster_is_ready() -> None:
    """A pod can be created in the default namespace at once: its service account exists, also in a first cluster."""
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    for _ in range(2):
        with Cluster(flags={"min-request-timeout": "1799"}) as cluster:
            assert cluster.request("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
            assert cluster.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200


def test_folder_keeps_the_store(tmp_path: Path) -> None:
    """Objects exist in the next cluster on the same folder."""
    with Cluster(folder=tmp_path / "kept") as cluster:
        assert cluster.request("POST", MAPS, config_map("a", key="1"))[0] == 201
    with Cluster(folder=tmp_path / "kept") as cluster:
        assert cluster.request("GET", f"{MAPS}/a")[1]["data"] == {"key": "1"}


def test_invalid_flags_are_named() -> None:
    """The error of a start names the invalid flag, every time."""
    for _ in range(2):
        with pytest.raises(ClusterError, match="no-such-flag"):
            Cluster(flags={"no-such-flag": "1"}).start()
    with pytest.raises(ValueError, match="secure-port"):
        Cluster(flags={"secure-port": "1"})
    with pytest.raises(ValueError, match="one of"):
        Cluster(dialect="latin")


def test_feature_gates_are_passed_on() -> None:
    """Feature gates are passed to the server."""
    with Cluster(gates={"OpenAPIV3": True}) as cluster:
        assert cluster.request("GET", "/openapi/v3")[0] == 200


def test_chosen_port_in_use_is_named(shared: Cluster) -> None:
    """The error for a port in use names it."""
    port = int(shared.url.rpartition(":")[2])
    with pytest.raises(ClusterError, match=f"port {port}"):
        Cluster(port=port).start()


def test_clusters_of_many_kinds_at_once() -> None:
    """A cluster continues to run, however many other templates a test run uses."""
    with Cluster(controllers=False, flags={"v": "1"}) as first:
        for number in range(2, 12):
            with Cluster(controllers=False, flags={"v": str(number)}):
                """Each is forked from a template of its own, of which a few are kept."""
        assert first.request("GET", "/readyz") == (200, "ok")
        assert first.now() > 0


# -- waiting


def test_timeouts_name_the_condition(shared: Cluster) -> None:
    """The error has the condition that was not met, and the server's last response."""
    default = "/api/v1/namespaces/default"
    with pytest.raises(ClusterError, match='namespaces "none" not found'):
        shared.wait_for_object("/api/v1/namespaces/none", timeout=0)
    with pytest.raises(ClusterError, match=r'found\["status"\] == 1.*"phase": "Active"'):
        shared.wait_for_object(default, lambda found: found["status"] == 1, timeout=0)
    with pytest.raises(ClusterError, match=r'is removed; the last response was 200 .*"default"'):
        shared.wait_for_absence(default, timeout=0)
    with pytest.raises(ClusterError, match=r"lambda: 1 - 1.* was 0"):
        shared.wait_for(lambda: 1 - 1, timeout=0)
    with pytest.raises(ClusterError, match="two pods"):
        shared.wait_for(lambda: False, timeout=0, what="two pods")


# -- time


def test_advance_moves_the_servers_time(shared: Cluster) -> None:
    """Timestamps, and everything that waits for time, follow `advance`."""
    before = shared.now()
    assert shared.advance(7200) >= before + 7200
    code, _ = shared.request("POST", MAPS, config_map("later"))
    assert code == 201
    stamp = shared.request("GET", f"{MAPS}/later")[1]["metadata"]["creationTimestamp"]
    from datetime import datetime

    assert datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() >= before + 7199


def test_advance_expires_events() -> None:
    """Events expire after an hour."""
    events = "/api/v1/namespaces/default/events"
    event = {
        "metadata": {"name": "a", "namespace": "default"},
        "involvedObject": {"namespace": "default"},
        "reason": "Test",
    }
    with Cluster(controllers=False) as cluster:
        assert cluster.request("POST", events, event)[0] == 201
        cluster.advance(3500)
        assert cluster.request("GET", f"{events}/a")[0] == 200
        cluster.advance(200)
        cluster.wait_for_absence(f"{events}/a", timeout=PATIENCE)


# -- record and faults


def test_requests_are_recorded(shared: Cluster) -> None:
    """Requests of clients are recorded with user and response code; those of controllers are not."""
    shared.clear_requests()
    shared.request("GET", f"{MAPS}/not-here")
    shared.request("GET", MAPS, token="wrong")
    first, second = shared.requests
    assert (first.verb, first.resource, first.name, first.code) == ("get", "configmaps", "not-here", 404)
    assert first.user == "kubernetes-admin" and "system:masters" in first.groups
    assert (second.verb, second.code, second.user) == ("list", 401, "")


def test_injected_failures(shared: Cluster) -> None:
    """The next matching requests fail with a Status; others and later ones do not."""
    shared.fail(503, times=2, verb="list", resource="configmaps")
    answers = [shared.request("GET", MAPS) for _ in range(3)]
    assert [code for code, _ in answers] == [503, 503, 200]
    assert answers[0][1]["kind"] == "Status" and answers[0][1]["reason"] == "ServiceUnavailable"
    with pytest.raises(ClusterError, match="colour"):
        shared.fail(500, colour="red")
    with pytest.raises(ClusterError, match="the resource is 'configmaps'"):
        shared.fail(500, resource="configmap")
    shared.fail(500, times=5)
    shared.clear_faults()
    assert shared.request("GET", MAPS)[0] == 200


def test_delayed_requests_wait_for_the_servers_time(shared: Cluster) -> None:
    """A delay of an hour ends when the test advances by an hour."""
    import threading

    shared.delay(3600, resource="configmaps")
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(shared.request("GET", MAPS, timeout=PATIENCE)[0]))
    thread.start()
    # The delay has begun once the fault is used up: another request is served.
    shared.wait_for(lambda: shared.request("GET", "/api/v1/nodes")[0] == 200, timeout=PATIENCE)
    while thread.is_alive():
        shared.advance(3600)
        thread.join(0.05)
    assert answers == [200]


@pytest.mark.parametrize("cut", [True, False])
def test_drop_watches_ends_watches(shared: Cluster, cut: bool) -> None:
    """Open watches end; if the connection is cut, without the end of their response."""
    connection, response = watch(shared, "resourceVersion=" + revision(shared))
    assert shared.drop_watches(cut=cut) == 1
    if cut:
        with pytest.raises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
            response.read()
    else:
        assert response.read() == b""
    connection.close()


def test_expire_history_ends_watches_with_410(shared: Cluster) -> None:
    """Open watches end with 410, older versions are rejected, and a new list can be watched from."""
    old = revision(shared)
    connection, response = watch(shared, f"resourceVersion={old}")
    shared.expire_history()
    event = json.loads(response.readline())
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert response.read() == b""
    connection.close()
    connection, response = watch(shared, f"resourceVersion={old}")
    assert json.loads(response.read())["object"]["code"] == 410
    connection.close()
    connection, response = watch(shared, f"timeoutSeconds=1&resourceVersion={revision(shared)}")
    assert response.status == 200
    connection.close()


def test_expired_certificates_are_presented_and_refused(shared: Cluster) -> None:
    """Clients can be tested with a server whose certificate has expired, and with one that rejects an expired client
    certificate."""
    shared.expire_serving_certificate()
    try:
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            shared.request("GET", "/version")
    finally:
        shared.restore_serving_certificate()
    assert shared.request("GET", "/version")[0] == 200
    certificate, key = shared.issue_certificate("bob", ["dev"], lifetime=-60)
    assert status_with(shared, certificate, key) == 401
    certificate, key = shared.issue_certificate("bob", ["dev"])
    assert status_with(shared, certificate, key) == 403
    assert shared.requests[-1].user == "bob"


def status_with(cluster: Cluster, certificate: str, key: str) -> int:
    """The response status for a client with this certificate."""
    path = Path(cluster.config_file).with_name("client.pem")
    path.write_text(certificate + key)
    context = ssl.create_default_context(cafile=cluster.ca_file)
    context.load_cert_chain(path)
    host, port = cluster.url.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=PATIENCE, context=context)
    connection.request("GET", "/api/v1/secrets")
    status = connection.getresponse().status
    connection.close()
    return status


# -- lifetime


def test_async_context_manager() -> None:
    """The context manager works in an event loop, which continues to run while a cluster starts."""

    async def use() -> int:
        async with Cluster() as cluster:
            return cluster.request("GET", "/version")[0]

    assert asyncio.run(use()) == 200


PROGRAM = """
import sys
from orchd.testing import Cluster
cluster = Cluster(controllers=False).start()
print(cluster.pid, cluster.url, cluster.config_file, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kill", [True, False])
def test_servers_end_with_the_test_run(kill: bool, shared: Cluster) -> None:
    """No processes or files are left when a test run ends, even by kill -9 and without stopping its cluster."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        pid, url, config = process.stdout.readline().split()
        assert reachable(url)
        if kill:
            os.kill(process.pid, signal.SIGKILL)
        else:
            process.stdin.close()
        process.wait()
    shared.wait_for(lambda: not is_running(int(pid)), what="the server ends", timeout=PATIENCE)
    assert not reachable(url)
    shared.wait_for(lambda: not Path(config).parent.parent.exists(), what="its folder is removed", timeout=PATIENCE)


def test_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """This holds even if the process that would have removed the folder was killed first."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    program = PROGRAM.replace("sys.stdin.read()", "print(fork_client()._process.pid, flush=True); sys.stdin.read()")
    begin = [sys.executable, "-c", "from orchd.testing.forking.client import fork_client\n" + program]
    with subprocess.Popen(begin, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        folder = Path(killed.stdout.readline().split()[2]).parent.parent
        for pid in (int(killed.stdout.readline()), killed.pid):
            os.kill(pid, signal.SIGKILL)
    assert folder.is_relative_to(tmp_path) and folder.exists()
    with subprocess.Popen(
        begin, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdin is not None
        until(lambda: not folder.exists())
        following.stdin.close()


KILLING_PROGRAM = """
from orchd.testing import Cluster
from orchd.testing.cluster.cluster import reachable
from orchd.testing.forking.client import fork_client
from tests.waiting import until
with Cluster(controllers=False) as first:
    client = fork_client()
    client._process.kill()
    client._process.wait()
    until(lambda: not reachable(first.url))
    with Cluster(controllers=False) as second:
        print(second.request("GET", "/readyz"), client.folder.exists())
"""


def test_cluster_starts_after_its_fork_server_was_killed() -> None:
    """Running clusters end with their fork server; the next cluster gets a new one, and the old folder is removed."""
    done = subprocess.run([sys.executable, "-c", KILLING_PROGRAM], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("(200, 'ok') False\n", "", 0)
