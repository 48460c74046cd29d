"""NodeVolumeLimits: how many volumes of a CSI driver a node can have, as its CSINode (or its allocatable) says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha1
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.client.interfaces import Object
from orchd.dialect import Dialect
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.csimigration import is_on, of_provisioner, of_volume, served_plugins, volume_handle
from orchd.scheduler.plugins.storage import Storage, StorageError, check_owner, claim_names, missing
from orchd.scheduler.plugins.volumelimits import REFUSED
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ATTACHABLE: Final = "attachable-volumes-"
_PREFIX: Final = "attachable-volumes-csi-"
_LONGEST_NAME: Final = 63
#: (driver, handle) of volumes.
Volumes = frozenset[tuple[str, str]]
_NONE: Volumes = frozenset()
#: Pods whose volumes are remembered; beyond it everything is forgotten and computed anew.
_MOST: Final = 200_000


@implementer(IColumnFilter)
class NodeVolumeLimits:
    name = "NodeVolumeLimits"
    events = (ClusterEvent("csinodes", Action.ADD), ClusterEvent("pods", Action.DELETE))
    #: Claims of ephemeral volumes are named after the pod, and nodes differ in what their drivers serve.
    shared = False
    epoch = 0

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._storage = Storage(handle, "claims", "volumes", "classes", "csinodes")
        self._limits: dict[str, tuple[NodeFacts, Object | None, Mapping[str, int]]] = {}
        #: What a pod has attached, by uid and the in-tree plugins that the node's drivers serve.
        self._attached: dict[tuple[str, str], Volumes] = {}
        self._attached_epoch = -1

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        if not pod.template.volumes:
            return None
        csi_node = self._storage.csi_node(node.name)
        try:
            new = self.volumes(pod, csi_node, new=True)
            return REFUSED if self.exceeds(new, node.facts, csi_node, node.pods.values()) else None
        except StorageError as error:
            return failed(str(error))

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        return _Limited(self, self._snapshot, self._storage.dialect, pod) if next(claim_names(pod), None) is not None else None

    def csi_node(self, name: str) -> Object | None:
        return self._storage.csi_node(name)

    def exceeds(self, new: Volumes, facts: NodeFacts, csi_node: Object | None, others: Iterable[Pod]) -> bool:
        """Would new volumes be too many for a node with other pods? Raises StorageError."""
        limits = self.limits(facts, csi_node) if new else {}
        if not limits:
            return False
        attached = _NONE.union(*(self._attached_of(other, csi_node) for other in others if other.template.volumes))
        # A volume that is there already is no further one.
        more = Counter(driver for driver, _ in new - attached)
        present = Counter(driver for driver, _ in attached)
        return any(
            limit is not None and present[driver] + count > limit
            for driver, count in more.items()
            for limit in (limits.get(limit_name(driver)),)
        )

    def limits(self, facts: NodeFacts, csi_node: Object | None) -> Mapping[str, int]:
        """Limits of a node by the names of resources."""
        known = self._limits.get(facts.name)
        if known is not None and known[0] is facts and known[1] is csi_node:
            return known[2]
        found = {name: number for name, number in facts.allocatable.items() if name.startswith(_ATTACHABLE)}
        drivers = [] if csi_node is None else (csi_node.get("spec") or {}).get("drivers") or []
        for driver in drivers:
            count = (driver.get("allocatable") or {}).get("count")
            if count is not None:
                found[limit_name(driver["name"])] = count
        if len(self._limits) > 2 * self._snapshot.size:
            self._limits.clear()
        self._limits[facts.name] = facts, csi_node, found
        return found

    def _attached_of(self, pod: Pod, csi_node: Object | None) -> Volumes:
        if self._attached_epoch != self._storage.epoch or len(self._attached) > _MOST:
            self._attached_epoch = self._storage.epoch
            self._attached.clear()
        key = pod.uid, served_plugins(csi_node, self._storage.dialect)
        found = self._attached.get(key)
        if found is None:
            found = self._attached[key] = self.volumes(pod, csi_node, new=False)
        return found

    def volumes(self, pod: Pod, csi_node: Object | None, *, new: bool) -> Volumes:
        """The CSI volumes of a pod on a node. Raises StorageError, for a `new` pod also when a claim is missing."""
        found: set[tuple[str, str]] = set()
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
            driver, handle = self._of_class(claim, csi_node) if volume is None else self._of_volume(volume, csi_node)
            if driver and handle:
                found.add((driver, handle))
        return frozenset(found)

    def _of_volume(self, volume: Object, csi_node: Object | None) -> tuple[str, str]:
        """Driver and handle of a volume; "" for one that no CSI driver has."""
        source = volume["spec"].get("csi")
        if source is not None:
            return source.get("driver", ""), source.get("volumeHandle", "")
        migration = of_volume(volume)
        if migration is None or not is_on(migration, csi_node, self._storage.dialect):
            return "", ""
        return migration.driver, volume_handle(volume, migration, self._storage.dialect)

    def _of_class(self, claim: Object, csi_node: Object | None) -> tuple[str, str]:
        """Driver of the volume that a claim will get, and something that stands for its handle."""
        storage_class = self._storage.class_of_claim(claim)
        if storage_class is None:
            return "", ""
        provisioner: str = storage_class.get("provisioner", "")
        metadata = claim["metadata"]
        handle = f"\0{metadata.get('namespace', '')}/{metadata['name']}"
        migration = of_provisioner(provisioner, self._storage.dialect)
        if migration is None:
            return provisioner, handle
        return (migration.driver, handle) if is_on(migration, csi_node, self._storage.dialect) else ("", "")


def limit_name(driver: str) -> str:
    """The resource that limits volumes of a driver; long names are cut and made unique by a hash."""
    if len(_PREFIX) + len(driver) < _LONGEST_NAME:
        return _PREFIX + driver
    return _PREFIX + driver[:23] + sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]


@implementer(IRowFilter)
class _Limited:
    local = False
    columns = Columns.VOLUMES | Columns.NODE

    def __init__(self, plugin: NodeVolumeLimits, snapshot: Snapshot, dialect: Dialect, pod: Pod) -> None:
        self._plugin = plugin
        self._dialect = dialect
        self._snapshot = snapshot
        self._pod = pod
        #: The pod's volumes, by the in-tree plugins that a node's drivers serve.
        self._new: dict[str, Volumes] = {}
        self._error = ""

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        snapshot = self._snapshot
        size = snapshot.size if rows is None else len(rows)
        codes = np.zeros(size, dtype=np.int64)
        for place, row in enumerate(range(size) if rows is None else rows):
            facts = snapshot.nodes[row]
            if facts is None:
                continue
            csi_node = self._plugin.csi_node(facts.name)
            try:
                new = self._of_pod(csi_node)
                codes[place] = bool(new) and self._plugin.exceeds(new, facts, csi_node, snapshot.pods(int(row)))
            except StorageError as error:
                self._error = str(error)
                return np.ones(size, dtype=np.int64)
        return codes

    def _of_pod(self, csi_node: Object | None) -> Volumes:
        served = served_plugins(csi_node, self._dialect)
        found = self._new.get(served)
        if found is None:
            found = self._new[served] = self._plugin.volumes(self._pod, csi_node, new=True)
        return found

    def status(self, code: int) -> Status:
        return failed(self._error) if self._error else REFUSED
