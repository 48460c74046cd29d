"""Selection of the volume for a claim: one that is reserved for it, else the smallest that matches."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import EVERYTHING, LabelSelector
from orchd.kinds.objects.volumes.claims import (
    bound_to,
    capacity,
    class_of,
    has_access_modes,
    requested_storage,
    volume_mode,
)
from orchd.kinds.objects.volumes.topology import Labels, usable_on


def find_volume(
    claim: Object,
    volumes: Iterable[Object],
    dialect: Dialect,
    *,
    node: Labels | None = None,
    excluded: Collection[str] = (),
    delayed: bool = False,
) -> Object | None:
    """The volume for a claim, None if no volume matches. Raises ValueError for a claim with an invalid selector.

    `node` are the labels of the node on which the volume must be usable; None if it is not known yet. `excluded` are
    names of volumes selected for other claims. `delayed`: the claim waits for its first consumer, so without a node
    only a volume that is reserved for it matches. `volumes` may contain those of other classes.
    """
    reserved, fitting = candidates(claim, volumes, dialect, checked_modes=node is not None)
    if reserved is not None and reserved["metadata"]["name"] not in excluded:
        return reserved if node is None or usable_on(reserved, node) else None
    if node is None and delayed:
        return None
    for volume in fitting:
        if volume["metadata"]["name"] not in excluded and (node is None or usable_on(volume, node)):
            return volume
    return None


def candidates(
    claim: Object, volumes: Iterable[Object], dialect: Dialect, *, checked_modes: bool = True
) -> tuple[Object | None, list[Object]]:
    """The volume that is reserved for a claim, or None, and all others that match, the smallest first (in
    the given order for equal sizes). Node affinity is not considered.

    `checked_modes`: access modes must match as well; not needed for volumes listed by access modes. Raises
    ValueError."""
    size, mode = requested_storage(claim), volume_mode(claim)
    reserved: Object | None = None
    fitting: list[Object] = []
    suits = _Suitable(claim, dialect, checked_modes)
    for volume in volumes:
        mine = bound_to(volume, claim)
        if volume["spec"].get("claimRef") is not None and not mine:
            continue
        if capacity(volume) < size or volume_mode(volume) != mode or volume["metadata"].get("deletionTimestamp"):
            continue
        if mine:
            reserved = reserved if reserved is not None else volume
        elif suits(volume):
            fitting.append(volume)
    return reserved, sorted(fitting, key=capacity)


class _Suitable:
    """The requirements on a volume that is not reserved, except its size."""

    def __init__(self, claim: Object, dialect: Dialect, checked_modes: bool) -> None:
        selector = claim["spec"].get("selector")
        self._selector = EVERYTHING if selector is None else LabelSelector.from_object(selector)
        self._class = class_of(claim, dialect)
        self._claim = claim
        self._dialect = dialect
        self._checked_modes = checked_modes

    def __call__(self, volume: Object) -> bool:
        if fields.status(volume).get("phase") != "Available":
            return False
        if not self._selector.matches(volume["metadata"].get("labels")):
            return False
        if class_of(volume, self._dialect) != self._class:
            return False
        return not self._checked_modes or has_access_modes(volume, self._claim)
