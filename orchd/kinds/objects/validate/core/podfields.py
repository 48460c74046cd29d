"""Validation of fields that pods have since releases after that of the specification.

Releases that lack a field remove it before validation, so these rules do not ask for the release. `podspec` applies
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from orchd.kinds.fields import mapping
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.pod_amounts import aggregate
from orchd.kinds.objects.quota.amounts import amounts
from orchd.kinds.objects.validate.core.resources import pod_requirements
from orchd.kinds.objects.validate.names import label, qualified_name, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report

_RESTART: Final = ("Always", "Never", "OnFailure")
_RESIZED: Final = ("cpu", "memory")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_APPARMOR: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PATH: Final = 4095
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_HOSTNAME: Final = 64
_USER_NAMESPACE: Final = "when `hostUsers` is false"


def scheduling_gates(listed: list[Object], at: Path, report: Report) -> None:
    names = [gate.get("name") or "" for gate in listed]
    repeated = repeats(names)
    for i, name in enumerate(names):
        report.invalids(at[i], name, qualified_name(name))
        if i in repeated:
            report.duplicate(at[i], name)


def resource_claims(listed: list[Object], at: Path, report: Report) -> None:
    seen: set[str] = set()
    for i, claim in enumerate(listed):
        name, here = claim.get("name") or "", at[i]
        if not name:
            report.required(here / "name")
        elif name in seen:
            report.duplicate(here / "name", name)
        else:
            report.invalids(here / "name", name, label(name))
            seen.add(name)
        own, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        go_text = dump("core.PodResourceClaim", claim)
        if own is not None and template is not None:
            report.invalid(
                here, go_text, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
        if own is None and template is None:
            report.invalid(here, go_text, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for member, text in (("resourceClaimName", own), ("resourceClaimTemplateName", template)):
            if text is not None:
                report.invalids(here / member, text, subdomain(text))


def container_claims(listed: list[Object], claims: Collection[str], at: Path, report: Report) -> None:
    """Validate the claims that a container uses, each whole or some of its requests. `claims` are the names of the
    pod's claims."""
    seen: set[str] = set()
    #: Number of single requests by the claim that they are of.
    requests: Counter[str] = Counter()
    words = "must be one of the names in pod.spec.resourceClaims"
    words += f": {', '.join(sorted(claims))}" if claims else " which is empty"
    for i, claim in enumerate(listed):
        name, request, here = claim.get("name") or "", claim.get("request") or "", at[i]
        if not name:
            report.required(here)
            continue
        if name in seen:
            report.duplicate(here, name)
        else:
            key = name
            if request:
                report.invalids(here / "request", request, label(request))
                key = f"{name}/{request}"
            if key in seen:
                report.duplicate(here, key)
            elif not request:
                for _ in range(requests[name]):
                    report.duplicate(here, name)
            if request and key not in seen:
                requests[name] += 1
            seen.add(key)
        if name not in claims:
            report.not_found_because(here, name, words)


def resize_policy(listed: list[Object], restart: str, at: Path, report: Report) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(listed):
        resource, action = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            report.duplicate(at[i], resource)
        seen.add(resource)
        for value, supported in ((resource, _RESIZED), (action, _RESIZES)):
            if not value:
                report.required(at)
            elif value not in supported:
                report.unsupported(at, value, supported)
        if restart == "Never" and action != "NotRequired":
            report.invalid(at, action, "must be 'NotRequired' when `restartPolicy` is 'Never'")


def restart_policy(container: Object, at: Path, report: Report, *, init: bool = False) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        report.required(at / "restartPolicy", "must specify restartPolicy when restart rules are used")
        if init:
            return
    elif policy not in _RESTART:
        report.unsupported(at / "restartPolicy", policy, _RESTART)
    elif rules and policy == "Always" and init:
        why = "restartPolicyRules are not allowed for init containers with restart policy Always"
        report.forbidden(at / "restartPolicyRules", why)
        return
    if len(rules) > _MAX_RULES:
        report.too_long(at / "restartPolicyRules", _MAX_RULES)
    for i, rule in enumerate(rules):
        here, codes = (at / "restartPolicyRules")[i], rule.get("exitCodes")
        if rule.get("action") != "Restart":
            report.unsupported(here / "action", rule.get("action") or "", ("Restart",))
        if codes is None:
            report.required(here / "exitCodes", "must be specified")
            continue
        if codes.get("operator") not in ("In", "NotIn"):
            report.unsupported(here / "exitCodes" / "operator", codes.get("operator") or "", ("In", "NotIn"))
        if len(codes.get("values") or ()) > _MAX_EXIT_CODES:
            report.too_long(here / "exitCodes" / "values", _MAX_EXIT_CODES)


