"""CSI volumes on nodes as columns: attached volumes and limits per driver, and the rows of each volume.

Rows are computed again when their node or its pods change, when its CSINode does, and when a claim or volume that one
of its pods uses does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from orchd.client.informers import key_of
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.plugins.csimigration import served_plugins
from orchd.scheduler.plugins.rowindex import RowIndex
from orchd.scheduler.plugins.storage import Storage, claim_names
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

#: (driver, handle) of volumes.
Volumes = frozenset[tuple[str, str]]
_NONE: Volumes = frozenset()
_UNLIMITED = -1


class DriverColumns:
    """`volumes_of` returns the volumes of a pod on a node with a CSINode, `limits_of` the limits of a node by driver:
    those of its CSINode and of the given drivers. Neither raises. Call `refresh` before reading."""

    def __init__(
        self,
        snapshot: Snapshot,
        storage: Storage,
        volumes_of: Callable[[Pod, Object | None], Volumes],
        limits_of: Callable[[NodeFacts, Object | None, Iterable[str]], Mapping[str, int]],
    ) -> None:
        self._snapshot = snapshot
        self._storage = storage
        self._volumes_of = volumes_of
        self._limits_of = limits_of
        self._version = -1
        self._dirty: set[int] = set()
        self._all_dirty = True
        self._present: dict[str, Numbers] = {}
        self._limits: dict[str, Numbers] = {}
        #: Volumes by driver and handle; and the claims and volumes that pods name, by namespace and name.
        self._attached: RowIndex[tuple[str, str]] = RowIndex()
        self._named: RowIndex[tuple[str, str]] = RowIndex()
        #: The in-tree plugins that drivers serve, as numbers of `_plugins`.
        self.served: NDArray[np.int32] = np.zeros(snapshot.size, dtype=np.int32)
        self.plugins: list[str] = [""]
        storage.informer("csinodes").add_listener(self._csi_node_changed)
        storage.informer("classes").add_listener(self._class_changed)
        for name in ("claims", "volumes"):
            storage.informer(name).add_listener(self._named_changed)

    # -- changes

    def _csi_node_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        row = self._snapshot.row_of(key_of(new or old or {})[1])
        if row >= 0:
            self._dirty.add(row)

    def _class_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        self._all_dirty = True

    def _named_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        self._dirty |= self._named.rows(key_of(new or old or {}))

    def refresh(self) -> None:
        """Recompute changed rows."""
        snapshot = self._snapshot
        changed = None if self._all_dirty else snapshot.changed(self._version, Columns.VOLUMES | Columns.NODE)
        self._version = snapshot.version
        if self.served.size != snapshot.size or changed is None:
            self._reset()
            dirty: Iterable[int] = [int(row) for row in np.flatnonzero(snapshot.alive)]
        else:
            dirty = self._dirty.union(changed)
        self._dirty, self._all_dirty = set(), False
        for row in dirty:
            self._compute(row)

    def _reset(self) -> None:
        for table in (self._present, self._limits, self._attached, self._named):
            table.clear()
        self.served = np.zeros(self._snapshot.size, dtype=np.int32)

    def _compute(self, row: int) -> None:
        facts = self._snapshot.nodes[row]
        csi_node = None if facts is None else self._storage.csi_node(facts.name)
        pods = [] if facts is None else [pod for pod in self._snapshot.pods(row) if pod.template.volumes]
        self._named.put(row, self._names_of(pods))
        self.served[row] = self._plugin_number(served_plugins(csi_node, self._storage.dialect))
        volumes = _NONE.union(*(self._volumes_of(pod, csi_node) for pod in pods))
        self._attached.put(row, volumes)
        present = Counter(driver for driver, _ in volumes)
        for driver in {*self._present, *present}:
            self._column(self._present, driver, 0)[row] = present[driver]
        for limits in self._limits.values():
            limits[row] = _UNLIMITED
        if facts is not None:
            for driver, limit in self._limits_of(facts, csi_node, self._limits).items():
                self._column(self._limits, driver, _UNLIMITED)[row] = limit

    def _names_of(self, pods: Iterable[Pod]) -> Iterator[tuple[str, str]]:
        for pod in pods:
            for name, _ in claim_names(pod):
                yield pod.namespace, name
                claim = self._storage.claim(pod.namespace, name)
                if claim is not None and claim["spec"].get("volumeName"):
                    yield "", claim["spec"]["volumeName"]

    def _plugin_number(self, plugins: str) -> int:
        if plugins not in self.plugins:
            self.plugins.append(plugins)
        return self.plugins.index(plugins)

    def _column(self, table: dict[str, Numbers], driver: str, fill: int) -> Numbers:
        column = table.get(driver)
        if column is None:
            column = table[driver] = np.full(self._snapshot.size, fill, dtype=np.int64)
        return column

    # -- reading

    def exceeded(self, new: Volumes, *, also_without_more: bool = False) -> NDArray[np.bool_]:
        """Rows on which new volumes exceed a driver's limit. With `also_without_more`, also rows whose present volumes
        exceed it while every new one is already there."""
        over = np.zeros(self._snapshot.size, dtype=np.bool_)
        for driver in {driver for driver, _ in new}:
            if driver not in self._limits:
                self._add_driver(driver)
            limit = self._limits[driver]
            if not (limit >= 0).any():
                continue
            own = [volume for volume in new if volume[0] == driver]
            more = np.full(self._snapshot.size, len(own), dtype=np.int64)
            for volume in own:
                # A volume that is already on the node does not count again.
                more[list(self._attached.rows(volume))] -= 1
            present = self._present.get(driver, 0)
            over |= (limit >= 0) & (also_without_more | (more > 0)) & (present + more > limit)
        return over

    def _add_driver(self, driver: str) -> None:
        """Register a driver, since limits in allocatable are looked up by driver name."""
        limits = self._column(self._limits, driver, _UNLIMITED)
        for row in np.flatnonzero(self._snapshot.alive):
            facts = self._snapshot.nodes[row]
            assert facts is not None
            limit = self._limits_of(facts, self._storage.csi_node(facts.name), (driver,)).get(driver)
            if limit is not None:
                limits[row] = limit
