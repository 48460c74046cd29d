"""SchedulingGates: keeps pods out of the queue until their gates are removed; from release 1.26 on."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.interfaces import IHandle, IPreEnqueue
from orchd.scheduler.values import Code, Status


@implementer(IPreEnqueue)
class SchedulingGates:
    name = "SchedulingGates"
    #: A pod whose gates change is considered anyway.
    events = ()

    def __init__(self, handle: IHandle, args: object) -> None:
        """Takes no arguments."""

    def pre_enqueue(self, pod: Object) -> Status | None:
        gates = [str(gate.get("name")) for gate in fields.spec(pod).get("schedulingGates") or ()]
        if not gates:
            return None
        return Status(Code.UNRESOLVABLE, (f"waiting for scheduling gates: [{' '.join(gates)}]",), self.name)
