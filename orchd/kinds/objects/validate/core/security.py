"""Validation of security contexts of pods and containers."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.fields import mapping
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate.core.field_rules import MAX_INT32, descending_path
from orchd.kinds.objects.validate.names import between, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_RE: Final = re.compile(_SYSCTL).fullmatch
_SYSCTL_PATH: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_PATH_RE: Final = re.compile(_SYSCTL_PATH).fullmatch
_CONTROL_RE: Final = re.compile(r"[\x00-\x1f\x7f]").search
_NETBIOS_RE: Final = re.compile(r"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{0,14}").fullmatch
_DOMAIN_PART: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN_RE: Final = re.compile(rf"{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*").fullmatch
_NO_USER_RE: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search


def container_context(context: Object, at: Path, report: Report, *, unmasks: bool = True) -> None:
    """`unmasks`: the container may unmask the process file system."""
    if context.get("privileged") and not report.settings.allow_privileged:
        report.forbidden(at / "privileged", "disallowed by cluster policy")
    _ids(context, ("runAsUser", "runAsGroup"), at, report)
    proc_mount = context.get("procMount")
    if proc_mount is not None and proc_mount not in ("Default", "Unmasked"):
        report.unsupported(at / "procMount", proc_mount, ("Default", "Unmasked"))
    if proc_mount == "Unmasked" and not unmasks:
        report.invalid(at / "procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    if context.get("seccompProfile") is not None:
        seccomp(context["seccompProfile"], at / "seccompProfile", report)
    if context.get("allowPrivilegeEscalation") is False:
        _no_escalation(context, at, report)
    if context.get("windowsOptions") is not None:
        windows(context["windowsOptions"], at / "windowsOptions", report)


def _no_escalation(context: Object, at: Path, report: Report) -> None:
    words = "cannot set `allowPrivilegeEscalation` to false and "
    if context.get("privileged"):
        report.invalid(at, dump("core.SecurityContext", context), words + "`privileged` to true")
    if "CAP_SYS_ADMIN" in (mapping(context, "capabilities").get("add") or ()):
        report.invalid(at, dump("core.SecurityContext", context), words + "`capabilities.Add` CAP_SYS_ADMIN")


def _ids(context: Object, members: tuple[str, ...], at: Path, report: Report) -> None:
    for member in members:
        number = context.get(member)
        if number is not None and not 0 <= number <= MAX_INT32:
            report.invalids(at / member, number, between(number, 0, MAX_INT32))


def pod_context(context: Object, spec: Object, spec_at: Path, report: Report) -> None:
    at = spec_at / "securityContext"
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        shared = True
    else:
        shared = False
    if not context and not shared:
        return
    _ids(context, ("fsGroup", "runAsUser", "runAsGroup"), at, report)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        report.invalids((at / "supplementalGroups")[i], group, between(group, 0, MAX_INT32))
    if shared:
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        report.invalid(at / "shareProcessNamespace", True, why)
    _sysctls(context.get("sysctls") or [], spec, at / "sysctls", report)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        report.unsupported(at / "fsGroupChangePolicy", policy, ("Always", "OnRootMismatch"))
    if context.get("seccompProfile") is not None:
        seccomp(context["seccompProfile"], at / "seccompProfile", report)
    if context.get("windowsOptions") is not None:
        windows(context["windowsOptions"], at / "windowsOptions", report)


def host_network(spec: Object, at: Path, report: Report, *, in_pod: bool) -> None:
    """Validate ports on the host network, which are those of the node. `in_pod`: all are set, unlike in a template."""
    if not spec.get("hostNetwork"):
        return
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            if (in_pod or port.get("hostPort")) and port.get("hostPort") != port.get("containerPort"):
                _port_mismatch(port, ((at / "containers")[i] / "ports")[j], report)


def _container_port_mismatch(port: Object, at: Path, report: Report) -> None:
    why = "must match `hostPort` when `hostNetwork` is true"
    report.invalid(at / "containerPort", port.get("containerPort") or 0, why)


def _host_port_mismatch(port: Object, at: Path, report: Report) -> None:
    report.invalid(at / "hostPort", port.get("hostPort") or 0, "must match `containerPort` when `hostNetwork` is true")


_port_mismatch = by_release(_container_port_mismatch, ("1.28", _host_port_mismatch))


def _is_dotted(name: str, report: Report) -> bool:
    return len(name) <= 253 and _SYSCTL_RE(name) is not None


def _is_dotted_or_path(name: str, report: Report) -> bool:
    return len(name) <= 253 and _SYSCTL_PATH_RE(name) is not None


_is_sysctl = by_release(_is_dotted, ("1.24", _is_dotted_or_path))


def _of_any_pod(name: str, spec: Object, at: Path, report: Report) -> None:
    """A parameter may be set for any pod."""


def _of_own_namespace(name: str, spec: Object, at: Path, report: Report) -> None:
    """A parameter of a namespace of the kernel may be set for a pod that has its own one."""
    dotted = name.replace("/", ".") if "." not in name.split("/")[0] else name
    if spec.get("hostNetwork") and dotted.startswith("net."):
        report.invalid(at, name, "may not be specified when 'hostNetwork' is true")
    if spec.get("hostIPC") and dotted.startswith(_IPC):
        report.invalid(at, name, "may not be specified when 'hostIPC' is true")


_namespaced = by_release(_of_any_pod, ("1.24", _of_own_namespace))
_IPC: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.", "kernel.sem")


def _sysctls(listed: list[Object], spec: Object, at: Path, report: Report) -> None:
    seen: set[str] = set()
    for i, sysctl in enumerate(listed):
        name = sysctl.get("name") or ""
        if not name:
            report.required(at[i] / "name")
        elif not _is_sysctl(name, report):
            words = "must have at most 253 characters and match regex"
            why = reworded(f"{words} {_SYSCTL}", ("1.24", f"{words} ^{_SYSCTL_PATH}$"))
            report.invalid(at[i] / "name", name, why)
        elif name in seen:
            report.duplicate(at[i] / "name", name)
        seen.add(name)
        if name:
            _namespaced(name, spec, at[i] / "name", report)


def seccomp(profile: Object, at: Path, report: Report) -> None:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        report.required(at / "type", "type is required when seccompProfile is set")
    elif kind not in ("Localhost", "RuntimeDefault", "Unconfined"):
        report.unsupported(at / "type", kind, ("Localhost", "RuntimeDefault", "Unconfined"))
    if kind == "Localhost":
        if local is None:
            report.required(at / "localhostProfile", "must be set when seccomp type is Localhost")
        else:
            descending_path(local, at / "localhostProfile", report)
    elif local is not None:
        rendered = dump("core.SeccompProfile", profile)
        report.invalid(at / "localhostProfile", rendered, "can only be set when seccomp type is Localhost")


def windows(options: Object, at: Path, report: Report) -> None:
    name, spec, user = (
        options.get("gmsaCredentialSpecName"),
        options.get("gmsaCredentialSpec"),
        options.get("runAsUserName"),
    )
    if name is not None:
        report.invalids(at / "gmsaCredentialSpecName", name, subdomain(name))
    if spec is not None:
        if not spec:
            report.invalid(at / "gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
        elif len(spec.encode()) > 64 * 1024:
            report.invalid(at / "gmsaCredentialSpec", spec, "gmsaCredentialSpec size must be under 64 KiB")
    if user is not None:
        _windows_user(user, at / "runAsUserName", report)


def _windows_user(name: str, at: Path, report: Report) -> None:
    """Validate a Windows user name: ``user`` or ``domain\\user``."""
    if not name:
        report.invalid(at, name, "runAsUserName cannot be an empty string")
    elif _CONTROL_RE(name):
        report.invalid(at, name, "runAsUserName cannot contain control characters")
    elif name.count("\\") > 1:
        report.invalid(at, name, "runAsUserName cannot contain more than one backslash")
    else:
        domain, slash, user = name.rpartition("\\")
        if len(domain.encode()) >= 256:
            report.invalid(at, name, "runAsUserName's Domain length must be under 256 characters")
        if slash and not _NETBIOS_RE(domain) and not _DOMAIN_RE(domain):
            report.invalid(at, name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
        if not user:
            report.invalid(at, name, "runAsUserName's User cannot be empty")
        elif len(user.encode()) > 104:
            report.invalid(at, name, "runAsUserName's User length must not be longer than 104 characters")
        if user and not user.strip(". "):
            report.invalid(at, name, "runAsUserName's User cannot contain only periods or spaces")
        if _NO_USER_RE(user):
            why = "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
            report.invalid(at, name, why)


def host_process(spec: Object, at: Path, report: Report) -> None:
    """Validate Windows host-process containers: all containers of a pod or none, with the host's network."""
    pod = mapping(spec, "securityContext", "windowsOptions").get("hostProcess")
    allowed = report.settings.feature("WindowsHostProcessContainers")
    why = "not allowed when feature gate 'WindowsHostProcessContainers' is not enabled"
    if not allowed and pod is not None:
        report.forbidden(at / "securityContext" / "windowsOptions" / "hostProcess", why)
        return
    total = count = 0
    for listed in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(listed) or ()):
            total += 1
            context = container.get("securityContext")
            own = mapping(context, "windowsOptions").get("hostProcess") if context else None
            if not allowed and own is not None:
                report.forbidden((at / listed)[i] / "securityContext" / "windowsOptions" / "hostProcess", why)
            if pod is not None and own is not None and pod != own:
                report.invalid(
                    (at / listed)[i] / "securityContext" / "windowsOptions" / "hostProcess",
                    own,
                    f"pod hostProcess value must be identical if both are specified, was {str(pod).lower()}",
                )
            if own or (own is None and pod):
                count += 1
    if not count:
        return
    if not allowed:
        words = "pod must not contain Windows hostProcess containers when feature gate"
        report.forbidden(at, f"{words} 'WindowsHostProcessContainers' is not enabled")
        return
    if count != total:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        report.invalid(at, "", why)
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        report.invalid(at / "hostNetwork", False, why)
    if not report.settings.allow_privileged:
        report.forbidden(at, "hostProcess containers are disallowed by cluster policy")
