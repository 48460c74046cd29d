"""Validation of changes through the resize subresource of pods: amounts of processor time and memory of containers."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.podannotations import MIRROR
from orchd.kinds.objects.validate.core.pods import metadata_and_spec
from orchd.kinds.objects.validate.paths import SPEC, Path, root
from orchd.kinds.objects.validate.report import Report

_RESIZED: Final = ("cpu", "memory")
_OTHERS: Final = "only cpu and memory resources are mutable"
_OF_POD: Final = (
    "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature "
    "gate is disabled"
)


def update(pod: Object, old: Object, report: Report) -> None:
    """Validate a resize. `pod` is the stored pod with the containers of the request."""
    meta.update(pod, old, report)
    metadata_and_spec(pod, report)
    spec, before = fields.spec(pod), fields.spec(old)
    refused = ""
    if report.dialect(MIRROR) in fields.annotations_of(old):
        refused = "static pods cannot be resized"
    elif (before.get("os") or {}).get("name") == "windows":
        refused = "windows pods cannot be resized"
    if refused:
        report.causes.clear()
        report.forbidden(root("[]"), refused)
        return
    was = fields.status(old).get("qosClass") or qos_class(before)
    if was != qos_class(spec):
        why = "Pod QOS Class may not change as a result of resizing"
        report.invalid(SPEC, fields.status(pod).get("qosClass") or was, why)
    if any(each.get(member) for each in (spec.get("resources") or {}, before.get("resources") or {}) for member in
           ("limits", "requests")):  # fmt: skip
        report.forbidden(root("[]"), _OF_POD)
        return
    if not _same_containers(spec, before, report):
        return
    _containers(spec, before, report)
    if not report.causes:
        lists = ("containers", "initContainers")
        rest, was_rest = ({k: v for k, v in each.items() if k not in lists} for each in (spec, before))
        if not differences.same(rest, was_rest):
            report.forbidden(SPEC, _OTHERS)


def _same_containers(spec: Object, before: Object, report: Report) -> bool:
    """True if there are the same containers in the same order."""
    same = True
    for member in ("containers", "initContainers", "ephemeralContainers"):
        new, old = ([each.get("name") for each in of.get(member) or ()] for of in (spec, before))
        if len(new) != len(old):
            report.forbidden(SPEC / member, f"{_CALLED[member]} may not be added or removed on resize")
            same = False
            continue
        for i, (name, name_before) in enumerate(zip(new, old, strict=True)):
            if name != name_before:
                at = (SPEC / member)[i] / "name"
                report.forbidden(at, f"{_CALLED[member]} may not be renamed or reordered on resize")
                same = False
    return same


_CALLED: Final = {
    "containers": "containers",
    "initContainers": "initContainers",
    "ephemeralContainers": "ephemeralContainers",
}


def _containers(spec: Object, before: Object, report: Report) -> None:
    for member in ("initContainers", "containers"):
        for i, (container, old) in enumerate(zip(spec.get(member) or (), before.get(member) or (), strict=True)):
            if member == "containers" or container.get("restartPolicy") == "Always":
                _nothing_removed(container, old, (SPEC / member)[i] / "resources", report)
    for member in ("containers", "initContainers"):
        for container, old in zip(spec.get(member) or (), before.get(member) or (), strict=True):
            if member == "containers":
                if not differences.same(_with_amounts_of(container, old), old):
                    report.forbidden(SPEC, _OTHERS)
            elif container.get("restartPolicy") == "Always":
                if not differences.same(_with_amounts_of(container, old), old):
                    report.forbidden(SPEC, "only cpu and memory resources for sidecar containers are mutable")
            elif not differences.same(container, old):
                report.forbidden(SPEC, "resources for non-sidecar init containers are immutable")


def _nothing_removed(container: Object, old: Object, at: Path, report: Report) -> None:
    for member in ("requests", "limits"):
        now, was = ((each.get("resources") or {}).get(member) or {} for each in (container, old))
        if any(name not in now for name in was):
            report.forbidden(at / member, f"resource {member} cannot be removed")


def _with_amounts_of(container: Object, old: Object) -> Object:
    """A container with another's amounts of what may change, and as in the reference without its claims: pods whose
    containers use claims are not resized."""
    resources = {}
    for member in ("limits", "requests"):
        now, was = ((each.get("resources") or {}).get(member) or {} for each in (container, old))
        kept = {name: amount for name, amount in now.items() if name not in _RESIZED}
        resources[member] = {**kept, **{name: was[name] for name in _RESIZED if name in was}}
    return {**container, "resources": resources}
