"""EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits: how many disks of a cloud a node can have."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from zope.interface import implementer

from orchd.client.interfaces import Object
from orchd.dialect import Dialect
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.csimigration import MIGRATIONS, is_on
from orchd.scheduler.plugins.podvolumes import PodVolumes
from orchd.scheduler.plugins.storage import Storage, StorageError, check_owner, claim_names, missing
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED: Final = unschedulable("node(s) exceed max volume count")
_INSTANCE_TYPES: Final = ("beta.{long}.io/instance-type", "node.{long}.io/instance-type")
_NITRO: Final = re.compile("^[cmr]5.*|t3|z1d")


@dataclass(frozen=True, slots=True)
class Cloud:
    """One sort of disks: the member of a volume that describes one and the member in it that names the disk, the
    allocatable resource that limits them, and the limit without it."""

    source: str
    member: str
    resource: str
    limit: int
    #: Limit for the newer instance types.
    nitro: int = 0

    @property
    def migration(self) -> Any:
        return next(each for each in MIGRATIONS if each.source == self.source)


EBS: Final = Cloud("awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs", 39, 25)
GCE_PD: Final = Cloud("gcePersistentDisk", "pdName", "attachable-volumes-gce-pd", 16)
AZURE_DISK: Final = Cloud("azureDisk", "diskName", "attachable-volumes-azure-disk", 16)
CINDER: Final = Cloud("cinder", "volumeID", "attachable-volumes-cinder", 256)


@implementer(IColumnFilter)
class DiskLimits:
    """The limit of one cloud; `name` is the plugin's."""

    events = (ClusterEvent("nodes", Action.ADD), ClusterEvent("pods", Action.DELETE))
    #: Claims of ephemeral volumes are named after the pod, and nodes differ in what their drivers serve.
    shared = False
    epoch = 0

    def __init__(self, handle: IHandle, name: str, cloud: Cloud) -> None:
        self.name = name
        self._cloud = cloud
        self._snapshot: Snapshot = handle.snapshot
        self._dialect: Dialect = handle.dialect
        self._storage = Storage(handle, "claims", "volumes", "classes", "csinodes")
        self._of_pods = PodVolumes(self._storage, self._of_existing)

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        try:
            new = self._disks(pod, new=True)
            return REFUSED if new and self.exceeds(new, node.facts, node.pods.values()) else None
        except StorageError as error:
            return failed(str(error))

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        if not pod.template.volumes:
            return None
        try:
            new = self._disks(pod, new=True)
        except StorageError as error:
            return _Limited(self, self._snapshot, frozenset(), str(error))
        return _Limited(self, self._snapshot, new, "") if new else None

    def exceeds(self, new: frozenset[Hashable], facts: NodeFacts, pods: Iterable[Pod]) -> bool:
        """Would the disks of the pods and the new ones be too many for a node? Raises StorageError."""
        if is_on(self._cloud.migration, self._storage.csi_node(facts.name), self._dialect):
            # The driver's limit holds instead.
            return False
        return len(new.union(*map(self._of_pods.get, pods))) > self._limit(facts)

    def _limit(self, facts: NodeFacts) -> int:
        allocatable = facts.allocatable.get(self._cloud.resource)
        if allocatable is not None:
            return allocatable
        kind = next((facts.labels[key] for key in map(self._dialect, _INSTANCE_TYPES) if key in facts.labels), "")
        return self._cloud.nitro if self._cloud.nitro and _NITRO.search(kind) else self._cloud.limit

    def _of_existing(self, pod: Pod) -> frozenset[Hashable]:
        return self._disks(pod, new=False)

    def _disks(self, pod: Pod, *, new: bool) -> frozenset[Hashable]:
        """What a pod's volumes of this sort are called; a claim without a volume counts by its own name. Raises
        StorageError, for a pod that is `new` also when a claim is missing."""
        cloud = self._cloud
        found: set[Hashable] = {
            volume[cloud.source].get(cloud.member, "") for volume in pod.template.volumes if volume.get(cloud.source)
        }
        for name, ephemeral in claim_names(pod):
            if not name:
                raise StorageError("PersistentVolumeClaim had no name")
            claim = self._storage.claim(pod.namespace, name)
            if claim is None:
                if new:
                    raise StorageError(f"looking up PVC {pod.namespace}/{name}: {missing('persistentvolumeclaim', name)}")
                continue
            if ephemeral:
                check_owner(pod, claim)
            volume_name = claim["spec"].get("volumeName")
            volume = self._storage.volume(volume_name) if volume_name else None
            if volume is None:
                if self._provisions(claim):
                    found.add((pod.namespace, name))
                continue
            source: Mapping[str, Any] | None = volume["spec"].get(cloud.source)
            if source is not None:
                found.add(source.get(cloud.member, ""))
        return frozenset(found)

    def _provisions(self, claim: Object) -> bool:
        """Would a volume for the claim be of this sort?"""
        name = claim["spec"].get("storageClassName")
        storage_class = self._storage.storage_class(name) if name else None
        return storage_class is not None and storage_class.get("provisioner") == self._dialect(self._cloud.migration.plugin)


@implementer(IRowFilter)
class _Limited:
    local = False
    columns = Columns.VOLUMES | Columns.NODE

    def __init__(self, plugin: DiskLimits, snapshot: Snapshot, new: frozenset[Hashable], error: str) -> None:
        self._plugin = plugin
        self._snapshot = snapshot
        self._new = new
        self._error = error

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        snapshot = self._snapshot
        size = snapshot.size if rows is None else len(rows)
        if self._error:
            return np.ones(size, dtype=np.int64)
        codes = np.zeros(size, dtype=np.int64)
        for place, row in enumerate(range(size) if rows is None else rows):
            facts = snapshot.nodes[row]
            if facts is not None:
                try:
                    codes[place] = self._plugin.exceeds(self._new, facts, snapshot.pods(int(row)))
                except StorageError as error:
                    self._error = str(error)
                    return np.ones(size, dtype=np.int64)
        return codes

    def status(self, code: int) -> Status:
        return failed(self._error) if self._error else REFUSED
