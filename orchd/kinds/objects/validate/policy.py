"""Pod disruption budgets, evictions and pod security policies."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.forms import no_backsteps
from orchd.kinds.objects.validate.gosyntax import dump
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector
from orchd.kinds.objects.validate.words import subdomain_name
from orchd.kinds.objects.validate.workloads import at_most_all, int_or_percent, nonnegative

Object = dict[str, Any]

_USER: Final = ("MustRunAs", "MustRunAsNonRoot", "RunAsAny")
_GROUP: Final = ("MayRunAs", "MustRunAs", "RunAsAny")
_VOLUMES: Final = (
    "*", "awsElasticBlockStore", "azureDisk", "azureFile", "cephFS", "cinder", "configMap", "csi", "downwardAPI", "emptyDir",
    "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "hostPath", "iscsi", "nfs",
    "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret",
    "storageos", "vsphereVolume",
)


def create_budget(value: Object, report: Report) -> None:
    spec = value.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = dump("policy.PodDisruptionBudgetSpec", spec)
        report.invalid(SPEC, shown, "minAvailable and maxUnavailable cannot be both set")
    for member, number in (("minAvailable", least), ("maxUnavailable", most)):
        if number is not None:
            int_or_percent(number, SPEC / member, report)
            at_most_all(number, SPEC / member, report)
    label_selector(spec.get("selector"), SPEC / "selector", report)


def update_budget(value: Object, old: Object, report: Report) -> None:
    create_budget(value, report)


def update_budget_status(value: Object, old: Object, report: Report) -> None:
    members = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    nonnegative(value.get("status") or {}, members, STATUS, report)


def create_security_policy(value: Object, report: Report) -> None:
    meta.create(value.get("metadata") or {}, report, namespaced=False, name_rule=subdomain_name)
    _security_policy(value.get("spec") or {}, report)


def update_security_policy(value: Object, old: Object, report: Report) -> None:
    meta.update(value.get("metadata") or {}, old.get("metadata") or {}, report)
    _security_policy(value.get("spec") or {}, report)


def _security_policy(spec: Object, report: Report) -> None:
    _strategy(spec.get("runAsUser") or {}, _USER, SPEC / "runAsUser", report)
    if spec.get("runAsGroup") is not None:
        _strategy(spec["runAsGroup"], _GROUP, SPEC / "runAsGroup", report)
    _strategy(spec.get("seLinux") or {}, ("MustRunAs", "RunAsAny"), SPEC / "seLinux", report)
    _strategy(spec.get("supplementalGroups") or {}, _GROUP, SPEC / "supplementalGroups", report)
    _strategy(spec.get("fsGroup") or {}, _GROUP, SPEC / "fsGroup", report)
    for volume in spec.get("volumes") or ():
        if volume not in _VOLUMES:
            report.unsupported(SPEC / "volumes", volume, _VOLUMES)
    _capabilities(spec, report)
    for i, allowed in enumerate(spec.get("allowedHostPaths") or ()):
        at, prefix = (SPEC / "allowedHostPaths")[i] / "pathPrefix", allowed.get("pathPrefix") or ""
        if not prefix:
            report.required(at, "is required")
        no_backsteps(prefix, at, report)
    if spec.get("defaultAllowPrivilegeEscalation") and spec.get("allowPrivilegeEscalation") is False:
        why = "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true"
        report.invalid(SPEC / "defaultAllowPrivilegeEscalation", True, why)


def _strategy(strategy: Object, rules: tuple[str, ...], at: Path, report: Report) -> None:
    if strategy.get("rule") not in rules:
        report.unsupported(at / "rule", strategy.get("rule") or "", rules)
    for i, span in enumerate(strategy.get("ranges") or ()):
        here, low, high = (at / "ranges")[i], span.get("min") or 0, span.get("max") or 0
        for member, number in (("min", low), ("max", high)):
            if number < 0:
                report.invalid(here / member, number, f"{member} cannot be negative")
        if low > high:
            report.invalid(here / "min", low, "min cannot be greater than max")


def _capabilities(spec: Object, report: Report) -> None:
    drop, add = spec.get("requiredDropCapabilities") or (), spec.get("defaultAddCapabilities") or ()
    allowed = spec.get("allowedCapabilities") or ()
    if "*" in allowed and drop:
        why = "must be empty when all capabilities are allowed by a wildcard"
        report.invalid(SPEC / "requiredDropCapabilities", list(drop), why)
    for listed, member in ((add, "defaultAddCapabilities"), (allowed, "allowedCapabilities")):
        for capability in listed:
            if capability in drop:
                why = f"capability is listed in {member} and requiredDropCapabilities"
                report.invalid(root(member), capability, why)
