"""Validation of fields that pods have since releases after that of the specification.

Releases that lack a field remove it before validation, so these rules do not ask for the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, add, amounts
from orchd.kinds.objects.validate.core.resources import requirements
from orchd.kinds.objects.validate.names import label, qualified_name, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount

_RESTART: Final = ("Always", "Never", "OnFailure")
_RESIZED: Final = ("cpu", "memory")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_APPARMOR: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PATH: Final = 4095
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_HOSTNAME: Final = 64
_POD_RESOURCES: Final = ("cpu", "hugepages-", "memory")
_USER_NAMESPACE: Final = "when `hostUsers` is false"


def spec(value: Object, at: Path, report: Report) -> None:
    get = value.get
    if get("resourceClaims"):
        _claims(value["resourceClaims"], at / "resourceClaims", report)
    claims = {claim.get("name") or "": claim for claim in get("resourceClaims") or ()}
    for member, container, here in _containers(value, at):
        _container(container, value, claims, here, report)
        if member != "ephemeralContainers":
            _restart_policy(container, here, report, sidecar=member == "initContainers")
    if get("resources") is not None:
        _pod_resources(value, at, report)
    context = get("securityContext") or {}
    _pod_context(context, at / "securityContext", report)
    for i, gate in enumerate(get("schedulingGates") or ()):
        _gate(gate, i, value["schedulingGates"], (at / "schedulingGates")[i], report)
    if get("hostUsers") is False:
        _own_users(value, at, report)
    if get("hostnameOverride") is not None:
        _hostname(value, at, report)


def _containers(value: Object, at: Path) -> Iterator[tuple[str, Object, Path]]:
    for member in ("containers", "initContainers", "ephemeralContainers"):
        for i, container in enumerate(value.get(member) or ()):
            yield member, container, (at / member)[i]


def _gate(gate: Object, i: int, listed: list[Object], at: Path, report: Report) -> None:
    name = gate.get("name") or ""
    report.invalids(at, name, qualified_name(name))
    if any((other.get("name") or "") == name for other in listed[:i]):
        report.duplicate(at, name)


def _claims(listed: list[Object], at: Path, report: Report) -> None:
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
        shown = dump("core.PodResourceClaim", claim)
        if own is not None and template is not None:
            report.invalid(
                here, shown, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
        if own is None and template is None:
            report.invalid(here, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for member, text in (("resourceClaimName", own), ("resourceClaimTemplateName", template)):
            if text is not None:
                report.invalids(here / member, text, subdomain(text))


def _container(container: Object, pod: Object, claims: dict[str, Object], at: Path, report: Report) -> None:
    get = container.get
    if (get("resources") or {}).get("claims"):
        _container_claims(container["resources"]["claims"], claims, at / "resources" / "claims", report)
    if get("resizePolicy"):
        _resize_policy(container["resizePolicy"], pod.get("restartPolicy") or "", at / "resizePolicy", report)
    context = get("securityContext") or {}
    if context.get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
        why = "`hostUsers` must be false to use `Unmasked`"
        report.invalid(at / "securityContext" / "procMount", "Unmasked", why)
    if context.get("appArmorProfile") is not None:
        apparmor(context["appArmorProfile"], at / "securityContext" / "appArmorProfile", report)
    for member in ("postStart", "preStop"):
        sleep = ((get("lifecycle") or {}).get(member) or {}).get("sleep")
        if sleep is not None:
            _sleep(sleep, pod.get("terminationGracePeriodSeconds"), at / "lifecycle" / member / "sleep", report)
    for i, variable in enumerate(get("env") or ()):
        reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
        if reference is not None:
            where = (at / "env")[i] / "valueFrom" / "fileKeyRef" / "volumeName"
            _file_volume(reference.get("volumeName") or "", pod, where, report)


def _container_claims(listed: list[Object], claims: dict[str, Object], at: Path, report: Report) -> None:
    seen: set[tuple[str, str]] = set()
    named: dict[str, str] = {}
    for i, claim in enumerate(listed):
        name, request, here = claim.get("name") or "", claim.get("request") or "", at[i]
        if not name:
            report.required(here)
            continue
        key = f"{name}/{request}" if request else name
        if (name, request) in seen or (name in named and "" in (request, named[name])):
            report.duplicate(here, key)
        seen.add((name, request))
        named.setdefault(name, request)
        if name not in claims:
            known = ", ".join(sorted(claims))
            words = "which is empty" if not claims else f"{{{known}}}"
            report.not_found_because(here, name, f"must be one of the names in pod.spec.resourceClaims {words}")


def _resize_policy(listed: list[Object], restart: str, at: Path, report: Report) -> None:
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


def _restart_policy(container: Object, at: Path, report: Report, *, sidecar: bool) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        report.required(at / "restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTART:
        report.unsupported(at / "restartPolicy", policy, _RESTART)
    elif rules and policy == "Always" and sidecar:
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


def _sleep(sleep: Object, grace: int | None, at: Path, report: Report) -> None:
    seconds = sleep.get("seconds") or 0
    if grace is not None and not 0 <= seconds <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        report.invalid(at, seconds, why)


def _file_volume(name: str, pod: Object, at: Path, report: Report) -> None:
    volume = next((each for each in pod.get("volumes") or () if each.get("name") == name), None)
    if volume is None:
        report.not_found(at, name)
    elif volume.get("emptyDir") is None:
        report.invalid(at, name, "referenced volume must be of type emptyDir")


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


def _pod_context(context: Object, at: Path, report: Report) -> None:
    if context.get("appArmorProfile") is not None:
        apparmor(context["appArmorProfile"], at / "appArmorProfile", report)
    for member, supported in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("Recursive",)),
    ):
        policy = context.get(member)
        if policy is not None and policy not in supported:
            report.unsupported(at / member, policy, supported)


def _own_users(value: Object, at: Path, report: Report) -> None:
    for member, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if value.get(member):
            report.forbidden(at / shown, _USER_NAMESPACE)
    for _, container, here in _containers(value, at):
        if container.get("volumeDevices"):
            report.forbidden(here / "volumeDevices", _USER_NAMESPACE)


def _hostname(value: Object, at: Path, report: Report) -> None:
    name, here = value["hostnameOverride"], at / "hostnameOverride"
    if len(name.encode()) > _MAX_HOSTNAME:
        report.too_long(here, _MAX_HOSTNAME)
    report.invalids(here, name, subdomain(name))
    for member in ("setHostnameAsFQDN", "hostNetwork"):
        if value.get(member):
            report.forbidden(here, f"may not be specified when {member} is true")


def _pod_resources(value: Object, at: Path, report: Report) -> None:
    """Validate resources of the whole pod: their names, and that containers need no more than them."""
    at, resources = at / "resources", value["resources"]
    if (value.get("os") or {}).get("name") == "windows":
        report.forbidden(at, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        report.forbidden(at / "claims", "claims may not be set for Resources at pod-level")
    known: dict[str, Any] = {}
    for member in ("limits", "requests"):
        amounts = resources.get(member) or {}
        for name in amounts:
            if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
                report.unsupported((at / member)[name], name, _POD_RESOURCES)
        known[member] = {n: a for n, a in amounts.items() if n in _RESIZED or n.startswith("hugepages-")}
    requirements(known, at, report)
    needed = _needed(value)
    for name, given in known["requests"].items():
        if name in needed and amount(needed[name]) > amount(given):
            why = f"must be greater than or equal to aggregate container requests of {needed[name]}"
            report.invalid((at / "requests")[name], str(given), why)
    for i, container in enumerate(value.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            most = known["limits"].get(name)
            if most is not None and amount(limit) > amount(most):
                why = f"must be less than or equal to pod limits of {most}"
                report.invalid((at / "containers")[i][name] / "limits", str(limit), why)


def _needed(value: Object) -> dict[str, str]:
    """What the containers of a pod request together: ordinary and restarted init ones add up, the others take turns."""
    sums: Usage = {}
    others: list[Usage] = []
    for member in ("containers", "initContainers"):
        for container in value.get(member) or ():
            requests = amounts((container.get("resources") or {}).get("requests"))
            if member == "containers" or container.get("restartPolicy") == "Always":
                sums = add(sums, requests)
            else:
                others.append(requests)
    for requests in others:
        sums.update({name: each for name, each in requests.items() if name not in sums or each > sums[name]})
    return {name: str(each) for name, each in sums.items()}
