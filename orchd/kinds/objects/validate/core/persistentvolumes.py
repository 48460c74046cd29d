"""Persistent volumes."""

from __future__ import annotations

import posixpath
from typing import Any, Final

from orchd.kinds.objects.validate import differences, meta
from orchd.kinds.objects.validate.core import sources
from orchd.kinds.objects.validate.core.claims import VOLUME_MODES, access_modes, basic_resource
from orchd.kinds.objects.validate.core.forms import csi_driver_name, is_subdomain, named, no_backsteps
from orchd.kinds.objects.validate.core.placement import node_selector
from orchd.kinds.objects.validate.gosyntax import dump
from orchd.kinds.objects.validate.numbers import amount
from orchd.kinds.objects.validate.paths import SPEC, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.words import subdomain_name

Object = dict[str, Any]

_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef", "nodePublishSecretRef", "nodeStageSecretRef", "controllerExpandSecretRef",
)


def create(volume: Object, report: Report) -> None:
    meta.create(volume.get("metadata") or {}, report, namespaced=False, name_rule=subdomain_name)
    spec(volume.get("spec") or {}, SPEC, report)


def spec(value: Object, at: Path, report: Report, *, inline: bool = False) -> None:
    """A volume's spec; `inline` is the part of it that an attachment may carry."""
    if inline:
        for member in ("claimRef", "capacity", "persistentVolumeReclaimPolicy", "storageClassName"):
            if value.get(member):
                report.forbidden(at / member, "may not be specified in the context of inline volumes")
    modes = value.get("accessModes") or []
    if not modes:
        report.required(at / "accessModes")
    access_modes(modes, at / "accessModes", report)
    if not inline:
        _capacity(value.get("capacity") or {}, at / "capacity", report)
        policy = value.get("persistentVolumeReclaimPolicy") or ""
        if policy and policy not in _RECLAIM:
            report.unsupported(at / "persistentVolumeReclaimPolicy", policy, _RECLAIM)
    affinity = value.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            report.required(at / "nodeAffinity" / "required", "must specify required node constraints")
        else:
            node_selector(affinity["required"], at / "nodeAffinity" / "required", report)
    _source(value, at, report)
    path = (value.get("hostPath") or {}).get("path")
    if path and posixpath.normpath(path) == "/" and value.get("persistentVolumeReclaimPolicy") == "Recycle":
        report.forbidden(at / "persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")
    if value.get("storageClassName"):
        is_subdomain(value["storageClassName"], at / "storageClassName", report)
    mode = value.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        report.unsupported(at / "volumeMode", mode, VOLUME_MODES)


def _capacity(capacity: Object, at: Path, report: Report) -> None:
    if not capacity:
        report.required(at)
    if list(capacity) != ["storage"]:
        report.unsupported(at, dump("core.ResourceList", capacity), ("storage",))
    for name, quantity in capacity.items():
        basic_resource(quantity, at[name], report)
        if amount(quantity) <= 0:
            report.invalid(at[name], str(quantity), "must be greater than zero")


def _source(value: Object, at: Path, report: Report) -> None:
    found = False
    for member, (shown, rule) in _ORDER.items():
        source = value.get(member)
        if source is None:
            continue
        if found:
            report.forbidden(at / member, "may not specify more than 1 volume type")
            continue
        found = True
        rule(source, at / shown, report)
        if member == "local" and value.get("nodeAffinity") is None:
            report.required(at / "nodeAffinity", "Local volume requires node affinity")
    if not found:
        report.required(at, "must specify a volume type")


def _local(source: Object, at: Path, report: Report) -> None:
    path = named(source, "path", at, report)
    no_backsteps(path, at / "path", report)


def _csi(source: Object, at: Path, report: Report) -> None:
    csi_driver_name(source.get("driver") or "", at / "driver", report)
    named(source, "volumeHandle", at, report)
    for member in _CSI_SECRETS:
        if source.get(member) is not None:
            _secret(source[member], at / member, report)


def _secret(reference: Object, at: Path, report: Report) -> None:
    named(reference, "name", at, report)
    named(reference, "namespace", at, report)


def _cinder(source: Object, at: Path, report: Report) -> None:
    named(source, "volumeID", at, report)
    if source.get("secretRef") is not None:
        _secret(source["secretRef"], at / "secretRef", report)


def _azure_file(source: Object, at: Path, report: Report) -> None:
    sources.azure_file(source, at, report)
    if source.get("secretNamespace") == "":
        report.required(at / "secretNamespace")


def _storageos(source: Object, at: Path, report: Report) -> None:
    sources.storageos({**source, "secretRef": None}, at, report)
    if source.get("secretRef") is not None:
        _secret(source["secretRef"], at / "secretRef", report)


_ORDER: Final[dict[str, tuple[str, sources.Rule]]] = {
    **{
        member: sources.SHARED[member]
        for member in (
            "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
            "cephfs", "iscsi",
        )
    },
    "cinder": ("cinder", _cinder),
    "fc": sources.SHARED["fc"],
    "flexVolume": sources.SHARED["flexVolume"],
    "azureFile": ("azureFile", _azure_file),
    **{
        member: sources.SHARED[member]
        for member in ("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO")
    },
    "local": ("local", _local),
    "storageos": ("storageos", _storageos),
    "csi": ("csi", _csi),
}


def update(volume: Object, old: Object, report: Report) -> None:
    # Twice, as the reference does.
    create(volume, report)
    create(volume, report)
    new, before = volume.get("spec") or {}, old.get("spec") or {}
    chosen = {member: new.get(member) for member in _ORDER}
    had = {member: before.get(member) for member in _ORDER}
    if chosen["csi"] and had["csi"] and had["csi"].get("controllerExpandSecretRef") is None:
        chosen["csi"] = {k: v for k, v in chosen["csi"].items() if k != "controllerExpandSecretRef"}
    if not differences.same(chosen, had):
        shown = differences.text("core.PersistentVolumeSource", had, chosen)
        why = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        report.forbidden(SPEC / "persistentvolumesource", why)
    report.immutable(root("volumeMode"), new.get("volumeMode"), before.get("volumeMode"))
    if before.get("nodeAffinity") is not None and not differences.same(new.get("nodeAffinity"), before["nodeAffinity"]):
        affinity = new.get("nodeAffinity")
        now = None if affinity is None else dump("core.VolumeNodeAffinity", affinity)
        report.invalid(root("nodeAffinity"), now, "field is immutable")


def update_status(volume: Object, old: Object, report: Report) -> None:
    meta.update(volume.get("metadata") or {}, old.get("metadata") or {}, report)
