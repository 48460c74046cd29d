"""Ownership of dependents by selector: adopt matching objects without a controller, release owned objects that no
longer match."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchd.client.interfaces import IClient, IInformer, ResourceRef
from orchd.controllers.members import Census, Member, Members
from orchd.controllers.objects import BY_CONTROLLER, MERGE, PODS
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, labels, name, namespace, owner_reference, owners, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector

#: Returns the objects of a namespace that are controlled by a uid, or for "" those without a controller.
Controlled = Callable[[str, str], Iterable[Object]]


def controlled_by(informer: IInformer) -> Controlled:
    """Lookup in an informer that has the index `BY_CONTROLLER`."""

    def controlled(within: str, owner: str) -> Iterable[Object]:
        objects = informer.by_index(BY_CONTROLLER, owner or "/" + within)
        return (obj for obj in objects if namespace(obj) == within)

    return controlled


@dataclass(frozen=True, slots=True)
class Parent:
    """An object that adopts others. `ref` is its resource, `subject` its apiVersion and kind; `selector` selects its
    dependents, which have `finalizer` ("" for none)."""

    obj: Object
    ref: ResourceRef
    subject: tuple[str, str]
    selector: LabelSelector
    finalizer: str = ""

    @property
    def reference(self) -> Object:
        """The owner reference of its dependents."""
        return owner_reference(self.obj, *self.subject)


async def claim(
    client: IClient,
    claimant: Parent,
    ref: ResourceRef,
    controlled: Controlled,
    *,
    fits: Callable[[Object], bool] = lambda obj: True,
) -> list[Object]:
    """The dependents of a parent, objects of `ref`, after adoption and release.

    An object belongs to the parent if the selector matches its labels and `fits` accepts it.
    """
    parent, selector = claimant.obj, claimant.selector
    mine: list[Object] = []
    for obj in controlled(namespace(parent), uid(parent)):
        if selector.matches(labels(obj)) and fits(obj):
            mine.append(obj)
        elif not deleting(parent):
            await _release(client, claimant, obj, ref)
    if deleting(parent):
        return mine
    orphans = controlled(namespace(parent), "")
    free = [obj for obj in orphans if not deleting(obj) and selector.matches(labels(obj)) and fits(obj)]
    return mine + await _adopt(client, claimant, free, ref)


async def claim_members(client: IClient, claimant: Parent, members: Members, informer: IInformer) -> Census:
    """`claim` for pods that are grouped by label set: the selector is evaluated once per distinct set."""
    parent, selector = claimant.obj, claimant.selector
    owned, within = members.of_owner(namespace(parent), uid(parent)), namespace(parent)
    adopted: list[Object] = []
    if not deleting(parent):
        for label_class in list(owned.classes.values()):
            if not selector.matches(label_class.labels):
                for obj in _current_objects(informer, label_class.members.values()):
                    await _release(client, claimant, obj, PODS)
        classes = [
            label_class
            for label_class in members.orphans(within).classes.values()
            if selector.matches(label_class.labels)
        ]
        orphans = [each for label_class in classes for each in label_class.members.values() if not each.deleting]
        adopted = await _adopt(client, claimant, _current_objects(informer, orphans), PODS)
    # Read again: the informer may already have adopted objects under the owner's uid.
    owned = members.of_owner(within, uid(parent))
    late = [members.describe(obj) for obj in adopted if uid(obj) not in owned.members]
    return Census((label_class for label_class in owned.classes.values() if selector.matches(label_class.labels)), late)


def _current_objects(informer: IInformer, members: Iterable[Member]) -> list[Object]:
    """The objects of these members that the informer still has."""
    current = ((each.uid, informer.get(each.namespace, each.name)) for each in members)
    return [obj for expected, obj in current if obj is not None and uid(obj) == expected]


async def _adopt(client: IClient, claimant: Parent, orphans: Iterable[Object], ref: ResourceRef) -> list[Object]:
    """Make the parent the controller of these objects. Returns those that it controls now."""
    parent = claimant.obj
    adopted: list[Object] = []
    checked = False
    for obj in orphans:
        if not checked:
            # The informer may not show yet that the parent is being deleted; objects adopted now would be deleted with
            # it.
            live = await client.get(claimant.ref, namespace(parent), name(parent))
            if uid(live) != uid(parent) or deleting(live):
                return []
            checked = True
        references = [*owners(obj), claimant.reference]
        held = _finalizers(obj)
        finalizers = [*held, claimant.finalizer] if claimant.finalizer and claimant.finalizer not in held else held
        changed = await _set_owners(client, ref, obj, references, finalizers)
        if changed is not None:
            adopted.append(changed)
    return adopted


async def _release(client: IClient, claimant: Parent, obj: Object, ref: ResourceRef) -> None:
    """Remove the owner references to the parent, and its finalizer, from `obj`."""
    remaining = [each for each in owners(obj) if each.get("uid") != uid(claimant.obj)]
    await _set_owners(client, ref, obj, remaining, [each for each in _finalizers(obj) if each != claimant.finalizer])


def _finalizers(obj: Object) -> list[str]:
    return list(obj["metadata"].get("finalizers") or ())


async def _set_owners(
    client: IClient, ref: ResourceRef, obj: Object, owners: list[Any], finalizers: list[str]
) -> Object | None:
    """Replace the owner references and finalizers of `obj`. Returns None if the object no longer exists."""
    metadata: dict[str, Any] = {
        "uid": uid(obj),
        "resourceVersion": obj["metadata"]["resourceVersion"],
        "ownerReferences": owners or None,
    }
    if finalizers != _finalizers(obj):
        metadata["finalizers"] = finalizers or None
    try:
        changed: Object = await client.patch(ref, namespace(obj), name(obj), {"metadata": metadata}, content_type=MERGE)
    except ApiError as error:
        if error.code == 404:
            return None
        raise
    return changed
