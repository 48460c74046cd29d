"""A real server with `--processes=2`: the process that owns the store serves, and another one."""

from __future__ import annotations

import http.client
import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.processes.daemon import DaemonProcess, exchange
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def child_ids(pid: int) -> list[int]:
    """The processes that have this parent."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def name_of(pid: int) -> list[str]:
    """The words of a process's name; one empty word for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return [""]


def children(pid: int) -> dict[str, int]:
    """The serving processes of an owner by name."""
    named = {each: name_of(each) for each in child_ids(pid)}
    return {words[1]: each for each, words in named.items() if words[0] == "serving"}


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def process_of(connection: http.client.HTTPSConnection) -> str:
    """The name of the process at the other end."""
    code, text = exchange(connection, "GET", "/metrics/process")
    assert code == 200
    (name,) = set(re.findall(r'process="(\w+)"', text))
    return str(name)


def connections(server: DaemonProcess) -> dict[str, http.client.HTTPSConnection]:
    """A connection to each process."""
    by_process: dict[str, http.client.HTTPSConnection] = {}

    def both() -> bool:
        if len(by_process) < 2:
            connection = server.connect()
            by_process.setdefault(process_of(connection), connection)
        return len(by_process) == 2

    until(both, "connections to both processes")
    return by_process


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    folder = tmp_path_factory.mktemp("processes")
    with DaemonProcess(folder, "--processes=2", "--simulated-nodes=1") as running:
        yield running


def test_write_is_read_at_the_other_process_at_once(server: DaemonProcess) -> None:
    """A write that one process has acknowledged is in the next read at the other."""
    one, two = connections(server).values()
    for number in range(20):
        code, created = exchange(one, "POST", MAPS, config_map(f"a-{number}"))
        assert code == 201
        assert exchange(two, "GET", f"{MAPS}/a-{number}") == (200, created)
        one, two = two, one


def test_namespace_is_usable_at_the_other_process_at_once(server: DaemonProcess) -> None:
    """Objects can be created at one process in a namespace that the other has just made."""
    one, two = connections(server).values()
    for number in range(10):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n-{number}"}}
        assert exchange(one, "POST", "/api/v1/namespaces", namespace)[0] == 201
        code, response = exchange(two, "POST", f"/api/v1/namespaces/n-{number}/configmaps", config_map("a"))
        assert code == 201, response
        one, two = two, one


def test_addresses_and_ports_are_given_once(server: DaemonProcess) -> None:
    """A node port and a cluster IP that one process has given the other refuses, and all are different."""
    one, two = connections(server).values()

    def service(name: str, **spec: Any) -> dict[str, Any]:
        ports = [{"port": 80, **spec}]
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"type": "NodePort", "ports": ports}}  # fmt: skip

    addresses = set()
    for number in range(10):
        code, created = exchange(one, "POST", "/api/v1/namespaces/default/services", service(f"s-{number}"))
        assert code == 201
        port = created["spec"]["ports"][0]["nodePort"]
        code, refused = exchange(two, "POST", "/api/v1/namespaces/default/services", service("other", nodePort=port))
        assert code == 422
        assert "provided port is already allocated" in refused["message"]
        addresses.add(created["spec"]["clusterIP"])
        one, two = two, one
    assert len(addresses) == 10


