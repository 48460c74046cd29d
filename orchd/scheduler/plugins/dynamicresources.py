"""DynamicResources: pods run where the devices of their claims are, and claims get devices where their pods run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.fields import deleting, mapping, name, namespace, spec, status, with_metadata, with_status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.device_claims import (
    MAX_RESERVED,
    ClaimError,
    check_owner,
    claim_name,
    is_generated,
    is_reserved_for,
    reservation,
)
from orchd.kinds.objects.node_selectors import matches_terms
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.devices.allocation import TIMED_OUT, UNSUPPORTED, Allocation, AllocationError, NodeAllocationError
from orchd.scheduler.devices.pools import DeviceId, SliceIndex
from orchd.scheduler.devices.selection import LongSelectionError, Selection
from orchd.scheduler.devices.state import DeviceState
from orchd.scheduler.interfaces import (
    IColumnFilter,
    IColumnScore,
    IHandle,
    IPostFilter,
    IPreBind,
    IPreBindWork,
    IPreEnqueue,
    IPreFilter,
    IPreFilterWork,
    IRefusals,
    IReserve,
    IRowFilter,
    IRowScore,
)
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.scoring import scale, scale_plain
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed, unresolvable
from orchd.txkit.compute_thread import LARGE
from orchd.txkit.log import Logger
from orchd.txkit.turns import shared_budget

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY: Final = "DynamicResources"
_NEWS: Final = Action.ADD | Action.UPDATE
#: Times that a claim is written again because it has changed in the meantime.
_RETRIES: Final = 5
#: Gates of devices that are not allocated here.
_NOT_ALLOCATED: Final = (
    "DRAConsumableCapacity", "DRADeviceBindingConditions", "DRADeviceTaints", "DRAExtendedResource",
    "DRAPartitionableDevices",
)  # fmt: skip
#: The score of an alternative decreases with its place in the list.
_MOST_ALTERNATIVES: Final = 8


@dataclass(slots=True, kw_only=True)
class _Work:
    """The claims of a pod in one cycle. `allocations` has those of each node that can serve the claims without one, in
    order; `verdicts` the status of each node that was judged, with the labels that it had."""

    claims: list[Object]
    slices: SliceIndex = field(default_factory=lambda: SliceIndex(()))
    taken: frozenset[DeviceId] = frozenset()
    selection: Selection
    allocations: dict[str, list[Object]] = field(default_factory=dict)
    verdicts: dict[str, tuple[Mapping[str, str], Status | None]] = field(default_factory=dict)
    #: Allocated claims that a node could not use.
    unavailable: set[int] = field(default_factory=set)

    @property
    def open(self) -> list[Object]:
        """The claims without an allocation."""
        return [claim for claim in self.claims if not status(claim).get("allocation")]


@implementer(
    IPreEnqueue, IPreFilter, IPreFilterWork, IColumnFilter, IPostFilter, IColumnScore, IReserve, IPreBind, IPreBindWork
)  # fmt: skip
class DynamicResources:
    log = Logger()
    name = "DynamicResources"
    events = (
        ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL | Action.UPDATE_ALLOCATABLE),
        ClusterEvent("resourceclaims", Action.ALL),
        ClusterEvent("deviceclasses", _NEWS),
        ClusterEvent("resourceslices", _NEWS),
    )
    #: Claims made from templates differ from pod to pod, and what is allocated changes with every pod.
    shared = False
    epoch = 0

    def __init__(self, handle: IHandle, args: Mapping[str, Any]) -> None:
        """Raises ValueError for arguments: none is acted on here."""
        if args:
            raise ValueError(f"arguments that are not known here: {', '.join(sorted(args))}")
        self._handle = handle
        self._snapshot: Snapshot = handle.snapshot
        self._state = DeviceState(handle.informers, handle.dialect)
        self._finalizer = handle.dialect("resource.{long}.io/delete-protection")
        for gate in _NOT_ALLOCATED:
            if handle.feature(gate):
                self.log.warn("feature gate {gate} is on, but this scheduler does not allocate such devices", gate=gate)

    # -- the claims of a pod

    def _claims(self, pod: Object) -> list[Object]:
        """The claims of a pod. Raises ClaimError for one that is not there, is being deleted or was made for another
        pod."""
        claims = []
        for entry in spec(pod).get("resourceClaims") or ():
            called = claim_name(pod, entry)
            if called is None:
                continue
            claim = self._state.claims.get(namespace(pod), called)
            if claim is None:
                ref = self._state.claims_ref
                raise ClaimError(f'{ref.plural}.{ref.group} "{called}" not found')
            if deleting(claim):
                raise ClaimError(f'resourceclaim "{called}" is being deleted')
            if is_generated(entry):
                check_owner(pod, claim)
            claims.append(claim)
        return claims

    def pre_enqueue(self, pod: Object) -> Status | None:
        try:
            self._claims(pod)
        except ClaimError as error:
            return unresolvable(str(error))
        return None

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        if not pod.template.claims:
            return None
        obj = self._handle.pod_object(pod) or {
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "spec": {"resourceClaims": pod.template.claims},
        }
        try:
            claims = self._claims(obj)
        except ClaimError as error:
            return unresolvable(str(error))
        for claim in claims:
            why_not = self._why_not(claim, pod)
            if why_not:
                return unresolvable(why_not)
        work = _Work(claims=claims, selection=self._selection())
        if work.open:
            work.slices, work.taken = self._state.slices(), self._state.taken()
        state.write(_KEY, work)
        return None

    def _selection(self) -> Selection:
        return Selection(self._state.device_class, self._handle.dialect, self._handle.clock.seconds)

    async def work_for_filter(self, state: CycleState, pod: Pod) -> None:
        """Judge all nodes, some of them in each turn of the reactor."""
        work: _Work | None = state.get(_KEY)
        if work is None or not work.open:
            return
        turns = shared_budget(self._handle.clock)
        try:
            for facts in list(self._snapshot.nodes):
                await turns.wait()
                if facts is not None:
                    await self._judge_in_time(work, facts.name, facts.labels)
        except BaseException:
            # A thread may be at work.
            work.selection.abandoned = True
            raise

    async def _judge_in_time(self, work: _Work, node: str, labels: Mapping[str, str]) -> None:
        work.selection.begin(quick=True)
        try:
            self._judge(work, node, labels)
        except LongSelectionError:
            work.selection.begin(quick=False)
            await self._handle.compute(LARGE + 1, self._judge, work, node, labels)

    def _why_not(self, claim: Object, pod: Pod) -> str:
        """Why no node can serve a claim of the pod; "" if one may."""
        if status(claim).get("allocation"):
            users = status(claim).get("reservedFor") or ()
            return "" if is_reserved_for(pod.uid, claim) or len(users) < MAX_RESERVED else "resourceclaim in use"
        called = f"{namespace(claim)}/{name(claim)}"
        if self._state.is_pending(claim):
            return f"resource claim {called} is in the process of being allocated"
        devices = mapping(spec(claim), "devices")
        for request in devices.get("requests") or ():
            if not request.get("exactly") and not request.get("firstAvailable"):
                return f"resource claim {called}, request {request['name']}: unknown request type"
            for place, each in _alternatives(request):
                if self._state.device_class(each.get("deviceClassName") or "") is None:
                    return f"request {place}: device class {each.get('deviceClassName')} does not exist"
                for member in UNSUPPORTED.keys() & each.keys():
                    return f"request {place}: asks for {UNSUPPORTED[member]}, which this scheduler does not allocate"
        for constraint in devices.get("constraints") or ():
            for member in UNSUPPORTED.keys() & constraint.keys():
                return f"claim {called}: asks for {UNSUPPORTED[member]}, which this scheduler does not allocate"
        return ""

    # -- filter

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        work: _Work | None = state.get(_KEY)
        return None if work is None or not work.claims else _Reachable(self, self._snapshot, work)

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        work: _Work | None = state.get(_KEY)
        return None if work is None else self.judge_now(work, node.name, node.labels)

    def judge_now(self, work: _Work, node: str, labels: Mapping[str, str]) -> Status | None:
        """The status of a node. One that has changed since all were judged is refused if that takes long."""
        verdict = work.verdicts.get(node)
        if verdict is not None and verdict[0] is labels:
            return verdict[1]
        work.selection.begin(quick=True)
        try:
            return self._judge(work, node, labels)
        except LongSelectionError:
            return unresolvable(TIMED_OUT)

    def _judge(self, work: _Work, node: str, labels: Mapping[str, str]) -> Status | None:
        """The status of a node, which is noted with its allocations. Raises LongSelectionError."""
        status_of_node = self._decide(work, node, labels)
        work.verdicts[node] = labels, status_of_node
        return status_of_node

    def _decide(self, work: _Work, node: str, labels: Mapping[str, str]) -> Status | None:
        missing = [at for at, claim in enumerate(work.claims) if not _reaches(claim, node, labels)]
        open_claims = work.open
        if open_claims:
            try:
                pools = work.slices.pools_of(node, labels)
                search = Allocation(pools, work.taken, work.selection.selects, self._state.device_class)
                allocations = search.allocate(open_claims)
            except NodeAllocationError as error:
                return unresolvable(str(error))
            except AllocationError as error:
                return failed(str(error))
            if allocations is None:
                return unresolvable("cannot allocate all claims")
            work.allocations[node] = allocations
        if missing:
            work.unavailable.update(missing)
            return unresolvable("resourceclaim not available on the node")
        return None

    # -- when no node fits

    async def post_filter(self, state: CycleState, pod: Pod, refused: IRefusals) -> str | None:
        """Deallocate a claim that only this pod uses, if a node could not use it."""
        if refused.everywhere is not None and refused.everywhere.plugin != self.name:
            # The plugins before this one have rejected the pod: its claims were not looked up. The words are the
            # reference's.
            refused.explain("not found", last=True)
            return None
        work: _Work | None = state.get(_KEY)
        if work is None or not work.claims:
            refused.explain("no new claims to deallocate")
            return None
        for at in work.unavailable:
            claim = work.claims[at]
            users = status(claim).get("reservedFor") or ()
            if users and not (len(users) == 1 and users[0].get("uid") == pod.uid):
                continue
            left = {
                key: value
                for key, value in status(claim).items()
                if key not in ("allocation", "reservedFor", "devices")
            }
            try:
                await self._write({**claim, "status": left}, "status")
            except ApiError as error:
                refused.explain(error.message)
                return None
            refused.explain("deallocation of ResourceClaim completed")
            return None
        refused.explain("still not schedulable")
        return None

    # -- score

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        work: _Work | None = state.get(_KEY)
        return 0 if work is None or not work.open else _Preferred(self._snapshot, work)

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        work: _Work | None = state.get(_KEY)
        return 0 if work is None else preference(work, node.name)

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scale_plain(scores)

    # -- the chosen node

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        work: _Work | None = state.get(_KEY)
        if work is None or not work.open:
            return None
        allocations = work.allocations.get(node_name)
        if allocations is None:
            return failed("claim allocation not found for node")
        for claim, allocation in zip(work.open, allocations, strict=True):
            self._state.expect(claim, allocation)
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Forget assumed allocations. Written ones stay: the next attempt of the pod finds its claims reserved for it,
        or deallocates them."""
        work: _Work | None = state.get(_KEY)
        for claim in () if work is None else work.open:
            self._state.forget(claim)

    def works_long(self, state: CycleState, pod: Pod, node_name: str) -> bool:
        work: _Work | None = state.get(_KEY)
        return work is not None and bool(work.claims)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        work: _Work | None = state.get(_KEY)
        if work is None:
            return None
        chosen = iter(work.allocations.get(node_name, ()))
        for claim in work.claims:
            allocation = None if status(claim).get("allocation") else next(chosen)
            if is_reserved_for(pod.uid, claim):
                continue
            try:
                await self._bind(claim, pod, allocation)
            except (ApiError, ClaimError) as error:
                return failed(getattr(error, "message", str(error)))
        return None

    async def _bind(self, claim: Object, pod: Pod, allocation: Object | None) -> None:
        """Write the allocation and the reservation of a claim. Raises ApiError and ClaimError."""
        called = f"{namespace(claim)}/{name(claim)}"
        for attempt in range(_RETRIES):
            if deleting(claim):
                raise ClaimError(f"claim {called} got deleted in the meantime")
            if allocation is not None and status(claim).get("allocation"):
                raise ClaimError(f"claim {called} got allocated elsewhere in the meantime")
            try:
                await self._write_allocation(claim, pod, allocation)
                return
            except ApiError as error:
                if error.code != 409 or attempt == _RETRIES - 1:
                    raise
            ref = self._state.claims_ref
            claim = await self._handle.client.get(ref, namespace(claim), name(claim))

    async def _write_allocation(self, claim: Object, pod: Pod, allocation: Object | None) -> None:
        held = claim["metadata"].get("finalizers") or []
        if allocation is not None and self._finalizer not in held:
            claim = await self._write(with_metadata(claim, finalizers=[*held, self._finalizer]))
        users = [*(status(claim).get("reservedFor") or ()), reservation(pod.name, pod.uid)]
        changes: dict[str, Any] = {"reservedFor": users}
        if allocation is not None:
            changes["allocation"] = allocation
        await self._write(with_status(claim, **changes), "status")

    async def _write(self, claim: Object, subresource: str = "") -> Object:
        ref = self._state.claims_ref
        written: Object = await self._handle.client.update(
            ref, namespace(claim), name(claim), claim, subresource=subresource
        )
        return written


