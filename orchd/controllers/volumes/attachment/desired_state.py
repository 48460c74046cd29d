"""Volumes to attach for the pods of a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.client.interfaces import IInformer
from orchd.controllers.volumes.attachment.attachable import Attachable, from_persistent_volume, from_pod_volume
from orchd.controllers.volumes.usage import claim_name, made_for, terminated
from orchd.dialect import Dialect
from orchd.kinds.fields import annotations_of, mapping, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object

#: Index of pods: the node of those that have a volume which may have to be attached.
BY_NODE: Final = "attachdetach/node"
#: Annotation of nodes whose volumes this controller attaches, instead of the node itself.
_MANAGED: Final = "volumes.{long}.io/controller-managed-attach-detach"
#: Annotation of nodes: volumes of pods that have ended stay attached.
_KEEP: Final = "volumes.{long}.io/keep-terminated-pod-volumes"
_FIELDS: Final = ("persistentVolumeClaim", "ephemeral", "iscsi", "fc", "rbd")


@dataclass(slots=True)
class DesiredVolume:
    """A volume and the pods of one node that want it."""

    volume: Attachable
    pods: list[Object] = field(default_factory=list)


def node_of(pod: Object) -> Iterable[str]:
    """The index function of `BY_NODE`."""
    node = spec(pod).get("nodeName")
    volumes = spec(pod).get("volumes") or ()
    attached = any(each.get(kind) is not None for each in volumes for kind in _FIELDS)
    return (str(node),) if node and attached else ()


def managed(node: Object, dialect: Dialect) -> bool:
    """True if this controller attaches the volumes of the node."""
    return dialect(_MANAGED) in annotations_of(node)


class DesiredVolumes:
    """`pods` has the index `BY_NODE`; `drivers` are the CSIDrivers."""

    def __init__(
        self, pods: IInformer, claims: IInformer, volumes: IInformer, drivers: IInformer, dialect: Dialect
    ) -> None:
        self._pods = pods
        self._claims = claims
        self._volumes = volumes
        self._drivers = drivers
        self._dialect = dialect

    def on(self, name: str, node: Object | None) -> dict[str, DesiredVolume]:
        """Desired volumes of a node by unique name. `node` is None for a deleted node, whose pods may still exist."""
        keep = node is not None and annotations_of(node).get(self._dialect(_KEEP)) == "true"
        entries: dict[str, DesiredVolume] = {}
        for pod in self._pods.by_index(BY_NODE, name):
            if terminated(pod) and not keep:
                continue
            for volume in spec(pod).get("volumes") or ():
                each = self._attachable(pod, volume)
                if each is not None:
                    entries.setdefault(each.unique_name, DesiredVolume(each)).pods.append(pod)
        return entries

    def _attachable(self, pod: Object, volume: Mapping[str, Any]) -> Attachable | None:
        """The volume to attach for a pod's volume; None for a volume that is not attachable or not bound yet."""
        called = claim_name(pod, volume)
        if not called:
            return from_pod_volume(volume, self._dialect)
        claim = self._claims.get(namespace(pod), called)
        if claim is None or status(claim).get("phase") != "Bound":
            return None
        if volume.get("ephemeral") is not None and not made_for(claim, pod):
            return None
        bound = self._volumes.get("", spec(claim).get("volumeName") or "")
        if bound is None or mapping(spec(bound), "claimRef").get("uid") != uid(claim):
            return None
        attachable = from_persistent_volume(bound, self._dialect)
        return attachable if attachable is not None and self._attaches(attachable.driver) else None

    def _attaches(self, driver: str) -> bool:
        """True if a driver requires attachment, which is the default."""
        csi_driver = self._drivers.get("", driver) if driver else None
        return csi_driver is None or spec(csi_driver).get("attachRequired") is not False
