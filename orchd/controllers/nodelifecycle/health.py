"""Health of nodes, and the conditions and taints that follow from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.controllers.objects import condition
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.fields import labels, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp

#: Conditions that become Unknown when a node stops reporting.
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
#: Condition, its status, and the taint (below node.{long}.io/) that follows from it.
_TAINTS: Final = (
    ("Ready", "False", "not-ready"),
    ("Ready", "Unknown", "unreachable"),
    ("MemoryPressure", "True", "memory-pressure"),
    ("DiskPressure", "True", "disk-pressure"),
    ("NetworkUnavailable", "True", "network-unavailable"),
    ("PIDPressure", "True", "pid-pressure"),
)


@dataclass(slots=True)
class NodeHealth:
    """`heard` is the monotonic time of the node's last heartbeat (status or lease). `ready` is the status of its Ready
    condition, "" without one, and `changed` when that was first observed. `emptied`: its pods were deleted since it
    failed."""

    name: str
    uid: str
    zone: str
    heard: float
    excluded: bool = False
    ready: str = ""
    heartbeat: str = ""
    renewed: str = ""
    changed: float = 0.0
    emptied: bool = False
    evicting: bool = False
    announced: bool = False
    #: True if marking pods as not ready has failed and must be retried.
    retry: bool = False

    def overdue(self, now: float, *, startup: float, monitor: float) -> bool:
        """True if the node has not reported within the grace period."""
        return now > self.heard + (monitor if self.ready else startup)


def ready_status(node: Mapping[str, Any]) -> str:
    """Status of the Ready condition, "" for none."""
    return str((condition(status(node), "Ready") or {}).get("status", ""))


def excluded(dialect: Dialect, node: Mapping[str, Any]) -> bool:
    """True for a node that zone disruption does not count."""
    return dialect("node.{long}.io/exclude-disruption") in labels(node)


def conditions_of_silence(dialect: Dialect, node: Object, now: float) -> list[dict[str, Any]] | None:
    """The conditions of a node after its grace period; None if they are set already."""
    agent, stamp = dialect("{Short}let"), timestamp(now)
    conditions = [dict(c) for c in fields.conditions(node)]
    by_type = {c["type"]: c for c in conditions}
    changed = False
    for type_ in _REPORTED:
        old = by_type.get(type_)
        if old is None:
            changed = changed or type_ == "Ready"
            conditions.append({
                "type": type_, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": f"{agent} never posted node status.",
                "lastHeartbeatTime": node["metadata"].get("creationTimestamp"), "lastTransitionTime": stamp,
            })  # fmt: skip
        elif old.get("status") != "Unknown":
            changed = changed or type_ == "Ready"
            old.update(
                status="Unknown", reason="NodeStatusUnknown", message=f"{agent} stopped posting node status.",
                lastTransitionTime=stamp,
            )  # fmt: skip
    return conditions if changed else None


class Taints:
    """Taints that follow from conditions, in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        prefix = dialect("node.{long}.io/")
        self.not_ready, self.unreachable = prefix + "not-ready", prefix + "unreachable"
        self._unschedulable = prefix + "unschedulable"
        self._by_condition = tuple((type_, value, prefix + taint) for type_, value, taint in _TAINTS)
        self._own = {self._unschedulable, *(key for _, _, key in self._by_condition)}

    def derive_keys(self, node: Object) -> list[str]:
        """Keys of the NoSchedule taints that the node should have."""
        states = {c["type"]: c.get("status") for c in fields.conditions(node)}
        keys = [key for type_, value, key in self._by_condition if states.get(type_) == value]
        if spec(node).get("unschedulable"):
            keys.append(self._unschedulable)
        return keys

    def no_schedule(self, node: Object, now: float) -> list[dict[str, Any]] | None:
        """The node's taints after adding and removing NoSchedule taints of conditions, None if nothing has to
        change."""
        keys = self.derive_keys(node)
        present = [
            t["key"]
            for t in spec(node).get("taints") or ()
            if t.get("effect") == "NoSchedule" and t["key"] in self._own
        ]
        missing, surplus = [k for k in keys if k not in present], [k for k in present if k not in keys]
        if not missing and not surplus:
            return None
        return self.swap(node, missing, surplus, "NoSchedule", now)

    def no_execute(self, node: Object) -> list[str]:
        """Keys of the taints for which pods are evicted from a node that is not ready."""
        return [
            t["key"] for t in spec(node).get("taints") or ()
            if t.get("effect") == "NoExecute" and t["key"] in (self.not_ready, self.unreachable)
        ]  # fmt: skip

    @staticmethod
    def swap(node: Object, add: list[str], drop: list[str], effect: str, now: float) -> list[dict[str, Any]]:
        """The node's taints with some of one effect added and others dropped."""
        changed = {*add, *drop}
        kept = [t for t in spec(node).get("taints") or () if t.get("effect") != effect or t["key"] not in changed]
        return [*kept, *({"key": key, "effect": effect, "timeAdded": timestamp(now)} for key in add)]
