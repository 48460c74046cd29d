"""VolumeBinding: bound claims of a pod must be usable on the node, and unbound ones bindable there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import bind, class_of, is_fully_bound, requested_storage, select_node
from orchd.kinds.objects.volumes.claims import capacity as size_of
from orchd.scheduler.config.model import VolumeBindingArgs
from orchd.scheduler.interfaces import (
    IColumnFilter,
    IColumnScore,
    IHandle,
    IPreBind,
    IPreBindWork,
    IPreFilter,
    IReserve,
    IRowFilter,
    IRowScore,
    ISnapshot,
)
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.claim_columns import ClaimRows
from orchd.scheduler.plugins.refusal import UniformRefusal
from orchd.scheduler.plugins.storage import StorageError
from orchd.scheduler.plugins.strategies import capacity_scores
from orchd.scheduler.plugins.volume_writes import Reserved, VolumeWrites, WriteError
from orchd.scheduler.plugins.volumebinder import Claims, Decisions, VolumeBinder
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNBOUND: Final = unresolvable("pod has unbound immediate PersistentVolumeClaims")
#: Error of a profile in which the plugin is enabled here but not as a pre-filter.
NOT_PREPARED: Final = failed("not found")
_NO_CLAIMS: Final = Claims((), ())
_CLAIMS, _RESERVED = "VolumeBinding", "VolumeBinding reserved"
_NEWS: Final = Action.ADD | Action.UPDATE


@implementer(IPreFilter, IColumnFilter, IColumnScore, IReserve, IPreBind, IPreBindWork)
class VolumeBinding:
    name = "VolumeBinding"
    events = (
        ClusterEvent("storageclasses", _NEWS),
        ClusterEvent("persistentvolumeclaims", _NEWS),
        ClusterEvent("persistentvolumes", _NEWS),
        ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),
        ClusterEvent("csinodes", _NEWS),
        ClusterEvent("csidrivers", _NEWS),
        ClusterEvent("csistoragecapacities", _NEWS),
    )
    #: Claims of ephemeral volumes are named after the pod, and what is assumed of volumes changes with every pod.
    shared = False
    epoch = 0

    def __init__(self, handle: IHandle, args: VolumeBindingArgs) -> None:
        self._snapshot: ISnapshot = handle.snapshot
        self._binder = VolumeBinder(handle)
        self._writes = VolumeWrites(handle, self._binder, float(args.bind_timeout_seconds))
        self._score_of = capacity_scores(args.shape) if args.shape else None

    # -- before a node is chosen

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        try:
            if not pod.template.volumes or not self._binder.check_claims(pod):
                state.write(_CLAIMS, _NO_CLAIMS)
                return None
        except StorageError as error:
            return unresolvable(str(error))
        try:
            claims = self._binder.claims_of(pod)
        except StorageError as error:
            return failed(str(error))
        if claims is None:
            return UNBOUND
        state.write(_CLAIMS, claims)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        claims: Claims | None = state.get(_CLAIMS)
        if claims is None:
            return NOT_PREPARED
        try:
            reasons = self._binder.decide(claims, node.name, node.labels).reasons
        except StorageError as error:
            return failed(str(error))
        return unresolvable(*reasons) if reasons else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        claims: Claims | None = state.get(_CLAIMS)
        if claims is None:
            return UniformRefusal(self._snapshot, NOT_PREPARED)
        return None if claims is _NO_CLAIMS else ClaimRows(self._binder, self._snapshot, claims)

    # -- score: by how much of the volumes the claims use; 0 unless the feature gate gave the arguments a shape

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        claims: Claims | None = state.get(_CLAIMS)
        if self._score_of is None or claims is None or not claims.to_bind:
            return 0
        return self.score_node(claims, node)

    def score_node(self, claims: Claims, node: NodeView) -> int:
        """The score of a node for claims of which some are not bound. Raises ValueError if it cannot be evaluated."""
        assert self._score_of is not None
        try:
            decisions = self._binder.decide(claims, node.name, node.labels)
        except StorageError as error:
            raise ValueError(str(error)) from None
        sizes: dict[str, tuple[int, int]] = {}
        for claim, volume in decisions.bindings:
            requested, capacity = sizes.get(class_of(volume, self._binder.dialect), (0, 0))
            sizes[class_of(volume, self._binder.dialect)] = (
                requested + requested_storage(claim).value, capacity + size_of(volume).value
            )  # fmt: skip
        return self._score_of(sizes.values())

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scores

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        claims: Claims | None = state.get(_CLAIMS)
        if self._score_of is None or claims is None or not claims.to_bind:
            return 0
        return _CapacityScores(self, self._snapshot, claims)

    # -- with a node

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        claims: Claims | None = state.get(_CLAIMS)
        if claims is None:
            return NOT_PREPARED
        if not claims.to_bind:
            return None
        row = self._snapshot.row_of(node_name)
        if row < 0:
            return failed(f'node "{node_name}" not found')
        try:
            decisions = self._binder.decide(claims, node_name, self._snapshot.node(row).labels)
        except StorageError as error:
            return failed(str(error))
        if decisions.reasons:
            return unresolvable(*decisions.reasons)
        reserved = Reserved()
        state.write(_RESERVED, reserved)
        try:
            self._assume(decisions, node_name, reserved)
        except ValueError as error:
            self._release(reserved)
            return failed(str(error))
        return None

    def _assume(self, decisions: Decisions, node_name: str, reserved: Reserved) -> None:
        """Assume the volumes as bound and the claims as waiting for the node. Raises ValueError if one has changed."""
        dialect = self._binder.dialect
        for claim, volume in decisions.bindings:
            bound, changed = bind(volume, claim, dialect)
            if changed:
                self._binder.volumes.assume(bound)
            reserved.bindings.append((claim, bound))
        for claim in decisions.provisions:
            waiting = select_node(claim, node_name, dialect)
            self._binder.claims.assume(waiting)
            reserved.provisions.append(waiting)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        reserved: Reserved | None = state.get(_RESERVED)
        if reserved is not None:
            self._release(reserved)
            state.delete(_RESERVED)

    def _release(self, reserved: Reserved) -> None:
        for _, volume in reserved.bindings:
            self._binder.volumes.restore(volume)
        for claim in reserved.provisions:
            self._binder.claims.restore(claim)

    def works_long(self, state: CycleState, pod: Pod, node_name: str) -> bool:
        reserved: Reserved | None = state.get(_RESERVED)
        return reserved is not None and not self._all_bound(pod, reserved)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        reserved: Reserved | None = state.get(_RESERVED)
        if reserved is None or self._all_bound(pod, reserved):
            return None
        try:
            await self._writes.write(reserved)
            await self._writes.wait(reserved, pod, node_name)
        except ApiError as error:
            return failed(error.message)
        except WriteError as error:
            return failed(f"binding volumes: {error}")
        return None

    def _all_bound(self, pod: Pod, reserved: Reserved) -> bool:
        claims: list[Object] = [claim for claim, _ in reserved.bindings] + reserved.provisions
        bound = [self._binder.claims.present(pod.namespace, each["metadata"]["name"]) for each in claims]
        return all(each is not None and is_fully_bound(each, self._binder.dialect) for each in bound)


@implementer(IRowScore)
class _CapacityScores:
    """Scores of the rows that passed the filters."""

    local = False
    columns = Columns.ALL

    def __init__(self, plugin: VolumeBinding, snapshot: ISnapshot, claims: Claims) -> None:
        self._plugin = plugin
        self._snapshot = snapshot
        self._claims = claims

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        at = self._snapshot
        rows = at.rows() if rows is None else rows
        scores = [self._plugin.score_node(self._claims, at.node(row)) for row in rows.tolist()]
        return np.array(scores, dtype=np.int64)

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return raw
