"""The decisions of VolumeBinding for one node: whether bound claims can be used there, and how the others are bound.

This is the plain form; `claim_columns` is the columnar form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds.fields import mapping, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.node_selectors import Terms, matches_terms
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.volumes.claims import (
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    annotation,
    class_of,
    is_fully_bound,
    requested_storage,
)
from orchd.kinds.objects.volumes.matching import find_volume
from orchd.kinds.objects.volumes.topology import Labels, affinity_terms, allowed_terms, selector_terms
from orchd.scheduler.interfaces import IHandle
from orchd.scheduler.plugins.assumed import AssumedObjects
from orchd.scheduler.plugins.csimigration import is_on, migrated_terms, of_volume
from orchd.scheduler.plugins.storage import Storage, StorageError, check_owner, claim_names, missing
from orchd.scheduler.pods import Pod

BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(frozen=True, slots=True)
class Words:
    """Messages of a release: why a node is refused whose labels do not match a bound volume, and what binding says
    when its time is over."""

    node_conflict: str
    timed_out: str


WORDS: Final = (
    ("", Words("node(s) had volume node affinity conflict", "timed out waiting for the condition")),
    ("1.35", Words("node(s) didn't match PersistentVolume's node affinity", "context deadline exceeded")),
)
#: Indexes of volumes: unclaimed ones by class, the others by namespace and name of the claim.
_FREE: Final = "scheduler: free, by class"
_CLAIMED: Final = "scheduler: by claim"


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a pod: `bound` ones, and those `to_bind` once a node is chosen, in the order of the pod's
    volumes."""

    bound: tuple[Object, ...]
    to_bind: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decision for one node: `bindings` of claims to existing volumes, claims for which volumes are provisioned,
    and the `reasons` to refuse the node."""

    bindings: tuple[tuple[Object, Object], ...] = ()
    provisions: tuple[Object, ...] = ()
    reasons: tuple[str, ...] = ()


class VolumeBinder:
    """Decides with `volumes` and `claims` as they will be once the bindings in flight have been written."""

    def __init__(self, handle: IHandle) -> None:
        self.dialect = handle.dialect
        self.words: Words = handle.release.choose(WORDS)
        self.storage = Storage(handle, "claims", "volumes", "classes", "csinodes", "csidrivers", "capacities")
        informer = self.storage.informer("volumes")
        informer.add_index(_FREE, self._free_in)
        informer.add_index(_CLAIMED, _claims_of_volume)
        self.volumes = AssumedObjects(informer)
        self.claims = AssumedObjects(self.storage.informer("claims"))

    def _free_in(self, volume: Object) -> Iterable[str]:
        return () if volume["spec"].get("claimRef") else (class_of(volume, self.dialect),)

    # -- claims of a pod

    def check_claims(self, pod: Pod) -> bool:
        """True if the pod has claims. Raises StorageError for one that is missing, lost or being deleted."""
        has_claims = False
        for name, ephemeral in claim_names(pod):
            has_claims = True
            claim = self.claims.present(pod.namespace, name)
            if claim is None:
                if ephemeral:
                    raise StorageError(
                        f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                    )
                raise StorageError(missing("persistentvolumeclaim", name))
            if status(claim).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName", "")
                raise StorageError(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"')
            if claim["metadata"].get("deletionTimestamp"):
                raise StorageError(f'persistentvolumeclaim "{name}" is being deleted')
            if ephemeral:
                check_owner(pod, claim)
        return has_claims

    def claims_of(self, pod: Pod) -> Claims | None:
        """The claims of a pod; None if an unbound claim does not wait for a consumer. Raises StorageError."""
        bound, to_bind = [], []
        for name, ephemeral in claim_names(pod):
            claim = self.claims.get(pod.namespace, name)
            if claim is None:
                raise StorageError(
                    f'error getting PVC "{pod.namespace}/{name}": could not find v1.PersistentVolumeClaim'
                )
            if ephemeral:
                check_owner(pod, claim)
            if is_fully_bound(claim, self.dialect):
                bound.append(claim)
            elif claim["spec"].get("volumeName") or not self._waits(claim):
                return None
            else:
                to_bind.append(claim)
        return Claims(tuple(bound), tuple(to_bind))

    def _waits(self, claim: Object) -> bool:
        """True if the claim is bound when a pod that uses it is scheduled (WaitForFirstConsumer)."""
        storage_class = self.storage.class_of_claim(claim)
        return storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER

    # -- one node

    def decide(self, claims: Claims, node_name: str, labels: Labels) -> Decisions:
        """The decision for a node and a pod's claims. Raises StorageError if no node can be evaluated."""
        reasons = [reason] if (reason := self._bound_on(claims.bound, node_name, labels)) else []
        bindings: list[tuple[Object, Object]] = []
        if any(self.selected_node(each) not in (None, node_name) for each in claims.to_bind):
            return Decisions(reasons=self._sorted(*reasons, BIND_CONFLICT))
        provisions = [each for each in claims.to_bind if self.selected_node(each) is not None]
        excluded: set[str] = set()
        for claim in by_size(each for each in claims.to_bind if self.selected_node(each) is None):
            volume = find_volume(
                claim, self.candidates(claim), self.dialect, node=labels, excluded=excluded, delayed=True
            )
            if volume is None:
                provisions.append(claim)
            else:
                excluded.add(volume["metadata"]["name"])
                bindings.append((claim, volume))
        why = next(filter(None, (self._provision_on(each, labels) for each in provisions)), "")
        return Decisions(tuple(bindings), () if why else tuple(provisions), self._sorted(*reasons, why))

    def _sorted(self, *reasons: str) -> tuple[str, ...]:
        """Distinct non-empty reasons in the reference's order."""
        order = (self.words.node_conflict, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING)
        return tuple(reason for reason in order if reason in reasons)

    def _bound_on(self, bound: Iterable[Object], node_name: str, labels: Labels) -> str:
        """Why the first unusable bound claim cannot be used on a node, "" if all can be used."""
        for claim in bound:
            volume = self.volumes.get("", claim["spec"]["volumeName"])
            if volume is None:
                return VOLUME_MISSING
            terms = self.terms_on(volume, self.storage.csi_node(node_name))
            if terms is not None and not matches_terms(terms, labels):
                return self.words.node_conflict
        return ""

    def terms_on(self, volume: Object, csi_node: Object | None) -> Terms | None:
        """The node affinity of a volume on a node, translated for the CSI driver if that serves the in-tree volume
        there."""
        migration = of_volume(volume)
        if migration is None or not is_on(migration, csi_node, self.storage):
            return affinity_terms(volume)
        return migrated_terms(volume, migration, self.dialect)

    def candidates(self, claim: Object) -> list[Object]:
        """Volumes that may be bound to a claim: those reserved for it, then the unclaimed ones of its class, sorted by
        name."""
        informer, metadata = self.storage.informer("volumes"), claim["metadata"]
        own = informer.by_index(_CLAIMED, f"{metadata.get('namespace', '')}/{metadata['name']}")
        free = informer.by_index(_FREE, class_of(claim, self.dialect))
        return self.volumes.latest((*own, *sorted(free, key=lambda each: str(each["metadata"]["name"]))))

    def selected_node(self, claim: Object) -> str | None:
        """Name of the node for which a volume is being provisioned for a claim, or None."""
        return annotation(claim, self.dialect(SELECTED_NODE))

    def _provision_on(self, claim: Object, labels: Labels) -> str:
        """Why no volume for a claim can be provisioned for a node with these labels, "" if one can."""
        storage_class = self.provisioning_class(claim)
        if storage_class is None:
            return BIND_CONFLICT
        terms = allowed_terms(storage_class)
        if terms is not None and not matches_terms(terms, labels):
            return BIND_CONFLICT
        pools = self.pools(claim, storage_class)
        if pools is None or any(_accessible(each.get("nodeTopology"), labels) for each in pools):
            return ""
        return NOT_ENOUGH_SPACE

    # -- provisioning

    def provisioning_class(self, claim: Object) -> Object | None:
        """The class of a claim; None for a class without a provisioner. Raises StorageError if the claim names no class
        or the class does not exist."""
        metadata, name = claim["metadata"], class_of(claim, self.dialect)
        if not name:
            raise StorageError(f'no class for claim "{metadata.get("namespace", "")}/{metadata["name"]}"')
        storage_class = self.storage.storage_class(name)
        if storage_class is None:
            raise StorageError(f'failed to find storage class "{name}"')
        return None if storage_class.get("provisioner", "") in ("", self.dialect(NO_PROVISIONER)) else storage_class

    def pools(self, claim: Object, storage_class: Object) -> Sequence[Object] | None:
        """The CSIStorageCapacity objects that have room for a claim; None if its driver does not publish capacity."""
        if "storage" not in mapping(claim["spec"], "resources", "requests"):
            return None
        if not self.storage.feature("CSIStorageCapacity"):
            return None
        driver = self.storage.informer("csidrivers").get("", storage_class["provisioner"])
        if driver is None or not spec(driver).get("storageCapacity"):
            return None
        size, name = requested_storage(claim), storage_class["metadata"]["name"]
        listed = self.storage.informer("capacities").list()
        return [each for each in listed if each.get("storageClassName") == name and _has_room(each, size)]


def _claims_of_volume(volume: Object) -> Iterable[str]:
    reference = volume["spec"].get("claimRef")
    return (f"{reference.get('namespace', '')}/{reference.get('name', '')}",) if reference else ()


def _has_room(pool: Object, size: Quantity) -> bool:
    limit = pool.get("maximumVolumeSize")
    if limit is None:
        limit = pool.get("capacity")
    return limit is not None and Quantity.parse(limit).value >= size.value


def _accessible(selector: Mapping[str, Any] | None, labels: Labels) -> bool:
    terms = selector_terms(selector)
    return terms is None or matches_terms(terms, labels)


def by_size(claims: Iterable[Object]) -> list[Object]:
    """Claims in ascending order of size, so that the smallest gets the smallest volume."""
    return sorted(claims, key=requested_storage)
