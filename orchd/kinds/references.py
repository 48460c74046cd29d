"""References of a pod to objects in its namespace. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchd.kinds.jsonvalues import Object

#: Volume sources of a pod with a secret: source -> path to the secret's name.
_SECRET_VOLUMES = {
    "secret": ("secretName",),
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "storageos": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
}


def get_path(obj: Any, *path: str) -> Any:
    """The member at a path in nested objects, None if any part of the path is missing."""
    for key in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(key)
    return obj


def _container_references(container: Object) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        for kind, key in (("secret", "secretRef"), ("configmap", "configMapRef")):
            if name := get_path(source, key, "name"):
                yield kind, name
    for variable in container.get("env") or ():
        for kind, key in (("secret", "secretKeyRef"), ("configmap", "configMapKeyRef")):
            if name := get_path(variable, "valueFrom", key, "name"):
                yield kind, name


def _volume_references(volume: Object, pod_name: str) -> Iterator[tuple[str, str]]:
    for source, path in _SECRET_VOLUMES.items():
        if source in volume and (name := get_path(volume[source], *path)):
            yield "secret", name
    if name := get_path(volume, "configMap", "name"):
        yield "configmap", name
    if name := get_path(volume, "persistentVolumeClaim", "claimName"):
        yield "claim", name
    if "ephemeral" in volume:
        yield "claim", f"{pod_name}-{volume.get('name', '')}"
    for source in get_path(volume, "projected", "sources") or ():
        for kind, key in (("secret", "secret"), ("configmap", "configMap")):
            if name := get_path(source, key, "name"):
                yield kind, name


def pod_references(pod: Object) -> Iterator[tuple[str, str]]:
    """(kind, name) of all objects that a pod references in its namespace: secret, configmap, claim, serviceaccount."""
    spec = pod.get("spec") or {}
    if name := spec.get("serviceAccountName"):
        yield "serviceaccount", name
    for reference in spec.get("imagePullSecrets") or ():
        if name := reference.get("name"):
            yield "secret", name
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            yield from _container_references(container)
    for volume in spec.get("volumes") or ():
        # A pod that is being created may have no name yet.
        yield from _volume_references(volume, pod["metadata"].get("name", ""))
