"""Which dependents are whose: adopt those that match and belong to nobody, let go of those that match no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchd.client.interfaces import IClient, IInformer, Object, ResourceRef
from orchd.controllers.objects import BY_CONTROLLER, MERGE, deleting, labels, name, namespace, owner_reference, uid
from orchd.errors import ApiError
from orchd.kinds.objects.selectors import LabelSelector


async def claim(
    client: IClient,
    parent: Object,
    *,
    parent_ref: ResourceRef,
    api_version: str,
    kind: str,
    selector: LabelSelector,
    informer: IInformer,
    ref: ResourceRef,
    fits: Callable[[Object], bool] = lambda obj: True,
) -> list[Object]:
    """The dependents of `parent` in `informer` (which is indexed by controller), after adopting and letting go.

    An object belongs to the parent if the selector matches its labels and `fits` accepts it.
    """
    mine: list[Object] = []
    for obj in informer.by_index(BY_CONTROLLER, uid(parent)):
        if namespace(obj) != namespace(parent):
            continue
        if selector.matches(labels(obj)) and fits(obj):
            mine.append(obj)
        elif not deleting(parent):
            kept = [r for r in obj["metadata"]["ownerReferences"] if r.get("uid") != uid(parent)]
            await _patch(client, ref, obj, kept or None)
    if deleting(parent):
        return mine
    checked = False
    for obj in informer.by_index(BY_CONTROLLER, "/" + namespace(parent)):
        if deleting(obj) or not selector.matches(labels(obj)) or not fits(obj):
            continue
        if not checked:
            # The informer may not know yet that the parent is going away; what it adopted now would be lost.
            live = await client.get(parent_ref, namespace(parent), name(parent))
            if uid(live) != uid(parent) or deleting(live):
                return mine
            checked = True
        owners = [*(obj["metadata"].get("ownerReferences") or ()), owner_reference(parent, api_version, kind)]
        adopted = await _patch(client, ref, obj, owners)
        if adopted is not None:
            mine.append(adopted)
    return mine


async def _patch(client: IClient, ref: ResourceRef, obj: Object, owners: Any) -> Object | None:
    """Give `obj` these owners; None when it has gone."""
    metadata: Mapping[str, Any] = {
        "uid": uid(obj),
        "resourceVersion": obj["metadata"]["resourceVersion"],
        "ownerReferences": owners,
    }
    try:
        changed: Object = await client.patch(
            ref, namespace(obj), name(obj), {"metadata": metadata}, content_type=MERGE
        )
    except ApiError as error:
        if error.code == 404:
            return None
        raise
    return changed
