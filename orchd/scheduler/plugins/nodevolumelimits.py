"""NodeVolumeLimits: limits the volumes of a CSI driver per node, by its CSINode or its allocatable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha1
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.kinds.fields import mapping, spec
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.csimigration import is_served, of_provisioner, of_volume, served_plugins, volume_handle
from orchd.scheduler.plugins.driver_columns import DriverColumns, Volumes
from orchd.scheduler.plugins.storage import Storage, StorageError, claim_names
from orchd.scheduler.plugins.volumelimits import REFUSED
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, failed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ATTACHABLE: Final = "attachable-volumes-"
_PREFIX: Final = "attachable-volumes-csi-"
_LONGEST_NAME: Final = 63
_NONE: Volumes = frozenset()


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
        self._columns = DriverColumns(handle.snapshot, self._storage, self._attached_of, self._limits_of)

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        if not pod.template.volumes:
            return None
        csi_node = self._storage.csi_node(node.name)
        try:
            new = self.volumes(pod, served_plugins(csi_node, self._storage.dialect), new=True)
            return REFUSED if self.exceeds(new, node.facts, csi_node, node.pods.values()) else None
        except StorageError as error:
            return failed(str(error))

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        return _Limited(self, self._snapshot, pod) if next(claim_names(pod), None) is not None else None

    def exceeds(self, new: Volumes, facts: NodeFacts, csi_node: Object | None, others: Iterable[Pod]) -> bool:
        """Plain form: True if new volumes exceed the node's limit, given its other pods. Raises StorageError."""
        limits = _limits(facts, csi_node) if new else {}
        attached = _NONE.union(*(self._attached_of(other, csi_node) for other in others)) if limits else _NONE
        # A volume that is already on the node does not count again.
        more = Counter(driver for driver, _ in new - attached)
        present = Counter(driver for driver, _ in attached)
        counts = ((driver, count, limits.get(limit_name(driver))) for driver, count in more.items())
        return any(limit is not None and present[driver] + count > limit for driver, count, limit in counts)

    def exceeded(self, pod: Pod) -> NDArray[np.bool_]:
        """Rows on which the volumes of a pod exceed a limit. Raises StorageError."""
        columns, mask = self._columns, np.zeros(self._snapshot.size, dtype=np.bool_)
        columns.refresh()
        for number, plugins in enumerate(columns.plugins):
            rows = columns.served == number
            if rows.any():
                new = self.volumes(pod, plugins, new=True)
                mask |= rows & columns.exceeded(new)
        return mask

    def _limits_of(self, facts: NodeFacts, csi_node: Object | None, drivers: Iterable[str]) -> Mapping[str, int]:
        """Limits of a node by driver: those of its CSINode, and for `drivers` those in its allocatable."""
        limits = _limits(facts, csi_node)
        named = [driver["name"] for driver in _drivers(csi_node)]
        return {each: limits[name] for each in (*drivers, *named) if (name := limit_name(each)) in limits}

    def _attached_of(self, pod: Pod, csi_node: Object | None) -> Volumes:
        return self.volumes(pod, served_plugins(csi_node, self._storage.dialect), new=False)

    def volumes(self, pod: Pod, served: str, *, new: bool) -> Volumes:
        """The CSI volumes of a pod on a node whose drivers serve in-tree plugins. Raises
        StorageError for a `new` pod with missing or invalid claims."""
        volumes: set[tuple[str, str]] = set()
        for claim, volume in self._storage.claims_of(pod, new=new):
            driver, handle = self._of_class(claim, served) if volume is None else self._of_volume(volume, served)
            if driver and handle:
                volumes.add((driver, handle))
        return frozenset(volumes)

    def _of_volume(self, volume: Object, served: str) -> tuple[str, str]:
        """Driver and handle of a volume; "" without a CSI driver."""
        source = volume["spec"].get("csi")
        if source is not None:
            return source.get("driver", ""), source.get("volumeHandle", "")
        migration = of_volume(volume)
        if migration is None or not is_served(migration, served, self._storage):
            return "", ""
        return migration.driver, volume_handle(volume, migration, self._storage.dialect)

    def _of_class(self, claim: Object, served: str) -> tuple[str, str]:
        """Driver of the volume that a claim will get, and a placeholder for its handle."""
        storage_class = self._storage.class_of_claim(claim)
        if storage_class is None:
            return "", ""
        provisioner: str = storage_class.get("provisioner", "")
        metadata = claim["metadata"]
        handle = f"\0{metadata.get('namespace', '')}/{metadata['name']}"
        migration = of_provisioner(provisioner, self._storage.dialect)
        if migration is None:
            return provisioner, handle
        return (migration.driver, handle) if is_served(migration, served, self._storage) else ("", "")


def limit_name(driver: str) -> str:
    """The resource that limits volumes of a driver; long names are cut and made unique by a hash."""
    if len(_PREFIX) + len(driver) < _LONGEST_NAME:
        return _PREFIX + driver
    return _PREFIX + driver[:23] + sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]


def _drivers(csi_node: Object | None) -> list[Object]:
    return [] if csi_node is None else spec(csi_node).get("drivers") or []


def _limits(facts: NodeFacts, csi_node: Object | None) -> dict[str, int]:
    """Limits of a node by the names of resources."""
    limits = {name: number for name, number in facts.allocatable.items() if name.startswith(_ATTACHABLE)}
    for driver in _drivers(csi_node):
        count = mapping(driver, "allocatable").get("count")
        if count is not None:
            limits[limit_name(driver["name"])] = count
    return limits


@implementer(IRowFilter)
class _Limited:
    local = False
    columns = Columns.VOLUMES | Columns.NODE

    def __init__(self, plugin: NodeVolumeLimits, snapshot: Snapshot, pod: Pod) -> None:
        self._plugin = plugin
        self._snapshot = snapshot
        self._pod = pod
        self._error = ""

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        try:
            codes = self._plugin.exceeded(self._pod).astype(np.int64)
        except StorageError as error:
            self._error = str(error)
            codes = np.ones(self._snapshot.size, dtype=np.int64)
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        return failed(self._error) if self._error else REFUSED
