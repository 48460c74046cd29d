"""EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits: limits of cloud disks per node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.csimigration import MIGRATIONS, Migration, is_on
from orchd.scheduler.plugins.driver_columns import DriverColumns, Volumes
from orchd.scheduler.plugins.refusal import UniformRefusal
from orchd.scheduler.plugins.storage import Storage, StorageError
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED: Final = unschedulable("node(s) exceed max volume count")
_INSTANCE_TYPES: Final = ("beta.{long}.io/instance-type", "node.{long}.io/instance-type")
_NITRO: Final = re.compile("^[cmr]5.*|t3|z1d")


@dataclass(frozen=True, slots=True)
class Cloud:
    """A type of cloud disk: the volume source and its field with the disk's name, the allocatable resource that limits
    them, and the default limit."""

    source: str
    member: str
    resource: str
    limit: int
    #: Limit for the newer instance types.
    nitro: int = 0

    @property
    def migration(self) -> Migration:
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
        self._columns = DriverColumns(handle.snapshot, self._storage, self._disks_of, self._limits_of)

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        try:
            new = self.disks(pod, new=True)
        except StorageError as error:
            return failed(str(error))
        csi_node = self._storage.csi_node(node.name)
        limit = self._limits_of(node.facts, csi_node, ()).get(self._cloud.source) if new else None
        if limit is None:
            return None
        present = new.union(*(self._disks_of(other, csi_node) for other in node.pods.values()))
        return REFUSED if len(present) > limit else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        if not pod.template.volumes:
            return None
        try:
            new = self.disks(pod, new=True)
        except StorageError as error:
            return UniformRefusal(self._snapshot, failed(str(error)))
        return _Limited(self._snapshot, self._columns, new) if new else None

    def _limits_of(self, facts: NodeFacts, csi_node: Object | None, drivers: Iterable[str]) -> Mapping[str, int]:
        """The limit of a node; none if a CSI driver serves the disks, whose own limit then applies."""
        cloud = self._cloud
        if is_on(cloud.migration, csi_node, self._storage):
            return {}
        limit = facts.allocatable.get(cloud.resource)
        if limit is None:
            kind = next((facts.labels[key] for key in map(self._dialect, _INSTANCE_TYPES) if key in facts.labels), "")
            limit = cloud.nitro if cloud.nitro and _NITRO.search(kind) else cloud.limit
        return {cloud.source: limit}

    def _disks_of(self, pod: Pod, csi_node: Object | None) -> Volumes:
        return self.disks(pod, new=False)

    def disks(self, pod: Pod, *, new: bool) -> Volumes:
        """The disks of this type of a pod; an unbound claim counts by its own name. Raises StorageError for a `new` pod
        with missing or invalid claims."""
        cloud = self._cloud
        sources = (volume.get(cloud.source) for volume in pod.template.volumes)
        disks = {source.get(cloud.member, "") for source in sources if source}
        for claim, volume in self._storage.claims_of(pod, new=new):
            if volume is None:
                if self._provisions(claim):
                    disks.add(f"\0{pod.namespace}/{claim['metadata']['name']}")
                continue
            source: Mapping[str, Any] | None = volume["spec"].get(cloud.source)
            if source is not None:
                disks.add(source.get(cloud.member, ""))
        return frozenset((cloud.source, each) for each in disks)

    def _provisions(self, claim: Object) -> bool:
        """True if a volume provisioned for the claim would count against this limit."""
        name = claim["spec"].get("storageClassName")
        storage_class = self._storage.storage_class(name) if name else None
        return storage_class is not None and storage_class.get("provisioner") == self._dialect(
            self._cloud.migration.plugin
        )


@implementer(IRowFilter)
class _Limited:
    local = False
    columns = Columns.VOLUMES | Columns.NODE

    def __init__(self, snapshot: Snapshot, disks: DriverColumns, new: Volumes) -> None:
        self._snapshot = snapshot
        self._disks = disks
        self._new = new

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        self._disks.refresh()
        # Above the limit, not even a disk that is already attached may be used again.
        codes: NDArray[np.int64] = self._disks.exceeded(self._new, also_without_more=True).astype(np.int64)
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        return REFUSED
