"""Storage resources, and the claims that a pod uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds.fields import deleting, mapping, name, namespace, owner, spec, status, uid
from orchd.kinds.jsonvalues import Object

VOLUMES: Final = ResourceRef("", "v1", "persistentvolumes")
#: Index of pods by the claims that they use, "namespace/name": see `index_by_claim`.
BY_CLAIM: Final = "controllers/claim"

VOLUME_KIND: Final = ("v1", "PersistentVolume")
CLAIM_KIND: Final = ("v1", "PersistentVolumeClaim")
POD_KIND: Final = ("v1", "Pod")


def ephemeral_claim_name(pod: Object, volume: Mapping[str, Any]) -> str:
    """The name of the claim that stands behind an ephemeral volume of a pod."""
    return f"{name(pod)}-{volume['name']}"


def claim_name(pod: Object, volume: Mapping[str, Any]) -> str:
    """The name of the claim that a volume of a pod uses; "" for a volume without one."""
    if volume.get("persistentVolumeClaim") is not None:
        return str(volume["persistentVolumeClaim"].get("claimName") or "")
    return ephemeral_claim_name(pod, volume) if volume.get("ephemeral") is not None else ""


def made_for(claim: Object, pod: Object) -> bool:
    """True if a pod controls the claim, as for ephemeral volumes."""
    reference = owner(claim)
    return namespace(claim) == namespace(pod) and reference is not None and reference.get("uid") == uid(pod)


def not_made_for(claim: Object, pod: Object) -> str:
    """The message about a claim that has the name of an ephemeral volume's claim but another owner."""
    return (
        f"PVC {namespace(claim)}/{name(claim)} was not created for pod {namespace(pod)}/{name(pod)} (pod is not owner)"
    )


def claim_keys(pod: Object) -> Iterable[str]:
    """Keys ("namespace/name") of the claims that a pod names."""
    names = (claim_name(pod, volume) for volume in spec(pod).get("volumes") or ())
    return tuple(f"{namespace(pod)}/{called}" for called in names if called)


def index_by_claim(pods: IInformer) -> None:
    """Index pods by the claims that they use; every controller of claims shares the index."""
    try:
        pods.holds(BY_CLAIM, "")
    except KeyError:
        pods.add_index(BY_CLAIM, claim_keys)


def terminated(pod: Object) -> bool:
    """True if the pod has finished, or is being deleted and no container runs."""
    if status(pod).get("phase") in ("Succeeded", "Failed"):
        return True
    containers = status(pod).get("containerStatuses") or ()
    return deleting(pod) and all(
        mapping(each, "state").get("terminated") or mapping(each, "state").get("waiting") for each in containers
    )