def _alternatives(request: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The name of each alternative of a request, with its data."""
    if request.get("exactly") is not None:
        return ((request["name"], request["exactly"]),)
    return [(f"{request['name']}/{each['name']}", each) for each in request.get("firstAvailable") or ()]


def _reaches(claim: Object, node: str, labels: Mapping[str, str]) -> bool:
    """True if a claim is not allocated, or its devices are there for the node."""
    selector = mapping(status(claim), "allocation").get("nodeSelector")
    return selector is None or matches_terms(tuple(selector.get("nodeSelectorTerms") or ()), labels, node)


def preference(work: _Work, node: str) -> int:
    """How far in front of their lists the alternatives are that the allocations for a node use."""
    score = 0
    for claim, allocation in zip(work.open, work.allocations.get(node, ()), strict=False):
        used = {each["request"] for each in allocation["devices"]["results"]}
        for request in mapping(spec(claim), "devices").get("requests") or ():
            for place, each in enumerate(request.get("firstAvailable") or ()):
                if f"{request['name']}/{each['name']}" in used:
                    score += _MOST_ALTERNATIVES - place
    return score


@implementer(IRowFilter)
class _Reachable:
    """The code of a row is 1 plus the number of its status in those that were seen."""

    local = False
    columns = Columns.ALL

    def __init__(self, plugin: DynamicResources, snapshot: Snapshot, work: _Work) -> None:
        self._plugin = plugin
        self._snapshot = snapshot
        self._work = work
        self._seen: dict[Status, int] = {}

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        at = self._snapshot
        return np.array(
            [self._code(row) for row in (range(at.size) if rows is None else rows.tolist())], dtype=np.int64
        )

    def _code(self, row: int) -> int:
        facts = self._snapshot.nodes[row]
        verdict = None if facts is None else self._plugin.judge_now(self._work, facts.name, facts.labels)
        return 0 if verdict is None else self._seen.setdefault(verdict, len(self._seen) + 1)

    def status(self, code: int) -> Status:
        return list(self._seen)[code - 1]


@implementer(IRowScore)
class _Preferred:
    local = False
    columns = Columns.ALL

    def __init__(self, snapshot: Snapshot, work: _Work) -> None:
        self._snapshot = snapshot
        self._work = work

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        rows = self._snapshot.rows() if rows is None else rows
        return np.array([preference(self._work, self._snapshot.name_of(row)) for row in rows.tolist()], dtype=np.int64)

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return scale(raw)
