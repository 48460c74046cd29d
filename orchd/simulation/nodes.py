"""Node objects of simulated nodes: at registration, and the status that they report."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.simulated import LABEL, RUNTIME
from orchd.kinds.times import seconds_of, timestamp
from orchd.simulation.behaviour import NOT_READY, SILENT
from orchd.simulation.settings import SimulationSettings


class NodeForms:
    """Nodes in one dialect with one set of settings."""

    def __init__(self, dialect: Dialect, settings: SimulationSettings) -> None:
        self._dialect = dialect
        self._settings = settings
        #: Annotation of nodes that other clients register for simulation.
        self.annotation = dialect("kwok.x-{abbr}.io/node")

    def names(self) -> list[str]:
        """Names of the nodes to register."""
        return [f"simulated-{number}" for number in range(self._settings.nodes)]

    def simulated(self, node: Object) -> bool:
        """True if the simulation reports for this node."""
        metadata = node["metadata"]
        if (metadata.get("labels") or {}).get(LABEL) == "true":
            return self._number(metadata["name"]) < self._settings.nodes
        return self._settings.annotated and (metadata.get("annotations") or {}).get(self.annotation) == "fake"

    def surplus(self, node: Object) -> bool:
        """True if an earlier simulation with more nodes registered this node."""
        metadata = node["metadata"]
        return (metadata.get("labels") or {}).get(LABEL) == "true" and self._number(
            metadata["name"]
        ) >= self._settings.nodes

    @staticmethod
    def _number(name: str) -> int:
        digits = name.removeprefix("simulated-")
        return int(digits) if digits.isdecimal() and digits != name else 1 << 30

    def fresh(self, name: str, address: str, now: float) -> Object:
        """The Node object for a registration."""
        dialect = self._dialect
        labels = {
            dialect("{long}.io/arch"): "amd64",
            dialect("{long}.io/os"): "linux",
            dialect("{long}.io/hostname"): name,
            LABEL: "true",
        }
        zones = self._settings.zones
        if zones:
            labels[dialect("topology.{long}.io/zone")] = zones[self._number(name) % len(zones)]
        node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        return {**node, "status": self.status(node, address, now)}

    @staticmethod
    def silent(node: Object) -> bool:
        """True if an annotation makes this node stop reporting."""
        return fields.annotations_of(node).get(SILENT) == "true"

    def ready_at(self, node: Object, now: float) -> float:
        """Time at which the node is Ready, in seconds since the epoch; for a node that is being registered, from
        now."""
        created = seconds_of(node["metadata"].get("creationTimestamp"))
        return (now if created is None else created) + self._settings.node_startup_delay

    def status(self, node: Object, address: str, now: float) -> dict[str, Any]:
        """The current status of the node."""
        old = fields.status(node)
        name = node["metadata"]["name"]
        # As node agents do, keep extended resources that someone wrote into the status.
        extended = {name: value for name, value in (old.get("capacity") or {}).items() if "/" in name}
        capacity = {**extended, **self._settings.capacity}
        annotated = fields.labels(node).get(LABEL) != "true"
        if annotated and old.get("capacity"):
            # The capacity was set by the client that registered the node.
            capacity = old["capacity"]
        addresses = old.get("addresses") or [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ]
        return {
            **old,
            "capacity": capacity,
            "allocatable": (old.get("allocatable") if annotated else None) or capacity,
            "addresses": addresses,
            "conditions": self._conditions(node, now),
            "nodeInfo": {**(old.get("nodeInfo") or {}), **self._info(node)},
        }

    def _conditions(self, node: Object, now: float) -> list[dict[str, Any]]:
        agent = self._dialect("{Short}let")
        words = self._dialect("{short}let")
        reason = fields.annotations_of(node).get(NOT_READY, "")
        if reason:
            ready = ("False", reason, "the simulation was asked to report this")
        elif now < self.ready_at(node, now):
            ready = ("False", f"{agent}NotReady", "the simulated node is starting")
        else:
            ready = ("True", f"{agent}Ready", f"{words} is posting ready status (simulated: nothing runs on this node)")
        rows = [
            ("MemoryPressure", "False", f"{agent}HasSufficientMemory", f"{words} has sufficient memory available"),
            ("DiskPressure", "False", f"{agent}HasNoDiskPressure", f"{words} has no disk pressure"),
            ("PIDPressure", "False", f"{agent}HasSufficientPID", f"{words} has sufficient PID available"),
            ("Ready", *ready),
        ]
        before = {c["type"]: c for c in fields.conditions(node)}
        out = []
        for type_, status, why, message in rows:
            old = before.get(type_) or {}
            since = old.get("lastTransitionTime") if old.get("status") == status else None
            out.append({
                "type": type_, "status": status, "reason": why, "message": message,
                "lastHeartbeatTime": timestamp(now), "lastTransitionTime": since or timestamp(now),
            })  # fmt: skip
        own = {row[0] for row in rows}
        return [*(c for t, c in before.items() if t not in own), *out]

    def _info(self, node: Object) -> dict[str, str]:
        dialect, version = self._dialect, self._settings.release.version
        identity = sha256(node["metadata"]["name"].encode()).hexdigest()[:32]
        return {
            "architecture": "amd64",
            "operatingSystem": "linux",
            "osImage": "Simulated node (nothing runs here)",
            "kernelVersion": "simulated",
            "containerRuntimeVersion": RUNTIME + version[1:],
            dialect("{short}letVersion"): version,
            # Nodes do not know their proxy's.
            dialect("{short}ProxyVersion"): self._settings.release.choose((("", version), ("1.33", ""))),
            "machineID": identity,
            "systemUUID": identity,
            "bootID": identity,
        }


def differs(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """True if two statuses differ in more than their heartbeat times."""

    def compared(status: dict[str, Any]) -> dict[str, Any]:
        conditions = status.get("conditions") or ()
        timeless = [{k: v for k, v in c.items() if k != "lastHeartbeatTime"} for c in conditions]
        return {**status, "conditions": timeless}

    return compared(old) != compared(new)
