"""Pods of a stateful set by ordinal: their names, labels and volumes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchd.controllers.objects import small_number
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.fields import name, namespace, owner_reference, spec
from orchd.kinds.jsonvalues import Object

REVISION_LABEL = "controller-revision-hash"


def pod_name_label(dialect: Dialect) -> str:
    """The label that holds a pod's own name."""
    return dialect("statefulset.{long}.io/pod-name")


def index_label(dialect: Dialect) -> str:
    """The label that holds a pod's number, from release 1.28 on."""
    return dialect("apps.{long}.io/pod-index")


def ordinals(parent: Object) -> range:
    """The numbers of the pods that a set should have."""
    start = int((spec(parent).get("ordinals") or {}).get("start") or 0)
    return range(start, start + int(spec(parent).get("replicas", 1)))


def ordinal(parent: Object, pod: Object) -> int | None:
    """The pod's number; None for a pod with another name."""
    front, _, back = name(pod).rpartition("-")
    return small_number(back) if front == name(parent) else None


def claims(parent: Object, number: int) -> Iterator[Object]:
    """The volume claims of one pod, of which there may be thousands: each is made when it is asked for."""
    tags = fields.mapping(spec(parent), "selector", "matchLabels")
    for template in spec(parent).get("volumeClaimTemplates") or ():
        metadata = {k: v for k, v in template["metadata"].items() if k in ("labels", "annotations")}
        metadata.update(name=_claim(parent, template, number), namespace=namespace(parent))
        metadata["labels"] = {**(metadata.get("labels") or {}), **tags}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec(template)}


def _claim(parent: Object, template: Object, number: int) -> str:
    return f"{template['metadata']['name']}-{name(parent)}-{number}"


def pod(parent: Object, template: dict[str, Any], revision: str, number: int, tags: dict[str, str]) -> Object:
    """The pod of a number, from a template of the set that has the name `revision`, with the labels `tags`."""
    called = f"{name(parent)}-{number}"
    template_metadata = fields.metadata(template)
    metadata: dict[str, Any] = {
        "name": called,
        "generateName": f"{name(parent)}-",
        "namespace": namespace(parent),
        "labels": {**(template_metadata.get("labels") or {}), REVISION_LABEL: revision, **tags},
        "ownerReferences": [owner_reference(parent, "apps/v1", "StatefulSet")],
    }
    for key in ("annotations", "finalizers"):
        if template_metadata.get(key):
            metadata[key] = template_metadata[key]
    within = {**spec(template), "hostname": called}
    if spec(parent).get("serviceName"):
        within["subdomain"] = spec(parent)["serviceName"]
    own = [
        {
            "name": t["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": _claim(parent, t, number), "readOnly": False},
        }
        for t in spec(parent).get("volumeClaimTemplates") or ()
    ]
    if own:
        names = {v["name"] for v in own}
        within["volumes"] = [*own, *(v for v in within.get("volumes") or () if v.get("name") not in names)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": within}
