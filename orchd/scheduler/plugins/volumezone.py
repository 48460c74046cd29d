"""VolumeZone: a bound volume with zone or region labels requires a node of that zone and region."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.kinds.objects.volumes.claims import WAIT_FOR_FIRST_CONSUMER, class_of
from orchd.kinds.objects.volumes.topology import zones
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IPreFilter, IRowFilter
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.storage import Storage, StorageError, missing
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED: Final = unresolvable("node(s) had no available volume zone")
_KEYS: Final = (
    "failure-domain.beta.{long}.io/zone", "failure-domain.beta.{long}.io/region", "topology.{long}.io/zone",
    "topology.{long}.io/region",
)  # fmt: skip
_OTHER_ZONE, _UNKNOWN = 1, 2
#: (label, accepted values) of every zone label of every volume.
Wanted = list[tuple[str, frozenset[str]]]


@implementer(IPreFilter, IColumnFilter)
class VolumeZone:
    name = "VolumeZone"
    events = (
        ClusterEvent("storageclasses", Action.ADD),
        ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),
        ClusterEvent("persistentvolumeclaims", Action.ADD),
        ClusterEvent("persistentvolumes", Action.ADD | Action.UPDATE),
    )
    shared = True

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._storage = Storage(handle, "claims", "volumes", "classes")
        self._keys = tuple(map(handle.dialect, _KEYS))

    @property
    def epoch(self) -> int:
        return self._storage.epoch

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        error = self._required_zones(pod.template)[1]
        return unresolvable(error) if error else None

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        if not any(key in node.labels for key in self._keys):
            return None
        required, error = self._required_zones(pod.template)
        if any(node.labels.get(key) not in values for key, values in required):
            return REFUSED
        return unresolvable(error) if error else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        if not any("persistentVolumeClaim" in volume for volume in pod.template.volumes):
            return None
        required, error = self._required_zones(pod.template)
        return _InZone(self._snapshot, self._keys, required, error) if required or error else None

    def _required_zones(self, template: PodTemplate) -> tuple[Wanted, str]:
        """Zone requirements of the pod's volumes up to the first invalid claim, and the status for that claim."""
        required: Wanted = []
        try:
            for volume in template.volumes:
                claim = volume.get("persistentVolumeClaim")
                if claim is not None:
                    required += self._of_claim(template.namespace, claim.get("claimName", ""))
        except StorageError as error:
            return required, str(error)
        return required, ""

    def _of_claim(self, namespace: str, name: str) -> Wanted:
        if not name:
            raise StorageError("PersistentVolumeClaim had no name")
        claim = self._storage.claim(namespace, name)
        if claim is None:
            raise StorageError(missing("persistentvolumeclaim", name))
        volume_name = claim["spec"].get("volumeName")
        if not volume_name:
            class_name = class_of(claim, self._storage.dialect)
            if not class_name:
                raise StorageError("PersistentVolumeClaim had no pv name and storageClass name")
            storage_class = self._storage.storage_class(class_name)
            if storage_class is None:
                raise StorageError(missing(self._storage.dialect("storageclass.storage.{abbr}.io"), class_name))
            if storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER:
                return []
            raise StorageError("PersistentVolume had no name")
        volume = self._storage.volume(volume_name)
        if volume is None:
            raise StorageError(missing("persistentvolume", volume_name))
        labels: Mapping[str, str] = volume["metadata"].get("labels") or {}
        zones_by_key = ((key, zones(labels[key])) for key in self._keys if key in labels)
        return [(key, values) for key, values in zones_by_key if values is not None]


@implementer(IRowFilter)
class _InZone:
    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot, keys: tuple[str, ...], required: Wanted, error: str) -> None:
        self._snapshot = snapshot
        self._keys = keys
        self._required_zones = required
        self._error = error

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        labels = self._snapshot.labels
        zoned = np.zeros(self._snapshot.size, dtype=np.bool_)
        for key in self._keys:
            zoned |= self._snapshot.label(key) >= 0
        codes = np.where(zoned, _UNKNOWN if self._error else 0, 0).astype(np.int64)
        for key, values in self._required_zones:
            column = labels.column(key)
            codes[zoned & ~column.table(values.__contains__)[column.rows]] = _OTHER_ZONE
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        return REFUSED if code == _OTHER_ZONE else unresolvable(self._error)
