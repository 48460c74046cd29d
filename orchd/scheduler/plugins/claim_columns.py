"""The effect of a pod's claims on all rows: the columnar form of `VolumeBinder.decide`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.node_selectors import Terms
from orchd.kinds.objects.volumes.matching import candidates
from orchd.kinds.objects.volumes.topology import affinity_terms, allowed_terms, selector_terms
from orchd.scheduler.interfaces import IRowFilter, ISnapshot
from orchd.scheduler.plugins.csimigration import is_on, migrated_terms, of_volume
from orchd.scheduler.plugins.storage import StorageError
from orchd.scheduler.plugins.volumebinder import (
    BIND_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_MISSING,
    Claims,
    VolumeBinder,
    by_size,
)
from orchd.scheduler.values import Columns, Status, failed, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

_NODE, _BIND, _SPACE, _MISSING, _ERROR = 1, 2, 4, 8, 16
_TEXTS: Final = ((_BIND, BIND_CONFLICT), (_SPACE, NOT_ENOUGH_SPACE), (_MISSING, VOLUME_MISSING))


@implementer(IRowFilter)
class ClaimRows:
    """Codes are sums of the reasons against a row."""

    local = False
    columns = Columns.NODE

    def __init__(self, binder: VolumeBinder, snapshot: ISnapshot, claims: Claims) -> None:
        self._binder = binder
        self._snapshot = snapshot
        self._claims = claims
        self._error = ""

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        self._error = ""
        codes = np.zeros(self._snapshot.size, dtype=np.int64)
        self._add_bound(codes)
        if self._claims.to_bind:
            self._add_unbound(codes)
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        if code & _ERROR:
            return failed(self._error)
        texts = ((_NODE, self._binder.words.node_conflict), *_TEXTS)
        return unresolvable(*(text for bit, text in texts if code & bit))

    def _mask(self, terms: Terms | None) -> Mask:
        if terms is None:
            return np.ones(self._snapshot.size, dtype=np.bool_)
        mask: Mask = self._snapshot.match_selector(terms)
        return mask

    def _add_bound(self, codes: NDArray[np.int64]) -> None:
        """Add the reason of the first bound claim that is not usable on a row."""
        left = np.ones(self._snapshot.size, dtype=np.bool_)
        for claim in self._claims.bound:
            volume = self._binder.volumes.get("", claim["spec"]["volumeName"])
            if volume is None:
                codes[left] |= _MISSING
                return
            usable = self._usable(volume)
            codes[left & ~usable] |= _NODE
            left &= usable

    def _usable(self, volume: Object) -> Mask:
        """Rows on which a bound volume can be used, by the CSI driver's topology where that serves the in-tree
        volume."""
        mask, migration, dialect = self._mask(affinity_terms(volume)), of_volume(volume), self._binder.dialect
        if migration is None or not self._binder.storage.feature(migration.gate):
            return mask
        served = np.zeros(self._snapshot.size, dtype=np.bool_)
        for csi_node in self._binder.storage.informer("csinodes").list():
            row = self._snapshot.row_of(csi_node["metadata"]["name"])
            if row >= 0 and is_on(migration, csi_node, self._binder.storage):
                served[row] = True
        return np.where(served, self._mask(migrated_terms(volume, migration, dialect)), mask) if served.any() else mask

    def _add_unbound(self, codes: NDArray[np.int64]) -> None:
        active = self._snapshot.alive.copy()
        selected = [each for each in self._claims.to_bind if self._binder.selected_node(each) is not None]
        for claim in selected:
            active &= self._only(self._binder.selected_node(claim) or "")
        codes[~active] |= _BIND
        #: Claims for which volumes must be provisioned, each with the rows on which that is so.
        provisions = [(claim, active) for claim in selected]
        taken: dict[str, Mask] = {}
        for claim in by_size(each for each in self._claims.to_bind if self._binder.selected_node(each) is None):
            provisions.append((claim, active & ~self._matched(claim, taken)))
        self._add_provisions(codes, provisions, active.copy())

    def _only(self, node_name: str) -> Mask:
        mask = np.zeros(self._snapshot.size, dtype=np.bool_)
        row = self._snapshot.row_of(node_name)
        if row >= 0:
            mask[row] = True
        return mask

    def _matched(self, claim: Object, taken: dict[str, Mask]) -> Mask:
        """Rows on which a volume matches a claim. `taken` has the rows on which another claim already gets a volume."""
        reserved, fitting = candidates(claim, self._binder.candidates(claim), self._binder.dialect)
        open_ = np.ones(self._snapshot.size, dtype=np.bool_)
        matched = np.zeros(self._snapshot.size, dtype=np.bool_)

        def take(volume: Object) -> Mask:
            used = taken.setdefault(volume["metadata"]["name"], np.zeros(self._snapshot.size, dtype=np.bool_))
            free: Mask = open_ & ~used
            mine = free & self._mask(affinity_terms(volume))
            used |= mine
            matched[mine] = True
            return free

        if reserved is not None:
            # A free volume that is reserved for the claim excludes all others, whether it is usable on the row or not.
            open_ &= ~take(reserved)
        for volume in fitting:
            if not open_.any():
                break
            take(volume)
            open_ &= ~matched
        return matched

    def _add_provisions(self, codes: NDArray[np.int64], provisions: list[tuple[Object, Mask]], left: Mask) -> None:
        """Add the reason of the first claim for which nothing can be provisioned on a row."""
        for claim, rows in provisions:
            rows = rows & left
            if not rows.any():
                continue
            try:
                storage_class = self._binder.provisioning_class(claim)
            except StorageError as error:
                self._error = self._error or str(error)
                codes[rows] |= _ERROR
                left &= ~rows
                continue
            allowed = np.zeros_like(rows) if storage_class is None else self._mask(allowed_terms(storage_class))
            codes[rows & ~allowed] |= _BIND
            room = self._with_room(claim, storage_class) if storage_class is not None else allowed
            codes[rows & allowed & ~room] |= _SPACE
            left &= ~rows | (allowed & room)

    def _with_room(self, claim: Object, storage_class: Object) -> Mask:
        pools = self._binder.pools(claim, storage_class)
        if pools is None:
            return self._mask(None)
        room = np.zeros(self._snapshot.size, dtype=np.bool_)
        for pool in pools:
            room |= self._mask(selector_terms(pool.get("nodeTopology")))
        return room
