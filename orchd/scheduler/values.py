"""Values that pass between the scheduling framework and its plugins: codes, statuses, cluster events, cycle state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, IntFlag, auto
from typing import Any

#: Range of a normalised score.
MIN_SCORE, MAX_SCORE = 0, 100


class Code(IntEnum):
    """Outcome of an extension point. A Status never carries SUCCESS: None stands for it."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    #: As UNSCHEDULABLE, but removing pods from the node cannot help, so preemption skips it.
    UNRESOLVABLE = 3
    #: Permit only: the pod waits.
    WAIT = 4
    #: Bind only: the next bind plugin is called.
    SKIP = 5

    @property
    def label(self) -> str:
        """The reference's name of the code in metrics."""
        return _LABELS[self]


_LABELS = ("Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip")


@dataclass(frozen=True, slots=True)
class Status:
    """The reason why an extension point did not succeed. The framework fills in `plugin`."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def rejected(self) -> bool:
        """True if the status rejects the pod, False if it is an internal error."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)


def unschedulable(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    return Status(Code.UNRESOLVABLE, reasons)


def failed(message: str) -> Status:
    return Status(Code.ERROR, (message,))


class Columns(IntFlag):
    """Groups of columns of the snapshot, for the dependencies of results and the scope of changes."""

    #: The node object: labels, taints, allocatable, images, unschedulable.
    NODE = auto()
    #: Requested resources and the number of pods.
    RESOURCES = auto()
    #: Host ports in use.
    PORTS = auto()
    #: Volumes of the node's pods.
    VOLUMES = auto()
    #: Which pods (labels, affinity terms) are on the node.
    PODS = auto()
    #: A row appeared or was removed.
    ROWS = auto()
    ALL = NODE | RESOURCES | PORTS | VOLUMES | PODS | ROWS


class Action(IntFlag):
    """Changes of objects of a resource."""

    ADD = auto()
    DELETE = auto()
    UPDATE_ALLOCATABLE = auto()
    UPDATE_LABEL = auto()
    UPDATE_TAINT = auto()
    UPDATE_CONDITION = auto()
    #: Any change of an object other than a node.
    UPDATE = auto()
    ALL = ADD | DELETE | UPDATE_ALLOCATABLE | UPDATE_LABEL | UPDATE_TAINT | UPDATE_CONDITION | UPDATE
    #: An assigned pod requests less than before.
    SCALE_DOWN = auto()


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A change that may make a pending pod schedulable. `resource` is the plural ("pods" stands for assigned pods), "*"
    any resource; `label` is the reference's name of the event in metrics."""

    resource: str
    action: Action
    label: str = ""

    def concerns(self, other: ClusterEvent) -> bool:
        """True if the registration covers the cluster event `other`."""
        return self.resource in ("*", other.resource) and bool(self.action & other.action)


#: Registration of plugins that name no events.
ANY_EVENT = (ClusterEvent("*", Action.ALL),)


class CycleState:
    """Data that plugins keep during one scheduling cycle of one pod, by key.

    A value that has a method ``clone`` is cloned with the state (what-if runs of preemption change the copy); any other
    value is shared between the copies and must not be changed after it has been written. `timed` cycles record the time
    of each plugin.
    """

    __slots__ = ("_values", "timed")

    def __init__(self, *, timed: bool = False) -> None:
        self._values: dict[str, Any] = {}
        self.timed = timed

    def read(self, key: str) -> Any:
        """The value. Raises KeyError if nothing was written."""
        return self._values[key]

    def get(self, key: str) -> Any:
        """The value or None."""
        return self._values.get(key)

    def write(self, key: str, value: Any) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        copy = CycleState(timed=self.timed)
        for key, value in self._values.items():
            clone = getattr(value, "clone", None)
            copy._values[key] = value if clone is None else clone()
        return copy


def count_reasons(statuses: Iterable[tuple[Status, int]]) -> dict[str, int]:
    """Number of nodes per reason, from statuses with their number of nodes."""
    counts: dict[str, int] = {}
    for status, nodes in statuses:
        for reason in status.reasons:
            counts[reason] = counts.get(reason, 0) + nodes
    return counts