def sleep_action(value: Object, grace: int | None, at: Path, report: Report) -> None:
    """Validate how long a hook sleeps: at most the grace period of the pod."""
    seconds = value.get("seconds") or 0
    if grace is not None and not 0 <= seconds <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        report.invalid(at, seconds, why)


def file_volumes(value: Object, at: Path, report: Report) -> None:
    """Validate that variables from files name volumes of type emptyDir."""
    volumes = {each.get("name") or "": each for each in value.get("volumes") or ()}
    for container, here in each_container(value, at):
        for i, variable in enumerate(container.get("env") or ()):
            reference = mapping(variable, "valueFrom").get("fileKeyRef")
            if reference is None:
                continue
            name, where = (
                reference.get("volumeName") or "",
                (here / "env")[i] / "valueFrom" / "fileKeyRef" / "volumeName",
            )
            if name not in volumes:
                report.not_found(where, name)
            elif volumes[name].get("emptyDir") is None:
                report.invalid(where, name, "referenced volume must be of type emptyDir")


def each_container(value: Object, at: Path) -> Iterator[tuple[Object, Path]]:
    """All containers of a pod and their paths, in the order in which the reference visits them."""
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(value.get(member) or ()):
            yield container, (at / member)[i]


def apparmor(profile: Object, at: Path, report: Report) -> None:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    here = at / "localhostProfile"
    if not kind:
        report.required(at / "type", "type is required when appArmorProfile is set")
    elif kind not in _APPARMOR:
        report.unsupported(at / "type", kind, _APPARMOR)
    elif kind != "Localhost":
        if local is not None:
            report.invalid(here, local, "can only be set when AppArmor type is Localhost")
    elif local is None:
        report.required(here, "must be set when AppArmor type is Localhost")
    else:
        if local != local.strip():
            report.invalid(here, local, "must not be padded with whitespace")
        elif not local:
            report.required(here, "must be set when AppArmor type is Localhost")
        if len(local.encode()) > _MAX_PATH:
            report.too_long(here, _MAX_PATH)


def container_context(context: Object, at: Path, report: Report) -> None:
    """Validate members of a container's security context that are new."""
    if context.get("appArmorProfile") is not None:
        apparmor(context["appArmorProfile"], at / "appArmorProfile", report)


def pod_context(context: Object, at: Path, report: Report) -> None:
    if context.get("appArmorProfile") is not None:
        apparmor(context["appArmorProfile"], at / "appArmorProfile", report)
    for member, supported in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("Recursive",)),
    ):
        policy = context.get(member)
        if policy is not None and policy not in supported:
            report.unsupported(at / member, policy, supported)


def own_users(value: Object, at: Path, report: Report) -> None:
    for member, reported in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if value.get(member):
            report.forbidden(at / reported, _USER_NAMESPACE)
    for container, here in each_container(value, at):
        if container.get("volumeDevices"):
            report.forbidden(here / "volumeDevices", _USER_NAMESPACE)


def hostname_override(value: Object, at: Path, report: Report) -> None:
    name, here = value["hostnameOverride"], at / "hostnameOverride"
    for member in ("setHostnameAsFQDN", "hostNetwork"):
        if value.get(member):
            report.forbidden(here, f"may not be specified when {member} is true")
    if len(name.encode()) > _MAX_HOSTNAME:
        report.too_long(here, _MAX_HOSTNAME)
    report.invalids(here, name, subdomain(name))


def pod_resources(value: Object, claims: Collection[str], at: Path, report: Report) -> None:
    """Validate resources of the whole pod: their names, and that containers need no more than them."""
    at, resources = at / "resources", value["resources"]
    if mapping(value, "os").get("name") == "windows":
        report.forbidden(at, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        report.forbidden(at / "claims", "claims may not be set for Resources at pod-level")
    pod_requirements(resources, at, report)
    container_claims(resources.get("claims") or [], claims, at / "claims", report)
    by_member = {member: amounts(resources.get(member)) for member in ("requests", "limits")}
    for member in ("requests", "limits"):
        for name, needed in aggregate(value, member).items():
            amount_of_pod = by_member[member].get(name)
            if (
                amount_of_pod is not None
                and needed > amount_of_pod
                and (member == "requests" or name.startswith("hugepages-"))
            ):
                why = f"must be greater than or equal to aggregate container {member} of {needed}"
                report.invalid((at / member)[name], str(amount_of_pod), why)
    for i, container in enumerate(value.get("containers") or ()):
        for name, limit in amounts(mapping(container, "resources").get("limits")).items():
            most = by_member["limits"].get(name)
            if most is not None and limit > most:
                why = f"must be less than or equal to pod limits of {most}"
                report.invalid((at / "containers")[i][name] / "limits", str(limit), why)
