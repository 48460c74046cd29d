"""VolumeRestrictions: rejects nodes on which another pod uses the same disk, unless both only read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from zope.interface import implementer

from orchd.scheduler.interfaces import IColumnFilter, IHandle, IPreFilter, IRowFilter, ISnapshot
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.rowindex import RowIndex
from orchd.scheduler.plugins.storage import Storage, claim_names
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED: Final = unschedulable("node(s) had no available disk")
USED_ONCE: Final = unresolvable(
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
#: Checked volume sources, and their field with the name of the disk.
_DISKS: Final = {"gcePersistentDisk": "pdName", "awsElasticBlockStore": "volumeID", "iscsi": "iqn"}
#: Up to this number, rows are evaluated one by one.
_FEW: Final = 16
Volume = Mapping[str, Any]


@implementer(IPreFilter, IColumnFilter)
class VolumeRestrictions:
    """A claim with the access mode ReadWriteOncePod is used by one pod at a time. The API accepts that mode only with
    its feature gate, so there is no gate here."""

    name = "VolumeRestrictions"
    events = (
        ClusterEvent("pods", Action.DELETE),
        ClusterEvent("nodes", Action.ADD),
        ClusterEvent("persistentvolumeclaims", Action.ADD | Action.UPDATE),
    )
    shared = True
    epoch = 0

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: ISnapshot = handle.snapshot
        self._storage = Storage(handle, "claims")
        self._disks = _DiskRows(handle.snapshot)

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        names = (name for name, ephemeral in claim_names(pod) if not ephemeral)
        exclusive = {name for name in names if self._is_for_one(pod.namespace, name)}
        return USED_ONCE if exclusive and self._is_used(pod.namespace, exclusive) else None

    def _is_for_one(self, namespace: str, name: str) -> bool:
        claim = self._storage.claim(namespace, name)
        # VolumeBinding reports missing claims.
        return claim is not None and "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())

    def _is_used(self, namespace: str, names: set[str]) -> bool:
        return any(
            other.namespace == namespace
            and not names.isdisjoint(name for name, ephemeral in claim_names(other) if not ephemeral)
            for row in self._snapshot.rows_with_volumes()
            for other in self._snapshot.pods(row)
        )

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        disks = _disks(pod)
        return REFUSED if disks and _conflicts(disks, node.pods.values()) else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        disks = _disks(pod)
        return _Taken(self._snapshot, self._disks, disks) if disks else None


def _disks(pod: Pod) -> list[Volume]:
    """The volumes of a pod that may be in use by others."""
    return [volume for volume in pod.template.volumes if "rbd" in volume or any(source in volume for source in _DISKS)]


def _conflicts(disks: Iterable[Volume], pods: Iterable[Pod]) -> bool:
    others = [volume for pod in pods for volume in _disks(pod)]
    return any(_conflict(volume, other) for volume in disks for other in others)


def _conflict(volume: Volume, other: Volume) -> bool:
    """True if two volumes are the same disk and may not be used together."""
    for source, member in _DISKS.items():
        one, two = volume.get(source), other.get(source)
        if one and two and one.get(member) == two.get(member):
            # This disk can be attached only once, even to read.
            return source == "awsElasticBlockStore" or not _both_read(one, two)
    one, two = volume.get("rbd"), other.get("rbd")
    if not one or not two or set(one.get("monitors") or ()).isdisjoint(two.get("monitors") or ()):
        return False
    same = (one.get("pool") or "rbd", one.get("image")) == (two.get("pool") or "rbd", two.get("image"))
    return same and not _both_read(one, two)


def _both_read(one: Volume, two: Volume) -> bool:
    return bool(one.get("readOnly")) and bool(two.get("readOnly"))


def _keys(volume: Volume) -> Iterator[tuple[str, str]]:
    """Names of the disks that conflict if two volumes share one."""
    for source, member in (*_DISKS.items(), ("rbd", "image")):
        if volume.get(source):
            yield source, volume[source].get(member, "")


class _DiskRows:
    """The rows on which each disk is."""

    def __init__(self, snapshot: ISnapshot) -> None:
        self._snapshot = snapshot
        self._index: RowIndex[tuple[str, str]] = RowIndex()
        self._version = -1

    def sharing(self, disks: Iterable[Volume]) -> set[int]:
        """Rows that have a disk of one of these names."""
        self._refresh()
        return {row for volume in disks for key in _keys(volume) for row in self._index.rows(key)}

    def _refresh(self) -> None:
        snapshot = self._snapshot
        changed: Iterable[int] | None = snapshot.changed(self._version, Columns.VOLUMES)
        if changed is None or self._version < 0:
            self._index.clear()
            changed = snapshot.rows_with_volumes()
        self._version = snapshot.version
        for row in changed:
            disks = (volume for pod in snapshot.pods(row) for volume in _disks(pod))
            self._index.put(row, (key for volume in disks for key in _keys(volume)))


@implementer(IRowFilter)
class _Taken:
    local = True
    columns = Columns.VOLUMES

    def __init__(self, snapshot: ISnapshot, disks: _DiskRows, requested: list[Volume]) -> None:
        self._snapshot = snapshot
        self._disks = disks
        self._requested = requested

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        if rows is not None and len(rows) < _FEW:
            return np.array([self._has_conflict(int(row)) for row in rows], dtype=np.int64)
        codes = np.zeros(self._snapshot.size, dtype=np.int64)
        for row in self._disks.sharing(self._requested):
            codes[row] = self._has_conflict(row)
        return codes if rows is None else codes[rows]

    def _has_conflict(self, row: int) -> bool:
        return _conflicts(self._requested, self._snapshot.pods(row))

    def status(self, code: int) -> Status:
        return REFUSED
