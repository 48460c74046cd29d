"""Validation of pod security policies."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import csi_driver_name, descending_path, is_subdomain
from orchd.kinds.objects.validate.names import subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report

_USER: Final = ("MustRunAs", "MustRunAsNonRoot", "RunAsAny")
_GROUP: Final = ("MayRunAs", "MustRunAs", "RunAsAny")
_VOLUMES: Final = tuple(
    "* awsElasticBlockStore azureDisk azureFile cephFS cinder configMap csi downwardAPI emptyDir ephemeral fc "
    "flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath iscsi nfs persistentVolumeClaim "
    "photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume".split()
)
_SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_SYSCTL_RE: Final = re.compile(_SYSCTL).fullmatch
_MAX_SYSCTL: Final = 253
#: Annotation -> whether it is a comma-separated list, and values of the list besides profiles.
_APPARMOR: Final = {
    "apparmor.security.beta.{long}.io/defaultProfileName": False,
    "apparmor.security.beta.{long}.io/allowedProfileNames": True,
}
_SECCOMP: Final = {
    "seccomp.security.alpha.{long}.io/defaultProfileName": False,
    "seccomp.security.alpha.{long}.io/allowedProfileNames": True,
}


def create(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _policy(value, report)


def update(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _policy(value, report)


def _policy(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    _annotations(fields.annotations_of(value), report)
    _strategy(spec.get("runAsUser") or {}, _USER, SPEC / "runAsUser", report)
    if spec.get("runAsGroup") is not None:
        _run_as_group(spec["runAsGroup"], SPEC / "runAsGroup", report)
    _rule(spec.get("seLinux") or {}, ("MustRunAs", "RunAsAny"), SPEC / "seLinux", report)
    _strategy(spec.get("supplementalGroups") or {}, _GROUP, SPEC / "supplementalGroups", report)
    _strategy(spec.get("fsGroup") or {}, _GROUP, SPEC / "fsGroup", report)
    for volume in spec.get("volumes") or ():
        if volume not in _VOLUMES:
            report.unsupported(SPEC / "volumes", volume, _VOLUMES)
    _capabilities(spec, report)
    if spec.get("defaultAllowPrivilegeEscalation") and spec.get("allowPrivilegeEscalation") is False:
        why = "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true"
        report.invalid(SPEC / "defaultAllowPrivilegeEscalation", True, why)
    for i, kind in enumerate(spec.get("allowedProcMountTypes") or ()):
        if kind not in ("Default", "Unmasked"):
            report.unsupported((SPEC / "allowedProcMountTypes")[i], kind, ("Default", "Unmasked"))
    _host_paths(spec, report)
    _drivers(spec, report)
    _sysctls(spec, report)
    if spec.get("runtimeClass") is not None:
        _runtime_classes(spec["runtimeClass"], SPEC / "runtimeClass", report)


def _annotations(annotations: dict[str, str], report: Report) -> None:
    for template, listed in _APPARMOR.items():
        key = report.dialect(template)
        text = annotations.get(key) or ""
        for profile in text.split(",") if listed and text else [text]:
            if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
                report.invalid(
                    (METADATA / "annotations")[key], text, f"invalid AppArmor profile name: {quote(profile)}"
                )
    for template, listed in _SECCOMP.items():
        key = report.dialect(template)
        text = annotations.get(key) or ""
        for profile in (text.split(",") if listed else [text]) if text else ():
            if not (listed and profile == "*"):
                _seccomp(profile, (METADATA / "annotations")[key], report)


def _seccomp(profile: str, at: Path, report: Report) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith("localhost/"):
        descending_path(profile.removeprefix("localhost/"), at, report)
    else:
        report.invalid(at, profile, "must be a valid seccomp profile")


def _rule(strategy: Object, rules: tuple[str, ...], at: Path, report: Report) -> None:
    if strategy.get("rule") not in rules:
        report.unsupported(at / "rule", strategy.get("rule") or "", rules)


def _strategy(strategy: Object, rules: tuple[str, ...], at: Path, report: Report) -> None:
    _rule(strategy, rules, at, report)
    _ranges(strategy, at, report)


def _ranges(strategy: Object, at: Path, report: Report) -> None:
    for i, span in enumerate(strategy.get("ranges") or ()):
        here, low, high = (at / "ranges")[i], span.get("min") or 0, span.get("max") or 0
        for member, number in (("min", low), ("max", high)):
            if number < 0:
                report.invalid(here / member, number, f"{member} cannot be negative")
        if low > high:
            report.invalid(here / "min", low, "min cannot be greater than max")


def _run_as_group(strategy: Object, at: Path, report: Report) -> None:
    rule, ranges = strategy.get("rule") or "", strategy.get("ranges")
    if rule == "RunAsAny":
        if ranges:
            report.invalid(at / "ranges", dump("[]policy.IDRange", ranges), "Ranges must be empty")
    elif rule in _GROUP:
        if not ranges:
            report.invalid(at / "ranges", dump("[]policy.IDRange", ranges), "must provide at least one range")
        _ranges(strategy, at, report)
    else:
        report.unsupported(at / "rule", rule, ("MustRunAs", "RunAsAny", "MayRunAs"))


def _capabilities(spec: Object, report: Report) -> None:
    drop, add = spec.get("requiredDropCapabilities") or [], spec.get("defaultAddCapabilities") or ()
    allowed = spec.get("allowedCapabilities") or ()
    if "*" in allowed and drop:
        rendered = dump("[]core.Capability", drop)
        why = "must be empty when all capabilities are allowed by a wildcard"
        report.invalid(root("requiredDropCapabilities"), rendered, why)
    for listed, member in ((add, "defaultAddCapabilities"), (allowed, "allowedCapabilities")):
        for capability in listed:
            if capability in drop:
                why = f"capability is listed in {member} and requiredDropCapabilities"
                report.invalid(root(member), capability, why)


def _host_paths(spec: Object, report: Report) -> None:
    for i, allowed in enumerate(spec.get("allowedHostPaths") or ()):
        at, prefix = (SPEC / "allowedHostPaths")[i], allowed.get("pathPrefix") or ""
        if not prefix:
            report.required(at, "is required")
            return
        if ".." in prefix.split("/"):
            report.invalid(at, prefix, "must not contain '..'")


def _drivers(spec: Object, report: Report) -> None:
    at = SPEC / "allowedFlexVolumes" / "allowedFlexVolumes"
    for i, volume in enumerate(spec.get("allowedFlexVolumes") or ()):
        if not volume.get("driver"):
            report.required(at[i] / "driver", "must specify a driver")
    at = SPEC / "allowedCSIDrivers" / "allowedCSIDriver"
    for i, driver in enumerate(spec.get("allowedCSIDrivers") or ()):
        csi_driver_name(driver.get("name") or "", at[i] / "name", report)


def _sysctls(spec: Object, report: Report) -> None:
    allowed, forbidden = spec.get("allowedUnsafeSysctls") or [], spec.get("forbiddenSysctls") or []
    for listed, member in ((allowed, "allowedUnsafeSysctls"), (forbidden, "forbiddenSysctls")):
        at = SPEC / member
        for i, name in enumerate(listed):
            if not name:
                report.invalid(at[i], name, "empty sysctl not allowed")
            elif len(name) > _MAX_SYSCTL or not _SYSCTL_RE(name):
                report.invalid(at[i], name, f"must have at most {_MAX_SYSCTL} characters and match regex {_SYSCTL}")
        if len(listed) > 1 and any(name.startswith("*") for name in listed):
            report.forbidden(at / "items", "if '*' is present, must not specify other sysctls")
    for i, one in enumerate(allowed):
        for j, other in enumerate(forbidden):
            if _covers(other, one):
                report.invalid((SPEC / "allowedUnsafeSysctls")[i], one, f"sysctl overlaps with {other}")
            elif _covers(one, other):
                report.invalid((SPEC / "forbiddenSysctls")[j], other, f"sysctl overlaps with {one}")


def _covers(pattern: str, name: str) -> bool:
    """True if `pattern` covers everything that `name` matches. Both may end with a star."""
    if pattern.endswith("*"):
        return name.removesuffix("*").startswith(pattern.removesuffix("*"))
    return pattern == name


def _runtime_classes(chosen: Object, at: Path, report: Report) -> None:
    names, default = chosen.get("allowedRuntimeClassNames") or [], chosen.get("defaultRuntimeClassName")
    here = at / "allowedRuntimeClassNames"
    repeated = repeats(names)
    for i, name in enumerate(names):
        if name != "*":
            is_subdomain(name, here[i], report)
        if i in repeated:
            report.duplicate(here[i], name)
    if default is not None:
        is_subdomain(default, at / "defaultRuntimeClassName", report)
        if default not in names and "*" not in names:
            report.required(here, f"default {quote(default)} must be allowed")
    if "*" in names and len(names) > 1:
        report.invalid(here, names, "if '*' is present, must not specify other RuntimeClass names")