def test_controllers_and_scheduler_run_once(server: DaemonProcess) -> None:
    """A Deployment becomes available, whichever process got it; componentstatuses and explain know where its pod was
    placed."""
    for name, connection in connections(server).items():
        template = {"metadata": {"labels": {"a": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"d-{name}"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"a": name}}, "template": template},
        }  # fmt: skip
        path = "/apis/apps/v1/namespaces/default/deployments"
        assert exchange(connection, "POST", path, body)[0] == 201

        def available(at: str = f"{path}/d-{name}") -> bool:
            return bool(server.request("GET", at)[1]["status"].get("availableReplicas") == 2)

        until(available)
        code, pods = exchange(connection, "GET", f"/api/v1/namespaces/default/pods?labelSelector=a={name}")
        assert (code, len(pods["items"])) == (200, 2)
        pod = pods["items"][0]
        query = f"namespace=default&pod={pod['metadata']['name']}"
        code, placed = exchange(connection, "GET", f"/debug/scheduler/explain?{query}")
        assert (code, placed["node"]) == (200, pod["spec"]["nodeName"])
        assert exchange(connection, "GET", "/debug/scheduler/explain")[0] == 400

        def healthy(at: http.client.HTTPSConnection = connection) -> bool:
            components = exchange(at, "GET", "/api/v1/componentstatuses")[1]["items"]
            return all(each["conditions"][0]["status"] == "True" for each in components)

        until(healthy)


def metrics(connection: http.client.HTTPSConnection) -> str:
    """/metrics, asked again while a process is too busy to answer in time."""
    code, text = exchange(connection, "GET", "/metrics")
    while code == 503:
        code, text = exchange(connection, "GET", "/metrics")
    assert code == 200
    return str(text)


def test_metrics_are_those_of_all_processes(server: DaemonProcess) -> None:
    """/metrics has the samples of both processes, each family once, whichever responds."""
    for connection in connections(server).values():
        text = metrics(connection)
        named = re.findall(r'^process_resident_memory_bytes\{process="(\w+)"\}', text, re.MULTILINE)
        assert sorted(named) == ["1", "owner"]
        heads = re.findall(r"^# HELP (\S+)", text, re.MULTILINE)
        assert len(set(heads)) == len(heads)
        assert len(re.findall(r"^orchd_process_ready\{.*\} 1\.0$", text, re.MULTILINE)) == 1


def test_metrics_are_reset_in_all_processes(server: DaemonProcess) -> None:
    """DELETE /metrics forgets the requests that both processes counted, whichever is asked."""
    both = connections(server)

    def missed() -> list[str]:
        text = metrics(both["owner"])
        return re.findall(r'^apiserver_request_total\{process="(\w+)",.*code="404".*', text, re.MULTILINE)

    for asked in both.values():
        for connection in both.values():
            assert exchange(connection, "GET", "/api/v1/namespaces/reset")[0] == 404
        assert set(missed()) == {"1", "owner"}
        assert exchange(asked, "DELETE", "/metrics") == (200, "metrics reset\n")
        assert missed() == []


def test_samples_are_those_of_all_processes(server: DaemonProcess) -> None:
    """/debug/metrics has a memory series for each process, and the requests of both in one, whichever responds."""

    def newest(connection: http.client.HTTPSConnection) -> dict[str, Any]:
        code, response = exchange(connection, "GET", "/debug/metrics")
        assert code == 200
        plots: dict[str, Any] = response["samples"][-1]["plots"] if response["samples"] else {}
        return plots

    for each in connections(server).values():
        until(partial(lambda at: sorted(newest(at).get("memory", ())) == ["1", "owner"], each))
        until(partial(lambda at: newest(at)["requests"].get("GET", 0.0) > 0.0, each))


def test_custom_kind_is_served_by_both(server: DaemonProcess) -> None:
    """When one process says that a custom kind is established, the other serves it."""
    one, two = connections(server).values()
    for number in range(5):
        group = f"g{number}.example.com"
        schema = {"openAPIV3Schema": {"type": "object"}}
        definition = {
            "apiVersion": "apiextensions.orch.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{group}"},
            "spec": {
                "group": group, "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
            },
        }  # fmt: skip
        assert exchange(one, "POST", DEFINITIONS, definition)[0] == 201

        def established(at: http.client.HTTPSConnection = one, name: str = f"things.{group}") -> bool:
            conditions = exchange(at, "GET", f"{DEFINITIONS}/{name}")[1].get("status", {}).get("conditions") or ()
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        until(established)
        thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}}
        code, response = exchange(two, "POST", f"/apis/{group}/v1/things", thing)
        assert code == 201, response
        one, two = two, one


