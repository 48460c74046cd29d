"""Protection of claims and volumes: a finalizer that keeps them until nothing uses them."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.client.paging import list_pages
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.usage import BY_CLAIM, VOLUMES, claim_keys, claim_name, index_by_claim, made_for
from orchd.controllers.write_errors import ignore_missing
from orchd.kinds.fields import deleting, mapping, name, namespace, spec, status, uid, with_metadata
from orchd.kinds.jsonvalues import Object

#: Page size of lists of pods.
_PAGE = 100

ATTRIBUTES_CLASSES = ResourceRef("storage.{abbr}.io", "v1", "volumeattributesclasses")


class ProtectionController(Controller):
    """Adds the finalizer to objects of `ref` that lack it, and removes it from deleted ones that are not in use."""

    ref: ResourceRef
    finalizer: str

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._finalizer = env.dialect(self.finalizer)
        self._objects = self.follow(self.ref, self._changed, primary=True)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None and self._has_work(new):
            self.queue.add(key_of(new))

    def _has_work(self, obj: Object) -> bool:
        """True unless the object has its finalizer and is not deleted, or is deleted and has none."""
        return deleting(obj) == self._protected(obj)

    def _protected(self, obj: Object) -> bool:
        return self._finalizer in (obj["metadata"].get("finalizers") or ())

    async def in_use(self, obj: Object) -> bool:
        """True if a deleted object that has the finalizer is still in use."""
        raise NotImplementedError

    async def reconcile(self, key: Key) -> float | None:
        obj = self._objects.get(*key)
        if obj is None or not self._has_work(obj) or (deleting(obj) and await self.in_use(obj)):
            return None
        finalizers = obj["metadata"].get("finalizers") or []
        if deleting(obj):
            remaining = [each for each in finalizers if each != self._finalizer]
        else:
            remaining = [*finalizers, self._finalizer]
        changed = with_metadata(obj, finalizers=remaining)
        with ignore_missing():
            await self.client.update(self.ref, *key, changed, need_response=False)
        return None


class VolumeProtection(ProtectionController):
    """A volume is in use while it is bound to a claim."""

    name = "pv-protection"
    account = "pv-protection-controller"
    ref = VOLUMES
    finalizer = "{long}.io/pv-protection"

    async def in_use(self, obj: Object) -> bool:
        return status(obj).get("phase") == "Bound"


class ClaimProtection(ProtectionController):
    """A claim is in use while a pod that has a node refers to it."""

    name = "pvc-protection"
    account = "pvc-protection-controller"
    ref = CLAIMS
    finalizer = "{long}.io/pvc-protection"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._pods = self.follow(PODS, self._pod_changed)
        index_by_claim(self._pods)
        #: Number of lists of pods, and that of the lists before a claim was seen to be deleted, by its key.
        self._lists = 0
        self._deleted: dict[Key, int] = {}
        #: The last list that names no user of a claim: its namespace, its number, and the claims that pods name.
        self._listed: tuple[str, int, frozenset[str]] = "", 0, frozenset()

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._deleted.pop(key_of(old), None)
        elif deleting(new) and (old is None or uid(old) != uid(new) or not deleting(old)):
            self._deleted[key_of(new)] = self._lists
        super()._changed(event, old, new)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Claims of pods that have gone are reconciled, one by one: a pod may name thousands."""
        if old is not None and (new is None or uid(old) != uid(new)):
            self._add_claims(old)
        if new is not None and shut_down(new):
            self._add_claims(new)

    def _add_claims(self, pod: Object) -> None:
        for key in claim_keys(pod):
            within, _, called = key.partition("/")
            self.queue.add((within, called))

    async def in_use(self, obj: Object) -> bool:
        """True if a user exists in the informer, or on the server, since the informer may lag."""
        for pod in self._pods.by_index(BY_CLAIM, f"{namespace(obj)}/{name(obj)}"):
            if uses(pod, obj):
                return True
        within, number, named = self._listed
        if within == namespace(obj) and self._deleted.get(key_of(obj), number) < number and name(obj) not in named:
            # Thousands of claims may be deleted together. Pods that come later do not start with them.
            return False
        self._lists = number = self._lists + 1
        names: set[str] = set()
        async for page in list_pages(self.client, PODS, namespace(obj), limit=_PAGE):
            if any(uses(pod, obj) for pod in page["items"]):
                return True
            names.update(key.partition("/")[2] for pod in page["items"] for key in claim_keys(pod))
        self._listed = namespace(obj), number, frozenset(names)
        return False


class AttributesClassProtection(ProtectionController):
    """A class of volume attributes is in use while a claim or a volume names it."""

    name = "volumeattributesclass-protection-controller"
    account = "volumeattributesclass-protection-controller"
    finalizer = "{long}.io/vac-protection"

    def __init__(self, env: Environment) -> None:
        self.ref = ResourceRef(env.dialect(ATTRIBUTES_CLASSES.group), "v1", ATTRIBUTES_CLASSES.plural)
        super().__init__(env)
        self._users = (self.follow(CLAIMS, self._user_changed), self.follow(VOLUMES, self._user_changed))

    def _user_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Queue a class that an object no longer names: it may have been the last user."""
        for called in _attributes_classes(old) - _attributes_classes(new):
            held = self._objects.get("", called)
            if held is not None and self._has_work(held):
                self.queue.add(("", called))

    async def in_use(self, obj: Object) -> bool:
        return any(name(obj) in _attributes_classes(user) for users in self._users for user in users.list())


def _attributes_classes(user: Object | None) -> frozenset[str]:
    """The classes that a claim or volume names."""
    if user is None:
        return frozenset()
    state = status(user)
    named = (
        spec(user).get("volumeAttributesClassName"),
        state.get("currentVolumeAttributesClassName"),
        mapping(state, "modifyVolumeStatus").get("targetVolumeAttributesClassName"),
    )
    return frozenset(each for each in named if each)


def shut_down(pod: Object) -> bool:
    """True if the pod has terminated on its node or was force-deleted."""
    return deleting(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0


def uses(pod: Object, claim: Object) -> bool:
    """True if a scheduled pod uses the claim. Pods without a node do not count: no node starts a pod whose claim is
    being deleted."""
    if not spec(pod).get("nodeName"):
        return False
    for volume in spec(pod).get("volumes") or ():
        if claim_name(pod, volume) != name(claim):
            continue
        if volume.get("ephemeral") is None or (not shut_down(pod) and made_for(claim, pod)):
            return True
    return False
