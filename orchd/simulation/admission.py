"""Which pods a node refuses to run: those whose host ports its other pods use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.simulation.containers import Status

_REASON: Final = "NodePorts"
#: Message of the status of a refused pod, by release.
REFUSALS: Final = (
    ("", "Pod Predicate NodePorts failed"),
    (
        "1.28",
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ),
)
_ANY: Final = "0.0.0.0"

#: Address, protocol and number.
_Port = tuple[str, str, int]


class PortAdmission:
    """Admits pods one after another. `message` is that of refusals."""

    def __init__(self, message: str) -> None:
        self._message = message
        #: Uids of admitted pods that use host ports; their statuses may not show it yet.
        self._admitted: set[str] = set()

    def refuse(self, pod: Object, others: Callable[[], Iterable[Object]], now: float) -> Status | None:
        """The status of a pod that its node refuses because of the pods there (`others`), None for one that may run."""
        ports, identity = list(_ports(pod)), _identity(pod)
        if not ports or self._runs(pod) or pod["metadata"].get("deletionTimestamp"):
            return None
        used = (
            each for other in others() if _identity(other) != identity and self._runs(other) for each in _ports(other)
        )
        if not any(_conflict(one, port) for one in used for port in ports):
            self._admitted.add(identity)
            return None
        status = fields.status(pod)
        refused = {"phase": "Failed", "reason": _REASON, "message": self._message}
        return {**status, **refused, "startTime": timestamp(now)}

    def release(self, pod: Object) -> None:
        """Forget a pod that has ended or is gone."""
        self._admitted.discard(_identity(pod))

    def _runs(self, pod: Object) -> bool:
        status = fields.status(pod)
        if status.get("phase") in ("Succeeded", "Failed"):
            return False
        return "startTime" in status or _identity(pod) in self._admitted


def _identity(pod: Object) -> str:
    return str(pod["metadata"].get("uid", ""))


def _ports(pod: Object) -> Iterator[_Port]:
    spec: Any = pod["spec"]
    sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
    for container in (*sidecars, *spec["containers"]):
        for each in container.get("ports") or ():
            if each.get("hostPort"):
                yield each.get("hostIP") or _ANY, each.get("protocol") or "TCP", each["hostPort"]


def _conflict(one: _Port, other: _Port) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or _ANY in (one[0], other[0]))