def test_log_says_which_process(server: DaemonProcess) -> None:
    """Lines of serving processes are in the log of the server, with their names."""
    assert re.search(rf"\[orchd\.processes#info process=1\] serves at {server.url}", server.log)


def test_killed_process_is_started_again(server: DaemonProcess) -> None:
    """After kill -9 of one process the other goes on serving its connections; the killed one returns, and a watch at it
    resumes elsewhere without a gap."""
    open_connections = connections(server)
    version_before = server.request("POST", MAPS, config_map("before"))[1]["metadata"]["resourceVersion"]
    before = children(server.pid)
    os.kill(before["1"], signal.SIGKILL)
    # Its connections are closed when all its threads have ended, which is when the owner can reap it.
    until(lambda: not Path(f"/proc/{before['1']}").exists())
    code, _ = exchange(open_connections["owner"], "POST", MAPS, config_map("meanwhile"))
    assert code == 201
    # Not over a connection of the killed process, which may still be open.
    code, text = exchange(
        server.connect(), "GET", f"{MAPS}?watch=true&resourceVersion={version_before}&timeoutSeconds=1"
    )
    assert code == 200
    assert "meanwhile" in str(text)
    until(lambda: children(server.pid).get("1", before["1"]) != before["1"])
    until(lambda: 'orchd_process_ready{process="owner",name="1"} 1.0' in str(server.request("GET", "/metrics")[1]))
    assert exchange(connections(server)["1"], "GET", f"{MAPS}/meanwhile")[0] == 200


def test_process_that_hangs_is_started_again(server: DaemonProcess) -> None:
    """A process that does not answer its owner is killed, and another one serves in its place."""
    before = children(server.pid)
    os.kill(before["1"], signal.SIGSTOP)
    until(lambda: children(server.pid).get("1", before["1"]) != before["1"])
    until(lambda: 'orchd_process_ready{process="owner",name="1"} 1.0' in str(server.request("GET", "/metrics")[1]))
    assert "process 1 has not responded 5 times" in server.log
    assert "process 1 was ended by signal 9" in server.log


def test_killed_template_is_replaced(server: DaemonProcess) -> None:
    """Without the template the process goes on, and if it ends it is started again from a new template."""
    (template,) = (each for each in child_ids(server.pid) if name_of(each) == ["template"])
    before = children(server.pid)
    os.kill(template, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{template}").exists())
    assert children(server.pid) == before
    os.kill(before["1"], signal.SIGTERM)
    until(lambda: children(server.pid).get("1", before["1"]) != before["1"])
    until(lambda: set(connections(server)) == {"1", "owner"})


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_nothing_is_left_behind(tmp_path: Path, end: str) -> None:
    """However the owner ends, its processes end too, and the next server serves the same objects with another number of
    them."""
    server = DaemonProcess(tmp_path, "--processes=2", "--controllers=-*", "--scheduler=false").start()
    before = children(server.pid)
    assert len(before) == 1
    assert server.request("POST", MAPS, config_map("kept", a="1"))[0] == 201
    if end == "kill":
        server.kill()
    else:
        assert server.terminate() == 0
    until(lambda: not any(map(is_running, before.values())))
    for flags in ((), ("--processes=3",)):
        with DaemonProcess(tmp_path, *flags, "--controllers=-*", "--scheduler=false", port=server.port) as again:
            assert again.request("GET", f"{MAPS}/kept")[1]["data"] == {"a": "1"}
            assert len(children(again.pid)) == (3 if flags else 0)


def test_start_fails_if_a_process_cannot_start(tmp_path: Path) -> None:
    """A process that ends before it is ready ends the server, whose log has the reason."""
    server = DaemonProcess(tmp_path, "--processes=2", "--admission-control-config-file=/no/such/file")
    server.launch()
    assert server.wait() == 1
    assert "/no/such/file" in server.log
