"""Validation of volumes of a pod: names, exactly one source each, and sources that only pods have."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded, since
from orchd.kinds.objects.validate import meta as metadata_rules
from orchd.kinds.objects.validate.core import claims, sources
from orchd.kinds.objects.validate.core.field_rules import MODE, is_label, mode, plain_path, require_text, token_seconds
from orchd.kinds.objects.validate.core.fieldrefs import DOWNWARD_FIELDS, object_field, resource_field
from orchd.kinds.objects.validate.names import subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_TWO_SOURCES: Final = "may not specify more than 1 volume type"
_TWO_PROJECTED: Final = reworded(_TWO_SOURCES, ("1.31", f"{_TWO_SOURCES} per source"))
#: Members of a claim template's metadata that may be set.


def volumes(listed: list[Object], pod_name: str, at: Path, report: Report) -> dict[str, Object]:
    """Validate volumes. Returns the valid ones by name."""
    good: dict[str, Object] = {}
    created = frozenset(
        f"{pod_name}-{v.get('name') or ''}" for v in listed if pod_name and v.get("ephemeral") is not None
    )
    for i, volume in enumerate(listed):
        before = len(report.causes)
        here = at[i]
        name = volume.get("name") or ""
        _source(volume, name, pod_name, here, report)
        if not name:
            report.required(here / "name")
        else:
            is_label(name, here / "name", report)
        if name in good:
            report.duplicate(here / "name", name)
        if len(report.causes) == before:
            good[name] = volume
        if created:
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim in created:
                why = "must not reference a PVC that gets created for an ephemeral volume"
                report.invalid(here / "persistentVolumeClaim" / "claimName", claim, why)
    return good


def _source(volume: Object, name: str, pod_name: str, at: Path, report: Report) -> None:
    has_source = False
    for member, (path, rule) in _ORDER.items():
        source = volume.get(member)
        if source is None:
            continue
        if has_source:
            report.forbidden(at / sources.ONE_TOO_MANY.get(member, member), _TWO_SOURCES)
        else:
            rule(source, at / path, report)
            if member == "ephemeral" and pod_name and name:
                claim = f"{pod_name}-{name}"
                for why in subdomain(claim):
                    report.invalid(at / "name", name, f"PVC name {quote(claim)}: {why}")
        if member == "iscsi" and sources.long_initiator(source, name):
            report.invalid(at / "name", name, sources.ISCSI_TOO_LONG)
        has_source = True
    if not has_source:
        report.required(at, "must specify a volume type")


def _downward_api(source: Object, at: Path, report: Report) -> None:
    mode(source.get("defaultMode"), at / "defaultMode", report)
    for item in source.get("items") or ():
        _downward_file(item, at, report)


def _downward_file(item: Object, at: Path, report: Report) -> None:
    path = require_text(item, "path", at, report)
    plain_path(path, at / "path", report)
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        object_field(field, DOWNWARD_FIELDS, at / "fieldRef", report)
        if resource is not None:
            report.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        resource_field(resource, at / "resourceFieldRef", report, volume=True)
    else:
        report.required(at, "one of fieldRef and resourceFieldRef is required")
    mode(item.get("mode"), at / "mode", report)


def _projected(source: Object, at: Path, report: Report) -> None:
    default = source.get("defaultMode")
    if default is not None and not 0 <= default <= 0o777:
        report.invalid(at / "defaultMode", default, MODE)
    seen: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        here = (at / "sources")[i]
        count = 0
        for member in ("secret", "configMap"):
            part = projection.get(member)
            if part is not None:
                count += 1
                _projected_keys(part, seen, at, here / member, report)
        part = projection.get("downwardAPI")
        if part is not None:
            count += 1
            for item in part.get("items") or ():
                _downward_file(item, here / "downwardAPI", report)
                _unique_path(item.get("path"), item.get("path"), seen, at, report)
        part = projection.get("serviceAccountToken")
        if part is not None:
            count += 1
            token_seconds(
                part.get("expirationSeconds") or 0, here / "serviceAccountToken" / "expirationSeconds", report
            )
            path = require_text(part, "path", at, report)
            if path:
                _token_path(path, at / "path", report)
        if count > 1:
            report.forbidden(here, _TWO_PROJECTED)


#: Older releases validate the presence of a path, not its form.
_token_path = since("1.31", plain_path)


def _projected_keys(part: Object, seen: set[str], volume: Path, at: Path, report: Report) -> None:
    name = require_text(part, "name", at, report)
    for i, item in enumerate(part.get("items") or ()):
        sources.key_to_path(item, (at / "items")[i], report)
        _unique_path(item.get("path"), name, seen, volume, report)


def _unique_path(path: str | None, text: str | None, seen: set[str], at: Path, report: Report) -> None:
    if path:
        if path in seen:
            report.invalid(at, text, "conflicting duplicate paths")
        seen.add(path)


def _ephemeral(source: Object, at: Path, report: Report) -> None:
    template = source.get("volumeClaimTemplate")
    at = at / "volumeClaimTemplate"
    if template is None:
        report.required(at)
        return
    metadata_rules.template(fields.metadata(template), at / "metadata", report, _NOT_SET)
    claims.spec(fields.spec(template), at / "spec", report)


_NOT_SET: Final = reworded("cannot be set for an ephemeral volume", ("1.31", "cannot be set"))
_ORDER: Final[dict[str, tuple[str, sources.Rule]]] = {
    "emptyDir": ("emptyDir", sources.empty_dir),
    "hostPath": sources.SHARED["hostPath"],
    "gitRepo": ("gitRepo", sources.git_repo),
    "gcePersistentDisk": sources.SHARED["gcePersistentDisk"],
    "awsElasticBlockStore": sources.SHARED["awsElasticBlockStore"],
    "secret": ("secret", sources.secret),
    "nfs": sources.SHARED["nfs"],
    "iscsi": sources.SHARED["iscsi"],
    "glusterfs": sources.SHARED["glusterfs"],
    "flocker": sources.SHARED["flocker"],
    "persistentVolumeClaim": ("persistentVolumeClaim", sources.claim),
    "rbd": sources.SHARED["rbd"],
    "cinder": sources.SHARED["cinder"],
    "cephfs": sources.SHARED["cephfs"],
    "quobyte": sources.SHARED["quobyte"],
    "downwardAPI": ("downwardAPI", _downward_api),
    "fc": sources.SHARED["fc"],
    "flexVolume": sources.SHARED["flexVolume"],
    "configMap": ("configMap", sources.config_map),
    "azureFile": sources.SHARED["azureFile"],
    "vsphereVolume": sources.SHARED["vsphereVolume"],
    "photonPersistentDisk": sources.SHARED["photonPersistentDisk"],
    "portworxVolume": sources.SHARED["portworxVolume"],
    "azureDisk": sources.SHARED["azureDisk"],
    "storageos": sources.SHARED["storageos"],
    "projected": ("projected", _projected),
    "scaleIO": sources.SHARED["scaleIO"],
    "csi": ("csi", sources.csi),
    "ephemeral": ("ephemeral", _ephemeral),
    "image": ("image", sources.image),
}
