"""Validation of changes of pods: a few fields of the spec, the status, ephemeral containers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import placement
from orchd.kinds.objects.validate.core.addresses import both_families
from orchd.kinds.objects.validate.core.containers import trimmed_image
from orchd.kinds.objects.validate.core.field_rules import MAX_INT32, is_qualified
from orchd.kinds.objects.validate.core.podannotations import APPARMOR, MIRROR, annotation_rules
from orchd.kinds.objects.validate.core.pods import metadata_and_spec
from orchd.kinds.objects.validate.names import between, ip, subdomain
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report

_CHANGEABLE: Final = (
    "`spec.containers[*].image`, `spec.initContainers[*].image`, "
    "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or "
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_NOT_NEGATIVE: Final = "must be a non-negative integer"
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
    if before.get("schedulingGates") or spec.get("schedulingGates"):
        _fewer_gates(spec, before, report)
    if spec == before:
        return
    munged = _with_old_mutable_fields(spec, before)
    if before.get("schedulingGates"):
        munged = _narrowed(munged, before, report)
    if not differences.equal(munged, before):
        _changed(munged, before, report)


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
    kept = set(map(_untimed, new))
    for toleration in old:
        if _untimed(toleration) not in kept:
            report.forbidden(at, "existing toleration can not be modified except its tolerationSeconds")
            return
    placement.tolerations(new, at, report)


def _untimed(toleration: Object) -> frozenset[tuple[str, str]]:
    """A toleration without its time."""
    return frozenset((name, value) for name, value in toleration.items() if name != "tolerationSeconds")


def _with_old_mutable_fields(spec: Object, before: Object) -> Object:
    """The new spec with the old values of mutable fields."""
    out = dict(spec)
    for member in ("containers", "initContainers"):
        listed = spec.get(member)
        if listed:
            out[member] = [{**c, "image": o.get("image")} for c, o in zip(listed, before[member], strict=True)]
    for member in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _as_before(out, before, member)
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        out["terminationGracePeriodSeconds"] = grace
    return out


def _changed(munged: Object, before: Object, report: Report) -> None:
    words = reworded(
        "pod updates may not change fields other than " + _CHANGEABLE,
        (
            "1.35",
            "pod updates may not change fields other than " + _CHANGEABLE.replace(", `", ",`").replace(" or `", ",`"),
        ),
    ).in_release(report.settings.release)
    report.forbidden(SPEC, f"{words}\n{report.difference('core.PodSpec', before, munged)}")


def _fewer_gates(spec: Object, before: Object, report: Report) -> None:
    """Validate scheduling gates, which may only be removed."""
    had = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in had:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name') or ''}'"
            report.forbidden((SPEC / "schedulingGates")[i] / "name", why)


def _narrowed(spec: Object, before: Object, report: Report) -> Object:
    """Validate placement of a pod that was gated, which may become narrower. Returns the spec with the former
    placement."""
    out = dict(spec)
    new, old = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if new != old:
        if any(new.get(key) != value for key, value in old.items()):
            why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            report.invalid(SPEC / "nodeSelector", new, why)
        _as_before(out, before, "nodeSelector")
    affinity, was = spec.get("affinity") or {}, before.get("affinity") or {}
    if not differences.same(affinity.get("nodeAffinity"), was.get("nodeAffinity")):
        _narrower_affinity(affinity.get("nodeAffinity") or {}, was.get("nodeAffinity") or {}, report)
        kept = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        if was.get("nodeAffinity") is not None:
            kept["nodeAffinity"] = was["nodeAffinity"]
        out["affinity"] = kept if kept or "affinity" in before else None
    return out


def _narrower_affinity(new: Object, old: Object, report: Report) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = (old.get(required) or {}).get("nodeSelectorTerms") or []
    now = (new.get(required) or {}).get("nodeSelectorTerms") or []
    at = SPEC / "affinity" / "nodeAffinity" / required / "nodeSelectorTerms"
    if terms and len(terms) != len(now):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        report.invalid(at, dump("[]core.NodeSelectorTerm", now or None), why)
        return
    for i, (term, was) in enumerate(zip(now, terms, strict=False)):
        if not all(_begins_with(term.get(member), was.get(member)) for member in ("matchExpressions", "matchFields")):
            why = "only additions are allowed (no mutations or deletions)"
            report.invalid(at[i], dump("core.NodeSelectorTerm", term), why)


def _begins_with(new: list[Object] | None, old: list[Object] | None) -> bool:
    """True if all requirements of a term are kept, in their order. A term that had none may get some."""
    return (new or [])[: len(old or ())] == (old or [])


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
    _newer_status(pod, old, report)


def _no_newer_status(pod: Object, old: Object, report: Report) -> None:
    """The release of the specification has none of the rules below."""


def _status_now(pod: Object, old: Object, report: Report) -> None:
    status, before, spec = fields.status(pod), fields.status(old), fields.spec(pod)
    nominated = status.get("nominatedNodeName") or ""
    if fields.spec(old).get("nodeName") and nominated and nominated != before.get("nominatedNodeName"):
        report.forbidden(STATUS / "nominatedNodeName", "may not be set on pods that are already bound to a node")
    if (status.get("observedGeneration") or 0) < 0:
        report.invalid(STATUS / "observedGeneration", status["observedGeneration"], _NOT_NEGATIVE)
    for i, condition in enumerate(status.get("conditions") or ()):
        if (condition.get("observedGeneration") or 0) < 0:
            at = (STATUS / "conditions")[i] / "observedGeneration"
            report.invalid(at, condition["observedGeneration"], _NOT_NEGATIVE)
    report.immutable(STATUS / "qosClass", status.get("qosClass") or "", before.get("qosClass") or "")
    _claim_statuses(status.get("resourceClaimStatuses") or (), spec, STATUS / "resourceClaimStatuses", report)
    _host_ips(status, STATUS / "hostIPs", report)
    for member in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for i, each in enumerate(status.get(member) or ()):
            _container_user(fields.mapping(each, "user", "linux"), (STATUS / member)[i] / "user" / "linux", report)


_newer_status = by_release(_no_newer_status, ("1.34", _status_now))


def _claim_statuses(listed: Sequence[Object], spec: Object, at: Path, report: Report) -> None:
    names = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, each in enumerate(listed):
        name = each.get("name") or ""
        if name not in names:
            report.invalid(at[i] / "name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            report.duplicate(at[i] / "name", name)
        seen.add(name)
        if each.get("resourceClaimName") is not None:
            report.invalids(at[i] / "name", each["resourceClaimName"], subdomain(each["resourceClaimName"]))


def _host_ips(status: Object, at: Path, report: Report) -> None:
    addresses = [entry.get("ip") or "" for entry in status.get("hostIPs") or ()]
    if not addresses:
        return
    if addresses[0] != (status.get("hostIP") or ""):
        report.invalid(at[0] / "ip", addresses[0], "must be equal to `hostIP`")
    for i, address in enumerate(addresses):
        report.invalids(at[i], address, ip(address))
    if len(addresses) > 1 and (not both_families(addresses, at, report) or len(addresses) > 2):
        why = "may specify no more than one IP for each IP family"
        report.invalid(at, dump("[]core.HostIP", status["hostIPs"]), why)


def _container_user(user: Object, at: Path, report: Report) -> None:
    ids = [(at / member, user[member]) for member in ("uid", "gid") if member in user]
    ids += [((at / "supplementalGroups")[i], each) for i, each in enumerate(user.get("supplementalGroups") or ())]
    for here, number in ids:
        report.invalids(here, number, between(number, 0, MAX_INT32))


def _states(new: list[Object], old: list[Object], at: Path, restart: str, report: Report) -> None:
    """Validate container states: a terminated container that is not restarted must stay terminated."""
    if restart == "Always" or not old:
        return
    going_on = Counter(each.get("name") for each in new if (each.get("state") or {}).get("terminated") is None)
    for i, status in enumerate(old):
        ended = (status.get("state") or {}).get("terminated")
        if ended is None or (ended.get("exitCode") and restart == "OnFailure"):
            continue
        for _ in range(going_on[status.get("name")]):
            report.forbidden(at[i] / "state", "may not be transitioned to non-terminated state")


def _pod_ips(listed: list[Object], at: Path, report: Report) -> None:
    addresses = [entry.get("ip") or "" for entry in listed]
    for i, address in enumerate(addresses):
        report.invalids(at[i], address, ip(address))
    if len(addresses) > 1:
        if not both_families(addresses, at, report) or len(addresses) > 2:
            report.invalid(at, dump("[]core.PodIP", listed), "may specify no more than one IP for each IP family")
        for i in sorted(repeats(addresses)):
            report.duplicate(at[i], dump("core.PodIP", listed[i]))


def update_ephemeral(pod: Object, old: Object, report: Report) -> None:
    """Validate a change through ephemeralcontainers: containers may be added, not changed or removed."""
    meta.update(pod, old, report)
    metadata_and_spec(pod, report)
    _annotation_changes(pod, old, report)
    if _static(old, "static pods do not support ephemeral containers", report):
        return
    at = SPEC / "ephemeralContainers"
    new = {c.get("name"): c for c in fields.spec(pod).get("ephemeralContainers") or ()}
    for container in fields.spec(old).get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in new:
            report.forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n')
        elif not differences.same(new[name], container):
            difference = report.difference("core.EphemeralContainer", container, new[name])
            report.forbidden(at, f'existing ephemeral containers "{name}" may not be changed\n{difference}')


def _static_may(old: Object, why: str, report: Report) -> bool:
    """Pods that nodes made are not told apart."""
    return False


def _static_may_not(old: Object, why: str, report: Report) -> bool:
    if report.dialect(MIRROR) not in fields.annotations_of(old):
        return False
    report.causes.clear()
    report.forbidden(root("[]"), why)
    return True


_static = by_release(_static_may, ("1.26", _static_may_not))
