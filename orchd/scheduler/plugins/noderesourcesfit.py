"""NodeResourcesFit: a node must have what a pod requests; scores utilization by one of three strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.config.model import NodeResourcesFitArgs
from orchd.scheduler.interfaces import (
    IColumnFilter,
    IColumnScore,
    IHandle,
    IPreFilter,
    IRowFilter,
    IRowScore,
    ISingleRow,
)
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.strategies import strategy
from orchd.scheduler.plugins.utilization import Fullness
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.resources import BASIC, is_extended
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_MANY = "Too many pods"


def insufficient(resource: str) -> str:
    """The reason for an insufficient resource."""
    return f"Insufficient {resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRule:
    """`checks_zero`: basic resources of which a pod requests none are checked too. `too_small`: a node that is too
    small even without pods is rejected as unresolvable, so that preemption leaves it alone."""

    checks_zero: bool
    too_small: bool


#: By the release that begins a rule.
_RULES: Final = (("", FitRule(checks_zero=True, too_small=False)), ("1.33", FitRule(checks_zero=False, too_small=True)))


@implementer(IPreFilter, IColumnFilter, IColumnScore)
class NodeResourcesFit:
    name = "NodeResourcesFit"
    #: Error of the filter in a profile in which the plugin is not enabled as a pre-filter.
    unprepared = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    events = (
        ClusterEvent("pods", Action.DELETE | Action.SCALE_DOWN),
        ClusterEvent("nodes", Action.ADD | Action.UPDATE_ALLOCATABLE),
    )
    shared = True

    def __init__(self, handle: IHandle, args: NodeResourcesFitArgs) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._dialect: Dialect = handle.dialect
        self._rule = handle.release.choose(_RULES)
        self._ignored = frozenset(args.ignored_resources) | frozenset(handle.ignored_resources)
        self._required: WeakKeyDictionary[PodTemplate, list[tuple[str, int]]] = WeakKeyDictionary()
        self._groups = frozenset(args.ignored_resource_groups)
        chosen = args.scoring_strategy
        self._fullness = Fullness(self._snapshot, [(each.name, each.weight) for each in chosen.resources], nonzero=True)
        self._strategy = strategy(chosen)

    @property
    def epoch(self) -> int:
        """Number of known resources: a filter that was compiled before one became known treats it as missing."""
        return len(self._snapshot.resources)

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        return None

    def required_resources(self, template: PodTemplate) -> list[tuple[str, int]]:
        """The resources that the filter checks for a template, with amounts; empty for a template without requests."""
        amounts = self._required.get(template)
        if amounts is None:
            amounts = self._required[template] = self._find_required(template)
        return amounts

    def _find_required(self, template: PodTemplate) -> list[tuple[str, int]]:
        requests = template.requests
        if not any(requests.get(name) for name in BASIC) and not any(map(is_extended, requests)):
            return []
        extended = [(n, amount) for n, amount in requests.items() if is_extended(n) and not self._is_ignored(n)]
        required = [(name, requests.get(name, 0)) for name in BASIC] + extended
        return required if self._rule.checks_zero else [each for each in required if each[1]]

    def _is_ignored(self, name: str) -> bool:
        if not self._ignored and not self._groups:
            return False
        # Only extended resources, which have a domain that is not the product's own, can be ignored.
        domain, slash, _ = name.partition("/")
        if not slash or domain.endswith(self._dialect("{long}.io")) or name.startswith("requests."):
            return False
        return name in self._ignored or domain in self._groups

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        reasons = self.shortages(pod, node)
        if not reasons:
            return None
        if self._rule.too_small and any(
            amount > node.facts.allocatable.get(name, 0) for name, amount in self.required_resources(pod.template)
        ):
            return unresolvable(*reasons)
        return unschedulable(*reasons)

    def shortages(self, pod: Pod, node: NodeView) -> list[str]:
        """Every reason why the pod does not fit."""
        reasons = [TOO_MANY] if len(node.pods) + 1 > node.facts.pods_allowed else []
        allocatable, requested = node.facts.allocatable, node.requested
        for name, amount in self.required_resources(pod.template):
            if amount > allocatable.get(name, 0) - requested.get(name, 0):
                reasons.append(insufficient(name))
        return reasons

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        return _Fits(self._snapshot, self.required_resources(pod.template), too_small=self._rule.too_small)

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        return self._strategy.plain(self._fullness.plain(pod.template, node))

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scores

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        return _Filled(self, pod.template) if self._fullness.counts(pod.template) else 0

    def at(self, template: PodTemplate, row: int) -> int:
        """The score of a row."""
        return self._strategy.plain(self._fullness.at(template, row))

    def columns(self, template: PodTemplate, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        """Scores of rows."""
        return self._strategy.columns(self._fullness.columns(template, rows))


#: Required resources above which the set of bits of a code exceeds an int64.
_MOST_BITS: Final = 60


@implementer(IRowFilter, ISingleRow)
class _Fits:
    """A code is a set of bits: 1 for the number of pods, then one for each required resource. For a pod with too many
    resources for that, codes number the sets that were seen, from 1. With `too_small` one more bit says that the node
    is too small."""

    local = True
    columns = Columns.NODE | Columns.RESOURCES

    def __init__(self, snapshot: Snapshot, amounts: Sequence[tuple[str, int]], *, too_small: bool) -> None:
        self._snapshot = snapshot
        # Those that no node has get no columns: a pod may name thousands.
        present = [(name, amount) for name, amount in amounts if name in snapshot.resources]
        missing = [name for name, amount in amounts if name not in snapshot.resources and amount > 0]
        self._reasons = (TOO_MANY, *(insufficient(name) for name, _ in present), *map(insufficient, missing))
        #: The order of reasons in messages.
        places = {name: place for place, (name, _) in enumerate(amounts)}
        self._places = (-1, *(places[name] for name, _ in present), *(places[name] for name in missing))
        # The basic resources come first, so that a slice is enough for most pods.
        indexes = [snapshot.resources[name] for name, _ in present]
        self._indexes = slice(0, len(indexes)) if indexes == list(range(len(indexes))) else np.array(indexes)
        self._amounts = np.array([[amount] for _, amount in present], dtype=np.int64).reshape(-1, 1)
        self._missing = len(missing)
        self._is_wide = len(self._reasons) > _MOST_BITS
        #: For a pod with many resources: set of bits -> code.
        self._numbers: dict[bytes, int] = {}
        self._bits = np.array([] if self._is_wide else [[2 << n] for n in range(len(present))], dtype=np.int64)
        #: The bits of missing resources.
        self._always = sum(2 << len(present) + n for n in range(self._missing)) if not self._is_wide else 0
        self._amounts_by_index = [(index, amount) for index, (_, amount) in zip(indexes, present, strict=True)]
        self._counts_too_small = too_small
        #: The bit of nodes that are too small; 0 if that does not count.
        self._too_small = 1 << len(self._reasons) if too_small and not self._is_wide else 0
        self._statuses: dict[int, Status] = {}

    def at(self, row: int) -> int:
        if self._is_wide:
            return int(self.codes(np.array([row], dtype=np.intp))[0])
        at = self._snapshot
        code = int(at.pods_on[row] >= at.pods_allowed[row]) | self._always
        if self._missing:
            code |= self._too_small
        for bit, (index, amount) in enumerate(self._amounts_by_index, 1):
            if amount > at.allocatable.item(index, row) - at.requested.item(index, row):
                code |= 1 << bit
                if amount > at.allocatable.item(index, row):
                    code |= self._too_small
        return code

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        at = self._snapshot
        if rows is None:
            full = at.pods_on >= at.pods_allowed
            most = at.allocatable[self._indexes]
            free = most - at.requested[self._indexes]
        else:
            full = at.pods_on[rows] >= at.pods_allowed[rows]
            most = at.allocatable[self._indexes][:, rows]
            free = most - at.requested[self._indexes][:, rows]
        small = np.full(len(full), bool(self._missing)) | (self._amounts > most).any(axis=0)
        if self._is_wide:
            return self._numbered(full, self._amounts > free, small)
        codes = full.astype(np.int64) + self._always
        if len(self._amounts):
            codes += ((self._amounts > free) * self._bits).sum(axis=0)
        return codes + small * self._too_small

    def _numbered(
        self, full: NDArray[np.bool_], short: NDArray[np.bool_], small: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The numbers of the sets of bits of a pod with many resources."""
        always = np.ones((self._missing, len(full)), dtype=np.bool_)
        sets = np.packbits(np.vstack((full, short, always, small)), axis=0)
        numbers = self._numbers
        numbers.setdefault(bytes(len(sets)), 0)
        return np.array([numbers.setdefault(each.tobytes(), len(numbers)) for each in sets.T], dtype=np.int64)

    def status(self, code: int) -> Status:
        status = self._statuses.get(code)
        if status is None:
            if self._is_wide:
                bits = np.unpackbits(np.frombuffer(list(self._numbers)[code], dtype=np.uint8)).tolist()
            else:
                bits = [code >> bit & 1 for bit in range(len(self._reasons) + 1)]
            set_bits = [bit for bit in range(len(self._reasons)) if bits[bit]]
            reasons = (self._reasons[bit] for bit in sorted(set_bits, key=self._places.__getitem__))
            refuse = unresolvable if bits[len(self._reasons)] and self._counts_too_small else unschedulable
            status = self._statuses[code] = refuse(*reasons)
        return status


@implementer(IRowScore, ISingleRow)
class _Filled:
    local = True
    columns = Columns.NODE | Columns.RESOURCES

    def __init__(self, plugin: NodeResourcesFit, template: PodTemplate) -> None:
        self._plugin = plugin
        self._template = template

    def at(self, row: int) -> int:
        return self._plugin.at(self._template, row)

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        return self._plugin.columns(self._template, rows)

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return raw
