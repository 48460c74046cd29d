"""Storage objects for the volume plugins: claims, volumes, classes, CSI drivers of nodes; and the claims of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import class_of
from orchd.scheduler.interfaces import IHandle
from orchd.scheduler.pods import Pod

CLAIMS: Final = ResourceRef("", "v1", "persistentvolumeclaims")
VOLUMES: Final = ResourceRef("", "v1", "persistentvolumes")
STORAGE_GROUP: Final = "storage.{abbr}.io"


#: The capacities of drivers, by release; the group is a template of the dialect.
CAPACITIES: Final = (
    ("", ResourceRef("storage.{abbr}.io", "v1beta1", "csistoragecapacities")),
    ("1.24", ResourceRef("storage.{abbr}.io", "v1", "csistoragecapacities")),
)


class StorageError(Exception):
    """A claim, volume or class that a pod needs is missing or belongs to another pod; the text is the reference's."""


class Storage:
    """Informers of storage objects. `epoch` increases whenever an object of the `watched` resources changes."""

    def __init__(self, handle: IHandle, *watched: str) -> None:
        self.dialect: Dialect = handle.dialect
        self.feature = handle.feature
        group = handle.dialect(STORAGE_GROUP)
        references = {
            "claims": CLAIMS,
            "volumes": VOLUMES,
            "classes": ResourceRef(group, "v1", "storageclasses"),
            "csinodes": ResourceRef(group, "v1", "csinodes"),
            "csidrivers": ResourceRef(group, "v1", "csidrivers"),
            "capacities": replace(handle.release.choose(CAPACITIES), group=group),
        }
        self._informers: dict[str, IInformer] = {}
        self.epoch = 0
        for name in watched:
            informer = self._informers[name] = handle.informer(references[name])
            informer.add_listener(self._changed)

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        self.epoch += 1

    def informer(self, name: str) -> IInformer:
        return self._informers[name]

    def claim(self, namespace: str, name: str) -> Object | None:
        return self._informers["claims"].get(namespace, name)

    def usable_claim(self, pod: Pod, name: str, ephemeral: bool) -> Object:
        """A claim of a pending pod. Raises StorageError."""
        if not name:
            raise StorageError("PersistentVolumeClaim had no name")
        claim = self.claim(pod.namespace, name)
        if claim is None:
            raise StorageError(f"looking up PVC {pod.namespace}/{name}: {missing('persistentvolumeclaim', name)}")
        if ephemeral:
            check_owner(pod, claim)
        return claim

    def claims_of(self, pod: Pod, *, new: bool) -> Iterator[tuple[Object, Object | None]]:
        """The claims of a pod, each with the volume that it is bound to, if that exists. Raises StorageError for a
        `new` pod with missing or invalid claims; of another pod these are left out."""
        for name, ephemeral in claim_names(pod):
            claim = self.usable_claim(pod, name, ephemeral) if new else self.claim(pod.namespace, name)
            if claim is not None:
                volume_name = claim["spec"].get("volumeName")
                yield claim, self.volume(volume_name) if volume_name else None

    def volume(self, name: str) -> Object | None:
        return self._informers["volumes"].get("", name)

    def storage_class(self, name: str) -> Object | None:
        return self._informers["classes"].get("", name)

    def csi_node(self, name: str) -> Object | None:
        return self._informers["csinodes"].get("", name)

    def class_of_claim(self, claim: Object) -> Object | None:
        """The StorageClass object of a claim; None if the claim names no class or the class does not exist."""
        name = class_of(claim, self.dialect)
        return self.storage_class(name) if name else None


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Name of each claim of a pod, in the order of its volumes, and whether it is made for an ephemeral volume."""
    for volume in pod.template.volumes:
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            yield claim.get("claimName", ""), False
        elif volume.get("ephemeral") is not None:
            yield f"{pod.name}-{volume['name']}", True


def check_owner(pod: Pod, claim: Object) -> None:
    """The claim of an ephemeral volume must be the pod's own. Raises StorageError."""
    metadata = claim["metadata"]
    if not any(each.get("controller") and each.get("uid") == pod.uid for each in fields.owners(claim)):
        name = f"{metadata.get('namespace', '')}/{metadata['name']}"
        raise StorageError(f"PVC {name} was not created for pod {pod.key} (pod is not owner)")


def missing(kind: str, name: str) -> str:
    """The reference's message for a missing object."""
    return f'{kind} "{name}" not found'
