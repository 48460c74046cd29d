"""Writes a store of a large cluster: ``python -m benchmarks.large FILE [--pods N] [--nodes N] [--dialect NAME]``.

FILE must not exist. It gets running pods of 2.5 KB in namespaces of 1,000, twenty of each application, bound to nodes
in turn; nodes of 3 KB; and a lease of each node. Objects are encoded as the server stores them, and written in commits
of 1,000.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred

from orchd.cache.stored_encoding import encode
from orchd.dialect import DIALECTS, Dialect
from orchd.store.sqlite import SqliteStore

reactor: Any = installed

#: Pods of a namespace, and of an application.
PER_NAMESPACE, PER_APPLICATION = 1000, 20
_MADE = "2026-01-05T08:00:00Z"
#: Objects per commit.
_BATCH = 1000


class LargeCluster:
    """The objects of a cluster, the same ones at every run. Names count from 0: ``node-7``, ``space-3``,
    ``app-12-5``."""

    def __init__(self, dialect: Dialect, pods: int, nodes: int) -> None:
        self._dialect = dialect
        self._pods = pods
        self._nodes = nodes
        self._random = Random(pods)

    def stored(self) -> Iterator[tuple[str, bytes]]:
        """Store keys and values."""
        for number in range(-(-self._pods // PER_NAMESPACE)):
            yield from self._namespace(f"space-{number}")
        for number in range(self._nodes):
            yield from self._node(f"node-{number}", number)
        for number in range(self._pods):
            yield self._pod(number)

    def _metadata(self, name: str, namespace: str = "", **more: object) -> dict[str, Any]:
        identity = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        within = {"namespace": namespace} if namespace else {}
        return {"name": name, **within, "uid": identity, "creationTimestamp": _MADE, **more}

    def _namespace(self, name: str) -> Iterator[tuple[str, bytes]]:
        labels = {self._dialect("{long}.io/metadata.name"): name}
        space = {"kind": "Namespace", "apiVersion": "v1", "metadata": self._metadata(name, labels=labels)}
        account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": self._metadata("default", name)}
        finalizers = [self._dialect("{long}")]
        yield (
            f"/namespaces/{name}",
            encode({**space, "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}),
        )
        yield f"/serviceaccounts/{name}/default", encode(account)

    def _node(self, name: str, number: int) -> Iterator[tuple[str, bytes]]:
        dialect = self._dialect
        labels = {
            dialect("{long}.io/arch"): "amd64",
            dialect("{long}.io/os"): "linux",
            dialect("{long}.io/hostname"): name,
            dialect("topology.{long}.io/zone"): f"zone-{number % 3}",
        }
        metadata = self._metadata(name, labels=labels)
        size = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
        conditions = [
            self._condition(kind, status)
            for kind, status in (
                ("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"),
            )
        ]  # fmt: skip
        images = [
            {
                "names": [f"registry.example/app-{n}@sha256:{n:064x}", f"registry.example/app-{n}:1"],
                "sizeBytes": 9_000_000,
            }
            for n in range(8)
        ]
        status = {
            "capacity": size,
            "allocatable": size,
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": _address(192, number)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {dialect("{short}letEndpoint"): {"Port": 10250}},
            "images": images,
        }
        spec = {"podCIDR": f"{_address(10, number << 8)}/24", "providerID": f"example://{name}"}
        node = {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}
        yield f"/minions/{name}", encode(node)
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": metadata["uid"]}
        space = dialect("{short}-node-lease")
        lease = {
            "kind": "Lease",
            "apiVersion": dialect("coordination.{abbr}.io/v1"),
            "metadata": self._metadata(name, space, ownerReferences=[owner]),
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-01-05T08:00:00.000000Z"},
        }
        yield f"/leases/{space}/{name}", encode(lease)

    def _condition(self, kind: str, status: str) -> dict[str, str]:
        agent = self._dialect("{Short}let")
        return {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": _MADE,
            "lastTransitionTime": _MADE,
            "reason": f"{agent}Has{kind}",
            "message": f"the agent of the node reports {kind}",
        }

    def _pod(self, number: int) -> tuple[str, bytes]:
        application = number // PER_APPLICATION
        namespace, name = f"space-{number // PER_NAMESPACE}", f"app-{application}-{number % PER_APPLICATION}"
        node = number % max(1, self._nodes)
        labels = {"app": f"app-{application}", "pod-template-hash": f"{application:08x}", "tier": f"tier-{number % 4}"}
        owner = {
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{application}",
            "uid": str(uuid.UUID(int=application, version=4)), "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip
        metadata = self._metadata(
            name, namespace, generateName=f"app-{application}-", labels=labels, ownerReferences=[owner],
            managedFields=[{
                "manager": "agent", "operation": "Update", "apiVersion": "v1", "time": _MADE, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {
                    "f:conditions": {f'k:{{"type":"{kind}"}}': {".": {}, "f:status": {}, "f:type": {}} for kind in ("Ready", "Initialized")},
                    "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:podIPs": {}, "f:startTime": {},
                }}, "subresource": "status",
            }],
        )  # fmt: skip
        address, host = _address(10, number), _address(192, node)
        pod = {
            "kind": "Pod", "apiVersion": "v1", "metadata": metadata,
            "spec": self._pod_spec(f"node-{node}"),
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _MADE}
                    for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
                "hostIP": host, "podIP": address, "podIPs": [{"ip": address}], "startTime": _MADE,
                "containerStatuses": [{
                    "name": "main", "state": {"running": {"startedAt": _MADE}}, "lastState": {}, "ready": True, "restartCount": 0,
                    "image": "registry.example/app:1", "imageID": f"registry.example/app@sha256:{application:064x}",
                    "containerID": f"containerd://{number:064x}", "started": True,
                }],
                "qosClass": "Burstable",
            },
        }  # fmt: skip
        return f"/pods/{namespace}/{name}", encode(pod)

    def _pod_spec(self, node: str) -> dict[str, Any]:
        gone = [
            {"key": self._dialect("node.{long}.io/" + why), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for why in ("not-ready", "unreachable")
        ]  # fmt: skip
        return {
            "containers": [{
                "name": "main", "image": "registry.example/app:1", "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "env": [{"name": f"VALUE_{n}", "value": "x" * 20} for n in range(4)],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default", "serviceAccount": "default", "nodeName": node, "securityContext": {},
            "schedulerName": "default-scheduler", "tolerations": gone, "priority": 0, "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        }  # fmt: skip


def _address(first: int, number: int) -> str:
    return f"{first}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


async def fill(path: str, dialect: Dialect, pods: int, nodes: int) -> None:
    """Write the store `path`. Raises StoreError."""
    store = SqliteStore(reactor, path, dialect_name=dialect.name)
    await store.start()
    pending = []
    for key, value in LargeCluster(dialect, pods, nodes).stored():
        pending.append(Deferred.fromCoroutine(store.create(key, value)))
        if len(pending) == _BATCH:
            for creation in pending:
                await creation
            pending.clear()
    for creation in pending:
        await creation
    # As after five minutes without writes, so that a start has no history to read.
    await store.compact(store.revision)
    await store.stop()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", help="the store to write, store.sqlite in the data folder of a server")
    options.add_argument("--pods", type=int, default=100_000, help="number of pods (default %(default)s)")
    options.add_argument("--nodes", type=int, default=5_000, help="number of nodes (default %(default)s)")
    options.add_argument("--dialect", choices=sorted(DIALECTS), default="orch", help="default %(default)s")
    chosen = options.parse_args()
    failed: list[Any] = []

    def run() -> None:
        filling = Deferred.fromCoroutine(fill(chosen.file, DIALECTS[chosen.dialect], chosen.pods, chosen.nodes))
        filling.addErrback(failed.append)
        filling.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(run)
    reactor.run()
    for failure in failed:
        failure.raiseException()


if __name__ == "__main__":
    main()
