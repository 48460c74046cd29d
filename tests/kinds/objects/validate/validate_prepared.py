"""What a server does to an object between defaulting and validation, as far as the recorded cases depend on it."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchd.kinds.catalog import Resource
from orchd.kinds.objects import joblabels
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import SPECIFICATION

Object = dict[str, Any]

UID = "7d3f7f52-0000-4000-8000-000000000000"
#: Fields that only the status endpoint writes.
_HAVE_STATUS = frozenset(
    (
        "Pod",
        "Deployment",
        "ReplicaSet",
        "DaemonSet",
        "StatefulSet",
        "Service",
        "Namespace",
        "Node",
        "Job",
        "Ingress",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "ResourceQuota",
        "CertificateSigningRequest",
    )
)


def create(obj: Object, resource: Resource, namespace: str, settings: ObjectSettings) -> Object:
    """Set name and namespace from the path, fields of the job and service strategies, and the service account of
    pods."""
    metadata = dict(obj.get("metadata") or {})
    if resource.namespaced and not metadata.get("namespace") and resource.stored:
        metadata["namespace"] = namespace
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + "<rand>"
    metadata.setdefault("uid", UID)
    out = {**obj, "metadata": metadata} if resource.stored else obj
    if resource.kind == "Job":
        out = _job(out, settings)
    if resource.kind == "Pod" and not (out.get("spec") or {}).get("serviceAccountName"):
        out = {**out, "spec": {**(out.get("spec") or {}), "serviceAccountName": "default", "serviceAccount": "default"}}
    if resource.kind == "Service":
        out = _service(out)
    if resource.kind == "EndpointSlice" and resource.version == "v1" and settings.release == SPECIFICATION:
        listed = [
            {k: v for k, v in e.items() if k not in ("deprecatedTopology", "hints")} for e in out.get("endpoints") or ()
        ]
        out = {**out, "endpoints": listed}
    if resource.kind == "PersistentVolumeClaim":
        spec = dict(out.get("spec") or {})
        source = spec.get("dataSource") or {}
        if source.get("kind") not in ("PersistentVolumeClaim", "VolumeSnapshot"):
            spec.pop("dataSource", None)
        out = {**out, "spec": spec}
    if resource.kind == "CustomResourceDefinition":
        stored = [v["name"] for v in (out.get("spec") or {}).get("versions") or () if v.get("storage")]
        out = {**out, "status": {"storedVersions": stored[:1]} if stored else {}}
    return out


def _job(job: Object, settings: ObjectSettings) -> Object:
    spec = dict(job.get("spec") or {})
    if spec.get("manualSelector"):
        return job
    uid, name = job["metadata"]["uid"], job["metadata"].get("name", "")
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**joblabels.generated(uid, name, settings), **(metadata.get("labels") or {})}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), joblabels.selecting(settings): uid}
    spec["template"] = {**template, "metadata": metadata}
    spec["selector"] = selector
    return {**job, "spec": spec}


def _service(service: Object) -> Object:
    spec = dict(service.get("spec") or {})
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    return {**service, "spec": spec}


def update(obj: Object, old: Object, resource: Resource, sub: str) -> Object:
    """Take from the client only the part that the endpoint writes."""
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
    if resource.kind == "CustomResourceDefinition" and not sub:
        stored = list(old["status"]["storedVersions"])
        stored += [v["name"] for v in out["spec"]["versions"] if v.get("storage") and v["name"] not in stored]
        out["status"] = {**old["status"], "storedVersions": stored}
    if resource.kind == "Service" and not sub:
        out = _service(_carry_addresses(out, old))
    return out


def _carry_addresses(service: Object, old: Object) -> Object:
    """Keep addresses that the client omitted; drop those of a service that becomes external."""
    spec, members = dict(service.get("spec") or {}), ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if spec.get("type") == "ExternalName":
        for member in members:
            if spec.get(member) == old["spec"].get(member):
                spec.pop(member, None)
    elif not spec.get("clusterIP"):
        for member in members[:2]:
            if member in old["spec"]:
                spec[member] = old["spec"][member]
    return {**service, "spec": spec}


def allocate(obj: Object, resource: Resource) -> Object:
    """Give a stored service its address, and a stored definition its names."""
    if resource.kind == "CustomResourceDefinition":
        conditions = [{"type": "Established", "status": "True"}]
        return {**obj, "status": {**obj["status"], "conditions": conditions}}
    if resource.kind != "Service":
        return obj
    spec = dict(obj["spec"])
    if spec.get("type") != "ExternalName" and not spec.get("clusterIP"):
        spec.update(
            clusterIP="10.0.0.230", clusterIPs=["10.0.0.230"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack"
        )
    if spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        spec.setdefault("healthCheckNodePort", 30500)
    return {**obj, "spec": spec}


@cache
def signing_request() -> str:
    """A signing request for CN=alice, O=dev, as base64 of PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, "alice"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "dev")]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(Encoding.PEM)).decode()
