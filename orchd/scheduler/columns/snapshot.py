"""The snapshot: nodes as rows, their allocatable and requested resources and other properties as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.scheduler.columns.changes import ChangeLog
from orchd.scheduler.columns.images import Images
from orchd.scheduler.columns.labels import Labels
from orchd.scheduler.columns.ports import Ports
from orchd.scheduler.columns.tallies import Rule, Tallies, Tally
from orchd.scheduler.columns.visiting import visiting_order, zone_of
from orchd.scheduler.interfaces import ISnapshot
from orchd.scheduler.nodes import NodeFacts, NodeView, Taints
from orchd.scheduler.pods import Pod
from orchd.scheduler.resources import BASIC
from orchd.scheduler.values import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Higher than any priority.
NO_PODS = 2**62
#: Number of taints of a node up to which their list is kept for other nodes, and for its return.
_FEW_TAINTS = 16
#: Initial number of rows; columns grow by doubling.
_FIRST = 64


@implementer(ISnapshot)
class Snapshot:
    """See `ISnapshot`. Besides that:

    `allocatable[r, row]` and `requested[r, row]` are whole numbers for resource r of `resources` (-1 where a name is
    not known); `lowest[row]` is the lowest priority of a pod there (NO_PODS without any); `nonzero[0, row]` and
    `nonzero[1, row]` are milli CPU and bytes as scores count them; `pods_on` and `pods_allowed` are counts;
    `unschedulable` is a mask; `taints[row]` is the number of a list of `taint_lists`.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.size = _FIRST
        self.count = 0
        self.log = ChangeLog()
        self.resources: dict[str, int] = {name: index for index, name in enumerate(BASIC)}
        self.allocatable: NDArray[np.int64] = np.zeros((len(BASIC), _FIRST), dtype=np.int64)
        self.requested: NDArray[np.int64] = np.zeros((len(BASIC), _FIRST), dtype=np.int64)
        self.nonzero: NDArray[np.int64] = np.zeros((2, _FIRST), dtype=np.int64)
        self.pods_on: NDArray[np.int64] = np.zeros(_FIRST, dtype=np.int64)
        self.pods_allowed: NDArray[np.int64] = np.zeros(_FIRST, dtype=np.int64)
        self.lowest: NDArray[np.int64] = np.full(_FIRST, NO_PODS, dtype=np.int64)
        self.alive: NDArray[np.bool_] = np.zeros(_FIRST, dtype=np.bool_)
        self.unschedulable: NDArray[np.bool_] = np.zeros(_FIRST, dtype=np.bool_)
        self.taints: NDArray[np.int32] = np.zeros(_FIRST, dtype=np.int32)
        self.taint_lists: list[Taints] = [()]
        #: Rises with each new list of taints.
        self.taint_version = 0
        self._taint_numbers: dict[tuple[tuple[str, str, str], ...], int] = {(): 0}
        #: Numbers of long lists -> nodes that have them, and numbers whose list no node has any more.
        self._tainted: Counter[int] = Counter()
        self._unused_taints: list[int] = []
        self.labels = Labels(_FIRST)
        self.ports = Ports()
        self.images = Images()
        self.tallies = Tallies(_FIRST)
        self.nodes: list[NodeFacts | None] = [None] * _FIRST
        self._rows: dict[str, int] = {}
        self._free = list(range(_FIRST - 1, -1, -1))
        self._pods: list[dict[str, Pod]] = [{} for _ in range(_FIRST)]
        #: Pods of unknown nodes, by node name.
        self._elsewhere: dict[str, dict[str, Pod]] = {}
        #: Pods with requests for resources that have no columns, by UID, and their rows.
        self._uncounted: dict[str, tuple[Pod, int]] = {}
        self._with_volumes: dict[int, int] = {}
        #: Zone -> names in the order in which the nodes came.
        self._zones: dict[str, dict[str, None]] = {}
        self._order: NDArray[np.intp] | None = None
        self._names: tuple[str, ...] | None = None

    # -- reading

    @property
    def version(self) -> int:
        return self.log.version

    def row_of(self, name: str) -> int:
        return self._rows.get(name, -1)

    def name_of(self, row: int) -> str:
        facts = self.nodes[row]
        assert facts is not None
        return facts.name

    def names(self) -> tuple[str, ...]:
        """The name in each row, "" for an empty one; the same tuple until a node comes or goes."""
        if self._names is None:
            self._names = tuple("" if facts is None else facts.name for facts in self.nodes)
        return self._names

    def rows(self) -> NDArray[np.intp]:
        if self._order is None:
            self._order = np.array([self._rows[name] for name in visiting_order(self._zones)], dtype=np.intp)
        return self._order

    def node(self, row: int) -> NodeView:
        facts = self.nodes[row]
        assert facts is not None
        return NodeView(facts, row, self._pods[row].values())

    def pods(self, row: int) -> Collection[Pod]:
        return self._pods[row].values()

    def rows_with_volumes(self) -> Iterable[int]:
        return self._with_volumes

    def label(self, key: str) -> NDArray[np.int32]:
        return self.labels.column(key).rows

    def has_label(self, key: str) -> bool:
        """True if a node has the label."""
        return self.labels.anywhere(key)

    def match_selector(self, terms: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
        return self.labels.match_terms(terms)

    def changed(self, since: int, columns: Columns) -> Sequence[int] | None:
        changes = self.log.since(since)
        return None if changes is None else [row for row, touched in changes if touched & columns]

    def tally(self, rule: Rule, *, live: bool = False, with_affinity: bool = False) -> Tally:
        """An incrementally updated count over rows; see `tallies`."""
        return self.tallies.tally(rule, live=live, with_affinity=with_affinity)

    # -- nodes

    def put_node(self, facts: NodeFacts) -> None:
        """Add or replace a node."""
        row = self._rows.get(facts.name, -1)
        if row < 0:
            row = self._open_row(facts)
        else:
            old = self.nodes[row]
            assert old is not None
            if old.equals_in_columns(facts):
                self.nodes[row] = facts
                return
            self.images.remove(row, old)
            if zone_of(self._dialect, old) != zone_of(self._dialect, facts):
                self._leave_zone(old)
                self._enter_zone(facts)
        self.nodes[row] = facts
        self.images.add(row, facts)
        self.labels.put(row, facts.labels, facts.name)
        self.allocatable[:, row] = 0
        indexes = self.indexes_of(facts.allocatable)  # may replace the columns
        self.allocatable[indexes, row] = list(facts.allocatable.values())
        self.pods_allowed[row] = facts.pods_allowed
        self.unschedulable[row] = facts.unschedulable
        self._taint(row, facts.taints)
        self.log.add(row, Columns.NODE)

    def _open_row(self, facts: NodeFacts) -> int:
        if not self._free:
            self._grow()
        row = self._free.pop()
        self._rows[facts.name] = row
        self.alive[row] = True
        self.count += 1
        self._names = None
        self._enter_zone(facts)
        self.log.add(row, Columns.ALL)
        for pod in self._elsewhere.pop(facts.name, {}).values():
            self._place(pod, row)
        return row

    def remove_node(self, name: str) -> None:
        """Remove a node. Pods that the API still shows on it are remembered until they are removed or the node
        returns."""
        row = self._rows.pop(name, -1)
        if row < 0:
            return
        facts = self.nodes[row]
        assert facts is not None
        pods = dict(self._pods[row])
        for pod in pods.values():
            self._displace(pod, row)
        if pods:
            self._elsewhere[name] = pods
        self._leave_zone(facts)
        self.images.remove(row, facts)
        self.labels.remove(row)
        self.nodes[row] = None
        self.alive[row] = self.unschedulable[row] = False
        self.allocatable[:, row] = 0
        self.pods_allowed[row] = 0
        self._taint(row, ())
        self.count -= 1
        self._free.append(row)
        self._names = None
        self.log.add(row, Columns.ALL)

    def _enter_zone(self, facts: NodeFacts) -> None:
        self._zones.setdefault(zone_of(self._dialect, facts), {})[facts.name] = None
        self._order = None

    def _leave_zone(self, facts: NodeFacts) -> None:
        zone = zone_of(self._dialect, facts)
        self._zones[zone].pop(facts.name)
        if not self._zones[zone]:
            del self._zones[zone]
        self._order = None

    def _taint(self, row: int, taints: Taints) -> None:
        """The node in `row` has these taints."""
        before = int(self.taints[row])
        key = tuple((t.get("key", ""), t.get("value") or "", t.get("effect", "")) for t in taints)
        number = self._taint_numbers.get(key)
        if number is None:
            number = self._unused_taints.pop() if self._unused_taints else len(self.taint_lists)
            self._taint_numbers[key] = number
            self.taint_lists[number : number + 1] = [taints]
            self.taint_version += 1
        self.taints[row] = number
        if number == before:
            return
        if len(key) > _FEW_TAINTS:
            self._tainted[number] += 1
        if before in self._tainted:
            self._tainted[before] -= 1
            if not self._tainted[before]:
                self._forget_taints(before)

    def _forget_taints(self, number: int) -> None:
        """Drop a long list that no node has any more: each template is compared with all lists."""
        del self._tainted[number]
        self._taint_numbers = {key: each for key, each in self._taint_numbers.items() if each != number}
        self.taint_lists[number] = ()
        self._unused_taints.append(number)

    def resource(self, name: str) -> int:
        """The index of a resource's columns; creates them for a new resource."""
        return self.indexes_of((name,))[0]

    def indexes_of(self, names: Collection[str]) -> list[int]:
        """The indexes of the columns of resources; creates those of new ones together, since that copies all others."""
        indexes = self.resources
        new = [name for name in dict.fromkeys(names) if name not in indexes]
        if new:
            indexes.update((name, number) for number, name in enumerate(new, len(indexes)))
            self.allocatable = self._widened(self.allocatable)
            self.requested = self._widened(self.requested)
            self._count_late(frozenset(new))
        return [indexes[name] for name in names]

    def _widened(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of all resources, of which `column` has the first. Those of the others take no memory before the
        first number is written."""
        wider = np.zeros((len(self.resources), self.size), dtype=np.int64)
        wider[: len(column)] = column
        return wider

    def _count_late(self, names: frozenset[str]) -> None:
        """Count the requests for resources that have columns from now on."""
        for uid, (pod, row) in list(self._uncounted.items()):
            requests = pod.template.requests
            for name in requests.keys() & names:
                self.requested[self.resources[name], row] += requests[name]
            if requests.keys() <= self.resources.keys():
                del self._uncounted[uid]

    def _grow(self) -> None:
        old, self.size = self.size, self.size * 2
        for name in ("allocatable", "requested", "nonzero"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate((column, np.zeros_like(column)), axis=1))
        for name in ("pods_on", "pods_allowed", "alive", "unschedulable", "taints"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate((column, np.zeros_like(column))))
        self.lowest = np.concatenate((self.lowest, np.full_like(self.lowest, NO_PODS)))
        self.labels.grow(self.size)
        self.tallies.grow(self.size)
        self.nodes += [None] * old
        self._pods += [{} for _ in range(old)]
        self._free = list(range(self.size - 1, old - 1, -1))
        self._names = None

    # -- pods

    def add_pod(self, pod: Pod) -> None:
        """Count a pod on the node `pod.node_name`, to which it is assigned or assumed to be."""
        row = self._rows.get(pod.node_name, -1)
        if row < 0:
            self._elsewhere.setdefault(pod.node_name, {})[pod.uid] = pod
        else:
            self._place(pod, row)

    def remove_pod(self, pod: Pod) -> None:
        """Stop counting a pod that was added."""
        row = self._rows.get(pod.node_name, -1)
        if row >= 0:
            self._displace(pod, row)
            return
        pods = self._elsewhere.get(pod.node_name, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._elsewhere.pop(pod.node_name, None)

    def replace_pod(self, old: Pod, new: Pod) -> None:
        """Equivalent to `remove_pod` and `add_pod`, but without a change if the columns stay equal."""
        if old.template is new.template and old.deleting == new.deleting and old.node_name == new.node_name:
            row = self._rows.get(new.node_name, -1)
            pods = self._elsewhere.setdefault(new.node_name, {}) if row < 0 else self._pods[row]
            pods[new.uid] = new
            return
        self.remove_pod(old)
        self.add_pod(new)

    def _place(self, pod: Pod, row: int) -> None:
        self._pods[row][pod.uid] = pod
        if pod.priority < self.lowest[row]:
            self.lowest[row] = pod.priority
        self._count(pod, row, 1)

    def _displace(self, pod: Pod, row: int) -> None:
        pods = self._pods[row]
        gone = pods.pop(pod.uid)
        if gone.priority == self.lowest[row]:
            self.lowest[row] = min((other.priority for other in pods.values()), default=NO_PODS)
        self._count(gone, row, -1)

    def _count(self, pod: Pod, row: int, sign: int) -> None:
        template = pod.template
        touched = Columns.RESOURCES | Columns.PODS
        resources, requested, is_partial = self.resources, self.requested, False
        for name, number in template.requests.items():
            index = resources.get(name)
            if index is None:
                # No node has it, so that no pod that requests it fits: a pod may name thousands.
                is_partial = True
            else:
                requested[index, row] += sign * number
        if is_partial and sign > 0:
            self._uncounted[pod.uid] = pod, row
        elif is_partial:
            self._uncounted.pop(pod.uid, None)
        cpu, memory = template.nonzero
        self.nonzero[0, row] += sign * cpu
        self.nonzero[1, row] += sign * memory
        self.pods_on[row] += sign
        if template.ports:
            self.ports.count(row, template.ports, sign)
            touched |= Columns.PORTS
        if template.volumes:
            left = self._with_volumes.get(row, 0) + sign
            if left:
                self._with_volumes[row] = left
            else:
                del self._with_volumes[row]
            touched |= Columns.VOLUMES
        self.tallies.count(template, row, sign, deleting=pod.deleting)
        self.log.add(row, touched)
