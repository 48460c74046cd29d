"""What a server does to an object between defaults and validation, as far as recorded cases depend on it."""

from __future__ import annotations

from typing import Any

from orchd.kinds.catalog import Resource

Object = dict[str, Any]

UID = "7d3f7f52-0000-4000-8000-000000000000"
#: Members that the status endpoint alone writes.
_HAVE_STATUS = frozenset((
    "Pod", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Service", "Namespace", "Node", "Job", "Ingress",
    "PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget", "ResourceQuota", "CertificateSigningRequest",
))


def create(obj: Object, resource: Resource, namespace: str) -> Object:
    """Names and namespaces that the path gives, and what job and service strategies fill in."""
    metadata = dict(obj.get("metadata") or {})
    if resource.namespaced and not metadata.get("namespace") and resource.stored:
        metadata["namespace"] = namespace
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + "<rand>"
    metadata.setdefault("uid", UID)
    out = {**obj, "metadata": metadata} if resource.stored else obj
    if resource.kind == "Job":
        out = _job(out)
    if resource.kind == "Service":
        out = _service(out)
    if resource.kind == "CustomResourceDefinition":
        stored = [v["name"] for v in (out.get("spec") or {}).get("versions") or () if v.get("storage")]
        out = {**out, "status": {"storedVersions": stored[:1]} if stored else {}}
    return out


def _job(job: Object) -> Object:
    spec = dict(job.get("spec") or {})
    if spec.get("manualSelector"):
        return job
    uid, name = job["metadata"]["uid"], job["metadata"].get("name", "")
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {"controller-uid": uid, "job-name": name, **(metadata.get("labels") or {})}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), "controller-uid": uid}
    spec["template"] = {**template, "metadata": metadata}
    spec["selector"] = selector
    return {**job, "spec": spec}


def _service(service: Object) -> Object:
    spec = dict(service.get("spec") or {})
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    return {**service, "spec": spec}


def update(obj: Object, old: Object, resource: Resource, sub: str) -> Object:
    """Only the part that the endpoint writes is the client's."""
    out = dict(obj)
    if sub == "ephemeralcontainers":
        spec = {**old["spec"], "ephemeralContainers": (obj.get("spec") or {}).get("ephemeralContainers") or []}
        return {**old, "metadata": out.get("metadata") or {}, "spec": spec}
    if sub in ("status", "approval"):
        for member in old:
            if member not in ("status", "metadata"):
                out[member] = old[member]
    elif sub == "" and resource.kind in _HAVE_STATUS and resource.kind != "Node":
        out.pop("status", None)
        if "status" in old:
            out["status"] = old["status"]
    if resource.kind == "Service" and not sub:
        out = _service(out)
    return out
