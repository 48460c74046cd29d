"""Validation of persistent volumes."""

from __future__ import annotations

import posixpath
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import sources
from orchd.kinds.objects.validate.core.claims import VOLUME_MODES, access_modes, basic_resource
from orchd.kinds.objects.validate.core.field_rules import (
    csi_driver_name,
    is_label,
    is_subdomain,
    no_backsteps,
    require_text,
)
from orchd.kinds.objects.validate.core.placement import node_selector
from orchd.kinds.objects.validate.names import subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount

_RECLAIM: Final = ("Delete", "Recycle", "Retain")
#: Secrets of a CSI volume that are validated -> their names in paths; the reference has a space in the last.
_CSI_SECRETS: Final = {
    "controllerPublishSecretRef": "controllerPublishSecretRef",
    "controllerExpandSecretRef": "controllerExpandSecretRef",
    "nodePublishSecretRef": "nodePublishSecretRef ",
    "nodeExpandSecretRef": "nodeExpandSecretRef",
}
#: Sources that may have the former annotation for mount options.
_MOUNTED: Final = tuple(
    "gcePersistentDisk awsElasticBlockStore glusterfs nfs rbd quobyte iscsi cinder cephfs azureFile vsphereVolume "
    "azureDisk photonPersistentDisk".split()
)
MOUNT_OPTIONS: Final = "volume.beta.{long}.io/mount-options"
_NOT_INLINE: Final = "may not be specified in the context of inline volumes"


def create(volume: Object, report: Report) -> None:
    _whole(volume, report)
    _mount_options(volume, report)


def _whole(volume: Object, report: Report) -> None:
    metadata = fields.metadata(volume)
    meta.create(volume, report, namespaced=False, name_rule=subdomain_name)
    spec(fields.spec(volume), SPEC, report, name=metadata.get("name") or "")


def _mount_options(volume: Object, report: Report) -> None:
    key = report.dialect(MOUNT_OPTIONS)
    if key not in (fields.metadata(volume).get("annotations") or ()):
        return
    body = fields.spec(volume)
    if all(body.get(member) is None for member in _MOUNTED):
        report.forbidden(METADATA / "annotations" / key, "may not specify mount options for this volume type")


def _attributes_class(value: Object, at: Path, report: Report) -> None:
    name = value["volumeAttributesClassName"]
    if not name:
        report.required(at / "volumeAttributesClassName", "an empty string is disallowed")
    else:
        report.invalids(at / "volumeAttributesClassName", name, subdomain_name(name))
    if value.get("csi") is None:
        report.required(at / "csi", "has to be specified when using volumeAttributesClassName")


def spec(value: Object, at: Path, report: Report, *, inline: bool = False, name: str = "") -> None:
    """Validate the spec of the volume `name`; `inline` is the part that an attachment may contain."""
    if inline:
        if value.get("claimRef") is not None:
            report.forbidden(at / "claimRef", _NOT_INLINE)
        if value.get("capacity"):
            report.forbidden(at / "capacity", _NOT_INLINE)
        if value.get("csi") is None:
            report.required(at / "csi", "has to be specified in the context of inline volumes")
    if value.get("volumeAttributesClassName") is not None:
        _attributes_class(value, at, report)
    modes = value.get("accessModes") or []
    if not modes:
        report.required(at / "accessModes")
    access_modes(modes, at / "accessModes", report)
    if not inline:
        _capacity(value.get("capacity") or {}, at / "capacity", report)
    _reclaim_policy(
        value.get("persistentVolumeReclaimPolicy") or "", at / "persistentVolumeReclaimPolicy", report, inline
    )
    affinity = value.get("nodeAffinity")
    if affinity is not None:
        if inline:
            report.forbidden(at / "nodeAffinity", _NOT_INLINE)
        elif affinity.get("required") is None:
            report.required(at / "nodeAffinity" / "required", "must specify required node constraints")
        else:
            node_selector(affinity["required"], at / "nodeAffinity" / "required", report)
    _source(value, name, at, report, constrained=affinity is not None and not inline)
    path = (value.get("hostPath") or {}).get("path")
    if path and posixpath.normpath(path) in ("/", "//") and value.get("persistentVolumeReclaimPolicy") == "Recycle":
        report.forbidden(at / "persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")
    if value.get("storageClassName"):
        if inline:
            report.forbidden(at / "storageClassName", _NOT_INLINE)
        else:
            is_subdomain(value["storageClassName"], at / "storageClassName", report)
    _volume_mode(value.get("volumeMode"), at / "volumeMode", report, inline)


def _reclaim_policy(policy: str, at: Path, report: Report, inline: bool) -> None:
    if inline:
        if policy not in ("", "Retain"):
            report.forbidden(at, "may only be Retain in the context of inline volumes")
    elif policy and policy not in _RECLAIM:
        report.unsupported(at, policy, _RECLAIM)


def _volume_mode(mode: str | None, at: Path, report: Report, inline: bool) -> None:
    if inline:
        if mode not in (None, "Filesystem"):
            report.forbidden(at, "may not specify volumeMode other than Filesystem in the context of inline volumes")
    elif mode is not None and mode not in VOLUME_MODES:
        report.unsupported(at, mode, VOLUME_MODES)


