"""Ten kubelet doubles join a real server with a bootstrap token and run its pods; one is lost and one is drained."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing import Cluster
from orchd.testing.processes.daemon import PATIENCE
from tests.waiting import until
from tests.wire.node_support import NodeSide, join, prepare_cluster, trusted_authority

NODES = 10
PODS = "/api/v1/namespaces/default/pods"


def stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Agent(threading.Thread):
    """A kubelet double: registers, renews its lease, and reports the pods of its node. Pods of jobs succeed."""

    def __init__(self, side: NodeSide, name: str, lease: str) -> None:
        super().__init__(daemon=True)
        self.side, self.node, self._lease = side, name, lease
        self.lost = threading.Event()
        #: How often it has renewed its lease and reported its pods.
        self.rounds = 0
        self.failures: list[str] = []

    def run(self) -> None:
        try:
            self._register()
            while not self.lost.wait(0.5):
                self._renew()
                for pod in self._ask("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.node}")["items"]:
                    self._report(pod)
                self.rounds += 1
        except Exception as error:  # Raised by the test, which would otherwise wait for ever.
            self.failures.append(repr(error))

    def _ask(self, method: str, path: str, body: Any = None, *allowed: int) -> Any:
        code, response = self.side.ask(method, path, body)
        assert code < 400 or code in allowed, (method, path, response)
        return response

    def _register(self) -> None:
        capacity = {"cpu": "64", "memory": "64Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "Ready", "lastHeartbeatTime": stamp()[:19] + "Z"}
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
        self._ask("POST", "/api/v1/nodes", {"metadata": {"name": self.node}, "status": status})
        spec = {"holderIdentity": self.node, "leaseDurationSeconds": 40, "renewTime": stamp()}
        self._ask("POST", self._lease, {"metadata": {"name": self.node}, "spec": spec})

    def _renew(self) -> None:
        lease = self._ask("GET", f"{self._lease}/{self.node}")
        lease["spec"]["renewTime"] = stamp()
        self._ask("PUT", f"{self._lease}/{self.node}", lease, 409)
        node = self._ask("GET", f"/api/v1/nodes/{self.node}")
        if any(c["type"] == "Ready" and c["status"] != "True" for c in node["status"]["conditions"]):
            node["status"]["conditions"] = [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp()[:19] + "Z"}
            ]
            self._ask("PUT", f"/api/v1/nodes/{self.node}/status", node, 409)

    def _report(self, pod: Any) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        phase = "Succeeded" if "job-name" in pod["metadata"]["labels"] else "Running"
        if pod["metadata"].get("deletionTimestamp"):
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
            self._ask("DELETE", path, options, 404, 409)
        elif pod["status"].get("phase") != phase:
            ready = {"type": "Ready", "status": str(phase == "Running"), "lastTransitionTime": stamp()[:19] + "Z"}
            pod["status"] = {"phase": phase, "conditions": [ready], "startTime": stamp()[:19] + "Z"}
            self._ask("PUT", f"{path}/status", pod, 404, 409)


#: Seconds of the server's time without a heartbeat after which a node is lost.
GRACE = 40


@pytest.fixture
def server() -> Iterator[Cluster]:
    """A server that accepts nodes with tokens, and whose time the test advances."""
    flags = {
        "enable-bootstrap-token-auth": "true", "authorization-mode": "Node,RBAC", "node-monitor-period": "1s",
        "node-monitor-grace-period": f"{GRACE}s", "default-unreachable-toleration-seconds": "1",
        "default-not-ready-toleration-seconds": "1",
    }  # fmt: skip
    with Cluster(dialect=ORCH.name, controllers="*,bootstrapsigner", scheduler=True, flags=flags) as cluster:
        yield cluster


def items(server: Cluster, path: str) -> list[Any]:
    objects: list[Any] = server.request("GET", path)[1]["items"]
    return objects


def create(server: Cluster, path: str, obj: Any) -> None:
    code, response = server.request("POST", path, obj)
    assert code == 201, response


def wait_until(condition: Callable[[], bool], agents: list[Agent], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        failures = [failure for agent in agents for failure in agent.failures]
        assert not failures, failures
        assert time.monotonic() < end, what
        time.sleep(0.5)


def pass_time(server: Cluster, agents: list[Agent]) -> None:
    """Advance a quarter of the time after which nodes are lost, and wait until running agents have renewed their
    leases."""
    server.advance(GRACE / 4)
    before = {agent: agent.rounds for agent in agents if not agent.lost.is_set()}
    wait_until(
        lambda: all(agent.rounds > rounds + 1 for agent, rounds in before.items()), agents, "an agent stands still"
    )


def start_workloads(server: Cluster) -> None:
    """Create 300 pods: ten deployments of 20, two daemon sets, eight jobs of 10."""

    def spec(name: str, **more: Any) -> dict[str, Any]:
        within = {
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "x"}],
            **more.pop("pod", {}),
        }
        template = {"metadata": {"labels": {"app": name}}, "spec": within}
        return {"selector": {"matchLabels": {"app": name}}, "template": template, **more}

    for number in range(10):
        name = f"web-{number}"
        create(
            server,
            "/apis/apps/v1/namespaces/default/deployments",
            {"metadata": {"name": name}, "spec": spec(name, replicas=20)},
        )
    for number in range(2):
        name = f"daemon-{number}"
        create(server, "/apis/apps/v1/namespaces/default/daemonsets", {"metadata": {"name": name}, "spec": spec(name)})
    for number in range(8):
        wanted = spec(f"job-{number}", completions=10, parallelism=10, pod={"restartPolicy": "Never"})
        del wanted["selector"]
        create(
            server, "/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": f"job-{number}"}, "spec": wanted}
        )


def all_available(server: Cluster, daemons: int) -> bool:
    """Whether all replicas of deployments and daemon sets are available, and all jobs complete."""
    deployments = items(server, "/apis/apps/v1/namespaces/default/deployments")
    sets = items(server, "/apis/apps/v1/namespaces/default/daemonsets")
    jobs = items(server, "/apis/batch/v1/namespaces/default/jobs")
    return (
        all(d["status"].get("availableReplicas") == 20 == d["status"].get("replicas") for d in deployments)
        and all(s["status"].get("numberAvailable") == daemons for s in sets)
        and all(j["status"].get("succeeded") == 10 for j in jobs)
    )


def drain(server: Cluster, node: str) -> None:
    """Cordon a node and evict all pods but those of daemon sets."""
    path = f"/api/v1/nodes/{node}"

    def cordon() -> bool:
        node_object = server.request("GET", path)[1]
        node_object["spec"]["unschedulable"] = True
        code, response = server.request("PUT", path, node_object)
        # The agent, or a controller, may have written meanwhile.
        assert code in (200, 409), response
        return code == 200

    until(cordon)
    for pod in items(server, f"{PODS}?fieldSelector=spec.nodeName%3D{node}"):
        if pod["metadata"]["ownerReferences"][0]["kind"] != "DaemonSet":
            body = {"metadata": {"name": pod["metadata"]["name"], "namespace": "default"}}
            assert server.request("POST", f"{PODS}/{pod['metadata']['name']}/eviction", body)[0] == 201


def running_on(server: Cluster, node: str, kind: str) -> int:
    """The running pods on a node whose owner has this kind."""
    pods = items(server, f"{PODS}?fieldSelector=spec.nodeName%3D{node}")
    return sum(
        1 for pod in pods
        if pod["metadata"]["ownerReferences"][0]["kind"] == kind and not pod["metadata"].get("deletionTimestamp")
        and pod["status"].get("phase") == "Running"
    )  # fmt: skip


def test_pods_of_lost_and_drained_nodes_are_replaced(server: Cluster, tmp_path: Path) -> None:
    """All pods become available; pods of a lost and of a drained node are replaced on other nodes."""
    prepare_cluster(server)
    authority = trusted_authority(server, server.dialect)
    namespace = server.dialect("{short}-node-lease")
    lease = f"/apis/{server.dialect('coordination.{abbr}.io')}/v1/namespaces/{namespace}/leases"
    names = [f"node-{number}" for number in range(NODES)]
    agents = [Agent(join(server, authority, name, tmp_path), name, lease) for name in names]
    for agent in agents:
        agent.start()
    try:
        wait_until(lambda: len(items(server, "/api/v1/nodes")) == NODES, agents, "the nodes are not registered")
        start_workloads(server)
        wait_until(lambda: all_available(server, NODES), agents, "not all pods became available")
        assert len(items(server, PODS)) == 300
        drain(server, names[0])
        wait_until(lambda: not running_on(server, names[0], "ReplicaSet"), agents, "the drained node is not empty")
        wait_until(lambda: all_available(server, NODES), agents, "the pods of the drained node did not come back")
        assert running_on(server, names[0], "DaemonSet") == 2
        agents[1].lost.set()
        agents[1].join()
        lost = {pod["metadata"]["uid"] for pod in items(server, f"{PODS}?fieldSelector=spec.nodeName%3D{names[1]}")}
        assert lost
        end = time.monotonic() + PATIENCE
        while running_on(server, names[1], "ReplicaSet"):
            assert time.monotonic() < end, "the lost node keeps its pods"
            pass_time(server, agents)
        wait_until(lambda: all_available(server, NODES - 1), agents, "the pods of the lost node did not come back")
        assert not running_on(server, names[0], "ReplicaSet")
    finally:
        for agent in agents:
            agent.lost.set()
        for agent in agents:
            agent.join()
