"""Volumes that have to be attached to a node before a pod there can use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from orchd.controllers.volumes.migration import driver_handle
from orchd.dialect import Dialect
from orchd.kinds.fields import name, spec
from orchd.kinds.jsonvalues import Object

_CSI: Final = "{long}.io/csi/"
#: Volume sources that nodes attach themselves, once the node's status lists the volume as attached.
_BY_NODE: Final = {"iscsi": "{long}.io/iscsi/", "fc": "{long}.io/fc/", "rbd": "{long}.io/rbd/"}
_SHARED: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachable:
    """A volume that has to be attached. `unique_name` is its name in node statuses, `volume` its name in messages.
    `driver` and `handle` are empty for volumes that nodes attach themselves. An `exclusive` one is attached to one node
    at a time."""

    unique_name: str
    volume: str
    driver: str = ""
    handle: str = ""
    exclusive: bool = False


def from_persistent_volume(volume: Object, dialect: Dialect) -> Attachable | None:
    """The attachable volume of a PersistentVolume; None if its source is never attached. Does not check
    CSIDriver.attachRequired."""
    modes = spec(volume).get("accessModes") or ()
    exclusive = bool(modes) and _SHARED.isdisjoint(modes)
    driver, handle = driver_handle(volume, dialect)
    if not driver:
        return _by_node(spec(volume), name(volume), exclusive, dialect)
    unique = csi_prefix(dialect) + f"{driver}^{handle}"
    return Attachable(unique_name=unique, volume=name(volume), driver=driver, handle=handle, exclusive=exclusive)


def from_pod_volume(volume: Mapping[str, Any], dialect: Dialect) -> Attachable | None:
    """The attachable volume of an entry of a pod's `spec.volumes`; None if it is never attached. Never exclusive."""
    return _by_node(volume, str(volume["name"]), False, dialect)


def _by_node(sources: Mapping[str, Any], volume_name: str, exclusive: bool, dialect: Dialect) -> Attachable | None:
    for field, prefix in _BY_NODE.items():
        if sources.get(field) is not None:
            unique = dialect(prefix) + _target(field, sources[field])
            return Attachable(unique_name=unique, volume=volume_name, exclusive=exclusive)
    return None


def _target(field: str, source: Mapping[str, Any]) -> str:
    """The name that nodes use for the volume of a source."""
    if field == "iscsi":
        return f"{source.get('targetPortal', '')}:{source.get('iqn', '')}:{source.get('lun', 0)}"
    if field == "rbd":
        return f"{source.get('pool') or 'rbd'}:{source.get('image', '')}"
    if source.get("targetWWNs") and source.get("lun") is not None:
        return f"[{' '.join(source['targetWWNs'])}]:{source['lun']}"
    return f"[{' '.join(source.get('wwids') or ())}]"


def csi_prefix(dialect: Dialect) -> str:
    """Prefix of the unique names of CSI volumes."""
    return dialect(_CSI)


def is_attachable_name(unique_name: str, dialect: Dialect) -> bool:
    """True if the unique name that a node reports is one that this controller attaches and detaches."""
    return unique_name.startswith((csi_prefix(dialect), *(dialect(each) for each in _BY_NODE.values())))


def attachment_name(volume: Attachable, node: str) -> str:
    """The name of the VolumeAttachment of a driver's volume on a node; kubelets compute the same one."""
    return "csi-" + sha256(f"{volume.handle}{volume.driver}{node}".encode()).hexdigest()


def attachment(volume: Attachable, node: str, api_version: str) -> Object:
    """The VolumeAttachment that asks a driver to attach."""
    return {
        "apiVersion": api_version,
        "kind": "VolumeAttachment",
        "metadata": {"name": attachment_name(volume, node)},
        "spec": {"attacher": volume.driver, "nodeName": node, "source": {"persistentVolumeName": volume.volume}},
    }
