"""Cells of volumes, claims and storage drivers."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.objects.scalars import canonical_quantity
from orchd.kinds.objects.tabulate.text import EMPTY, NONE, UNSET, Cells, Json, Printing, access_modes, age_of


def _class(o: Json, x: Printing) -> str:
    """The storage class; the former annotation takes precedence over the member."""
    annotations = fields.annotations_of(o)
    old = annotations.get(x.dialect("volume.beta.{long}.io/storage-class"))
    return str(fields.spec(o).get("storageClassName") or "") if old is None else str(old)


def _phase(o: Json) -> str:
    if o["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(fields.status(o).get("phase") or "")


def _amount(capacity: Json | None) -> str:
    return canonical_quantity((capacity or EMPTY).get("storage") or 0)


def volume(o: Json, x: Printing) -> Cells:
    spec, claim = fields.spec(o), fields.spec(o).get("claimRef")
    return [
        o["metadata"]["name"],
        _amount(spec.get("capacity")),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        _phase(o),
        f"{claim.get('namespace') or ''}/{claim.get('name') or ''}" if claim else "",
        _class(o, x),
        spec.get("volumeAttributesClassName") or UNSET,
        fields.status(o).get("reason") or "",
        age_of(o, x),
        spec.get("volumeMode") or UNSET,
    ]


def claim(o: Json, x: Printing) -> Cells:
    spec, status = fields.spec(o), fields.status(o)
    bound = spec.get("volumeName") or ""
    return [
        o["metadata"]["name"],
        _phase(o),
        bound,
        _amount(status.get("capacity")) if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        _class(o, x),
        spec.get("volumeAttributesClassName") or UNSET,
        age_of(o, x),
        spec.get("volumeMode") or UNSET,
    ]


def storage_class(o: Json, x: Printing) -> Cells:
    metadata = o["metadata"]
    annotations = metadata.get("annotations") or EMPTY
    default = any(
        annotations.get(x.dialect(key)) == "true"
        for key in ("storageclass.{long}.io/is-default-class", "storageclass.beta.{long}.io/is-default-class")
    )
    return [
        metadata["name"] + (" (default)" if default else ""),
        o.get("provisioner") or "",
        o.get("reclaimPolicy") or "Delete",
        o.get("volumeBindingMode") or "Immediate",
        bool(o.get("allowVolumeExpansion")),
        age_of(o, x),
    ]


def attachment(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    return [
        o["metadata"]["name"],
        spec.get("attacher") or "",
        (spec.get("source") or EMPTY).get("persistentVolumeName") or "",
        spec.get("nodeName") or "",
        bool(fields.status(o).get("attached")),
        age_of(o, x),
    ]


def driver(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    requests = spec.get("tokenRequests")
    attach = spec.get("attachRequired")
    return [
        o["metadata"]["name"],
        True if attach is None else attach,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if requests is None else ",".join(request.get("audience") or "" for request in requests),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(o, x),
    ]


def attributes_class(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], o.get("driverName") or "", age_of(o, x)]


def node(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], len(fields.spec(o).get("drivers") or ()), age_of(o, x)]
