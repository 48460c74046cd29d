"""References of a pod to objects in its namespace. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchd.kinds import fields
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


#: Sources of volumes and what they refer to, as errors name it; "" for what is no object of the API.
_VOLUME_REFERENCES: Final = {
    **dict.fromkeys(
        (
            "awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir", "fc", "flexVolume",
            "flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image", "iscsi", "nfs", "photonPersistentDisk",
            "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
        ),
        "",
    ),
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}  # fmt: skip
_PROJECTED_REFERENCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
    "downwardAPI": "",
}


def api_reference(pod: Object) -> str:
    """The first reference of a pod to an object of the API, also to those of its volumes that have no name, as errors
    name it; "" without one. Raises ValueError for a volume of unknown source."""
    spec = fields.spec(pod)
    kinds = {kind for kind, _ in pod_references(pod)}
    for kind, words in (("serviceaccount", "serviceaccounts"), ("secret", "secrets"), ("configmap", "configmaps")):
        if kind in kinds:
            return words
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next(filter(None, map(_volume_reference, spec.get("volumes") or ())), "")


def _volume_reference(volume: Object) -> str:
    name = volume.get("name", "")
    if volume.get("projected") is None:
        return _by_source(volume, _VOLUME_REFERENCES, f'unknown volume type for volume  "{name}"')
    unknown = f'unknown source for projected volume "{name}"'
    sources = volume["projected"].get("sources") or ()
    return next(filter(None, (_by_source(each, _PROJECTED_REFERENCES, unknown) for each in sources)), "")


def _by_source(value: Object, members: Mapping[str, str], unknown: str) -> str:
    for source, words in members.items():
        if value.get(source) is not None:
            return words
    raise ValueError(unknown)


def claimed_devices(pod: Object) -> Iterator[str]:
    """Names of the resource claims of a pod that exist: named ones, those made of its templates, and that of its
    extended resources."""
    status = fields.status(pod)
    claim_names = {
        each.get("name"): each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or ()
    }
    for claim in fields.spec(pod).get("resourceClaims") or ():
        if name := claim.get("resourceClaimName") or (
            claim.get("resourceClaimTemplateName") and claim_names.get(claim.get("name"))
        ):
            yield name
    if name := get_path(status, "extendedResourceClaimStatus", "resourceClaimName"):
        yield name


def pod_references(pod: Object) -> Iterator[tuple[str, str]]:
    """(kind, name) of all objects that a pod references in its namespace: secret, configmap, claim, serviceaccount."""
    spec = fields.spec(pod)
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