def _capacity(capacity: Object, at: Path, report: Report) -> None:
    if not capacity:
        report.required(at)
    if list(capacity) != ["storage"]:
        report.unsupported(at, dump("core.ResourceList", capacity or None), ("storage",))
    for name, quantity in capacity.items():
        basic_resource(quantity, at[name], report)
        if amount(quantity) <= 0:
            report.invalid(at[name], str(quantity), "must be greater than zero")


def _source(value: Object, name: str, at: Path, report: Report, *, constrained: bool) -> None:
    """Validate the source. `constrained`: the volume has a node affinity."""
    has_source = False
    for member, (path, rule) in _ORDER.items():
        source = value.get(member)
        if source is None:
            continue
        # A flexVolume in addition is accepted.
        if has_source and member != "flexVolume":
            report.forbidden(at / sources.ONE_TOO_MANY.get(member, member), "may not specify more than 1 volume type")
            continue
        has_source = True
        if member == "iscsi":
            sources.persistent_iscsi(source, name, at / path, report)
        else:
            rule(source, at / path, report)
        if member == "local" and not constrained:
            report.required(at / "nodeAffinity", "Local volume requires node affinity")
    if not has_source:
        report.required(at, "must specify a volume type")


def _local(source: Object, at: Path, report: Report) -> None:
    path = require_text(source, "path", at, report)
    no_backsteps(path, at / "path", report)


def _csi(source: Object, at: Path, report: Report) -> None:
    csi_driver_name(source.get("driver") or "", at / "driver", report)
    require_text(source, "volumeHandle", at, report)
    for member, path in _CSI_SECRETS.items():
        reference = source.get(member)
        if reference is not None:
            _csi_secret(reference, path, at, report)


def _csi_secret_once(reference: Object, path: str, at: Path, report: Report) -> None:
    # The path of a missing member is complete, that of an invalid one is not.
    for part in ("name", "namespace"):
        text = require_text(reference, part, at / path, report)
        if text:
            is_label(text, at / part, report)


def _csi_secret_now(reference: Object, path: str, at: Path, report: Report) -> None:
    at = at / path.strip()
    for part, rule in (("name", is_subdomain), ("namespace", is_label)):
        text = require_text(reference, part, at, report)
        if text:
            rule(text, at / part, report)


_csi_secret = by_release(_csi_secret_once, ("1.27", _csi_secret_now))


def _secret(reference: Object, at: Path, report: Report) -> None:
    require_text(reference, "name", at, report)
    require_text(reference, "namespace", at, report)


def _cinder(source: Object, at: Path, report: Report) -> None:
    require_text(source, "volumeID", at, report)
    if source.get("secretRef") is not None:
        _secret(source["secretRef"], at / "secretRef", report)


def _glusterfs(source: Object, at: Path, report: Report) -> None:
    sources.glusterfs(source, at, report)
    namespace = source.get("endpointsNamespace")
    if namespace == "":
        why = "if the endpointnamespace is set, it must be a valid namespace name"
        report.invalid(at / "endpointsNamespace", namespace, why)
    elif namespace is not None:
        is_label(namespace, at / "endpointsNamespace", report)


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
        for member in tuple(
            "hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi".split()
        )
    },
    "glusterfs": ("glusterfs", _glusterfs),
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
    # Reported twice, as by the reference.
    create(volume, report)
    _whole(volume, report)
    new, before = fields.spec(volume), fields.spec(old)
    chosen = {member: new.get(member) for member in _ORDER}
    had = {member: before.get(member) for member in _ORDER}
    if chosen["csi"] and had["csi"] and had["csi"].get("controllerExpandSecretRef") is None:
        chosen["csi"] = {k: v for k, v in chosen["csi"].items() if k != "controllerExpandSecretRef"}
    if not differences.equal(chosen, had):
        why = "spec.persistentvolumesource is immutable after creation"
        report.forbidden(
            SPEC / "persistentvolumesource", f"{why}\n{report.difference('core.PersistentVolumeSource', had, chosen)}"
        )
    report.immutable(root("volumeMode"), new.get("volumeMode"), before.get("volumeMode"))
    if before.get("nodeAffinity") is not None and not differences.equal(
        new.get("nodeAffinity"), before["nodeAffinity"]
    ):
        affinity = new.get("nodeAffinity")
        now = None if affinity is None else dump("core.VolumeNodeAffinity", affinity)
        why = "field is immutable"
        report.invalid(
            root("nodeAffinity"), now, reworded(why, ("1.35", f"{why}, except for updating from beta label to GA"))
        )
    _attributes_class_kept(new, before, report)


def _attributes_class_kept(new: Object, before: Object, report: Report) -> None:
    name, was = new.get("volumeAttributesClassName"), before.get("volumeAttributesClassName")
    if was is not None and name is None:
        report.forbidden(SPEC / "volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def update_status(volume: Object, old: Object, report: Report) -> None:
    meta.update(volume, old, report)
