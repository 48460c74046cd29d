"""Validation of changes of pods: a few fields of the spec, the status, ephemeral containers."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import placement
from orchd.kinds.objects.validate.core.addresses import both_families
from orchd.kinds.objects.validate.core.containers import trimmed_image
from orchd.kinds.objects.validate.core.field_rules import MAX_INT32, is_qualified
from orchd.kinds.objects.validate.core.podannotations import APPARMOR, MIRROR, annotation_rules
from orchd.kinds.objects.validate.core.pods import metadata_and_spec
from orchd.kinds.objects.validate.names import between, ip, subdomain
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report

_CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, "
    "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or "
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
#: Condition types that need not be qualified names.
_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")


def update(pod: Object, old: Object, report: Report) -> None:
    meta.update(pod, old, report)
    metadata_and_spec(pod, report)
    _annotation_changes(pod, old, report)
    spec, before = fields.spec(pod), fields.spec(old)
    for member in ("containers", "initContainers"):
        listed = spec.get(member) or []
        if len(listed) != len(before.get(member) or ()):
            report.forbidden(SPEC / member, "pod updates may not add or remove containers")
            return
        for i, container in enumerate(listed):
            if not container.get("image"):
                report.required((SPEC / member)[i] / "image")
        trimmed_image(listed, SPEC / member, report)
    if not _deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"), report):
        return
    _tolerations(spec.get("tolerations") or [], before.get("tolerations") or [], report)
    if spec == before:
        return
    munged = _with_old_mutable_fields(spec, before)
    if not differences.same(munged, before):
        report.forbidden(SPEC, f"{_CHANGEABLE}\n{differences.text('core.PodSpec', before, munged)}")


def _deadline(new: int | None, old: int | None, report: Report) -> bool:
    """Validate activeDeadlineSeconds, which may be set or reduced. False ends the comparison."""
    at = SPEC / "activeDeadlineSeconds"
    if new is not None:
        wrong = between(new, 0, MAX_INT32)
        if wrong:
            report.invalids(at, new, wrong)
            return False
        if old is not None and old < new:
            report.invalid(at, new, "must be less than or equal to previous value")
            return False
    elif old is not None:
        report.invalid(at, None, "must not update from a positive integer to nil value")
    return True


def _tolerations(new: list[Object], old: list[Object], report: Report) -> None:
    at = SPEC / "tolerations"
    kept = [{k: v for k, v in t.items() if k != "tolerationSeconds"} for t in new]
    for toleration in old:
        if {k: v for k, v in toleration.items() if k != "tolerationSeconds"} not in kept:
            report.forbidden(at, "existing toleration can not be modified except its tolerationSeconds")
            return
    placement.tolerations(new, at, report)


def _with_old_mutable_fields(spec: Object, before: Object) -> Object:
    """The new spec with the old values of mutable fields."""
    out = dict(spec)
    for member in ("containers", "initContainers"):
        listed = spec.get(member)
        if listed:
            out[member] = [{**c, "image": o.get("image")} for c, o in zip(listed, before[member], strict=True)]
    for member in ("activeDeadlineSeconds", "tolerations"):
        _as_before(out, before, member)
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        out["terminationGracePeriodSeconds"] = grace
    return out


def _as_before(out: Object, before: Object, member: str) -> None:
    if member in before:
        out[member] = before[member]
    else:
        out.pop(member, None)


def _annotation_changes(pod: Object, old: Object, report: Report) -> None:
    new = fields.annotations_of(pod)
    before = fields.annotations_of(old)
    at = METADATA / "annotations"
    if new != before:
        special = (
            (report.dialect(APPARMOR), "AppArmor annotations"),
            (report.dialect(MIRROR), "mirror pod annotation"),
        )
        for key, text in before.items():
            for prefix, named in special:
                if key.startswith(prefix) and new.get(key) != text:
                    report.forbidden(at[key], f"may not remove or update {named}")
        for key in new:
            for prefix, named in special:
                if key.startswith(prefix) and key not in before:
                    report.forbidden(at[key], f"may not add {named}")
    if new:
        annotation_rules(new, fields.spec(pod), at, report)


def update_status(pod: Object, old: Object, report: Report) -> None:
    meta.update(pod, old, report)
    _annotation_changes(pod, old, report)
    status, before = fields.status(pod), fields.status(old)
    for i, condition in enumerate(status.get("conditions") or ()):
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            # The reference's paths of conditions begin with the wrong member.
            is_qualified(condition.get("type") or "", (METADATA / "conditions")[i] / "Type", report)
    if fields.spec(pod).get("nodeName") != fields.spec(old).get("nodeName"):
        report.forbidden(STATUS / "nodeName", "may not be changed directly")
    nominated = status.get("nominatedNodeName") or ""
    if nominated and nominated != before.get("nominatedNodeName"):
        report.invalids(STATUS / "nominatedNodeName", nominated, subdomain(nominated))
    policy = fields.spec(old).get("restartPolicy") or ""
    for member, restart in (
        ("containerStatuses", policy),
        ("initContainerStatuses", policy),
        ("ephemeralContainerStatuses", "Never"),
    ):
        _states(status.get(member) or [], before.get(member) or [], STATUS / member, restart, report)
    _pod_ips(status.get("podIPs") or [], STATUS / "podIPs", report)


def _states(new: list[Object], old: list[Object], at: Path, restart: str, report: Report) -> None:
    """Validate container states: a terminated container that is not restarted must stay terminated."""
    if restart == "Always" or not old:
        return
    for i, status in enumerate(old):
        ended = (status.get("state") or {}).get("terminated")
        if ended is None or (ended.get("exitCode") and restart == "OnFailure"):
            continue
        for other in new:
            if other.get("name") == status.get("name") and (other.get("state") or {}).get("terminated") is None:
                report.forbidden(at[i] / "state", "may not be transitioned to non-terminated state")


def _pod_ips(listed: list[Object], at: Path, report: Report) -> None:
    addresses = [entry.get("ip") or "" for entry in listed]
    for i, address in enumerate(addresses):
        report.invalids(at[i], address, ip(address))
    if len(addresses) > 1:
        if not both_families(addresses, at, report) or len(addresses) > 2:
            report.invalid(at, dump("[]core.PodIP", listed), "may specify no more than one IP for each IP family")
        for i, address in enumerate(addresses):
            if address in addresses[:i]:
                report.duplicate(at[i], dump("core.PodIP", listed[i]))


def update_ephemeral(pod: Object, old: Object, report: Report) -> None:
    """Validate a change through ephemeralcontainers: containers may be added, not changed or removed."""
    meta.update(pod, old, report)
    metadata_and_spec(pod, report)
    _annotation_changes(pod, old, report)
    at = SPEC / "ephemeralContainers"
    new = {c.get("name"): c for c in fields.spec(pod).get("ephemeralContainers") or ()}
    for container in fields.spec(old).get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in new:
            report.forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n')
        elif not differences.same(new[name], container):
            shown = differences.text("core.EphemeralContainer", container, new[name])
            report.forbidden(at, f'existing ephemeral containers "{name}" may not be changed\n{shown}')
