"""A single node as plain plugins read it: parsed fields of the node object, and the pods on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchd.kinds.jsonvalues import Object
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.resources import PODS, amounts

Taints = tuple[Mapping[str, str], ...]


class NodeFacts:
    """The parsed fields of a node object. Immutable: replaced when the node changes."""

    __slots__ = (
        "allocatable", "conditions", "images", "labels", "name", "pods_allowed", "taints", "uid",
        "unschedulable",
    )  # fmt: skip

    def __init__(self, obj: Object) -> None:
        metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
        self.name: str = metadata["name"]
        self.uid: str = metadata.get("uid", "")
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.unschedulable = bool(spec.get("unschedulable"))
        self.taints: Taints = tuple(spec.get("taints") or ())
        #: Resource -> amount, without the number of pods, which is `pods_allowed`.
        self.allocatable: dict[str, int] = amounts(status.get("allocatable") or {})
        self.pods_allowed = self.allocatable.pop(PODS, 0)
        #: (names, bytes) of every image.
        self.images: tuple[tuple[tuple[str, ...], int], ...] = tuple(
            (tuple(each.get("names") or ()), int(each.get("sizeBytes") or 0)) for each in status.get("images") or ()
        )
        #: Type -> status.
        self.conditions = {each.get("type", ""): each.get("status", "") for each in status.get("conditions") or ()}

    def equals_in_columns(self, other: NodeFacts) -> bool:
        """True if all fields that the columns read are equal, as after a heartbeat."""
        return (
            self.allocatable == other.allocatable
            and self.pods_allowed == other.pods_allowed
            and self.labels == other.labels
            and self.taints == other.taints
            and self.unschedulable == other.unschedulable
            and self.images == other.images
        )


class NodeView:
    """A node and the pods on it. Call `add` and `remove` only on a copy, for what-if runs."""

    __slots__ = ("_nonzero", "facts", "pods", "requested", "row")

    def __init__(self, facts: NodeFacts, row: int, pods: Iterable[Pod]) -> None:
        self.facts = facts
        self.row = row
        #: By uid.
        self.pods: dict[str, Pod] = {}
        #: Resource -> amount that the pods request.
        self.requested: dict[str, int] = {}
        self._nonzero = [0, 0]
        pods_per_template: dict[PodTemplate, int] = {}
        for pod in pods:
            self.pods[pod.uid] = pod
            pods_per_template[pod.template] = pods_per_template.get(pod.template, 0) + 1
        for template, number in pods_per_template.items():
            self._count(template, number)

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.facts.labels

    @property
    def nonzero(self) -> tuple[int, int]:
        """Requested milli-CPU and bytes of memory, with the defaults that scores assume for pods without requests."""
        return self._nonzero[0], self._nonzero[1]

    def copy(self) -> NodeView:
        copy = NodeView(self.facts, self.row, ())
        copy.pods, copy.requested, copy._nonzero = dict(self.pods), dict(self.requested), list(self._nonzero)
        return copy

    def add(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self._count(pod.template, 1)

    def remove(self, pod: Pod) -> None:
        """Remove a pod. Raises KeyError if it is not on the node."""
        self._count(self.pods.pop(pod.uid).template, -1)

    def _count(self, template: PodTemplate, pods: int) -> None:
        """Count pods of a template as added, or as removed if negative."""
        requested, nonzero = self.requested, self._nonzero
        for name, number in template.requests.items():
            requested[name] = requested.get(name, 0) + pods * number
        cpu, memory = template.nonzero
        nonzero[0] += pods * cpu
        nonzero[1] += pods * memory
