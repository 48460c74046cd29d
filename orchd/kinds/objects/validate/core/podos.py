"""Validation of the operating system that a pod names: its security settings are those of the system."""

from __future__ import annotations

from typing import Final

from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_SYSTEMS: Final = ("linux", "windows")
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_LINUX: Final = "windows options cannot be set for a linux pod"
_WINDOWS: Final = "cannot be set for a windows pod"
#: Members of a pod's and of a container's security context, and of a pod's spec ("."), that Windows lacks, in checking
#: order.
_OF_POD: Final = tuple(
    "appArmorProfile seLinuxOptions .hostUsers .hostPID .hostIPC seccompProfile fsGroup fsGroupChangePolicy sysctls "
    ".shareProcessNamespace runAsUser runAsGroup supplementalGroups supplementalGroupsPolicy".split()
)
_OF_CONTAINER: Final = tuple(
    "appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged "
    "allowPrivilegeEscalation procMount runAsUser runAsGroup".split()
)
#: Members that count only if they are not empty.
_EMPTY: Final = frozenset((".hostPID", ".hostIPC", "sysctls"))


def operating_system(spec: Object, at: Path, report: Report) -> None:
    """Validate spec.os and what it excludes; `at` is the path of the spec."""
    name = spec["os"].get("name") or ""
    if not report.settings.feature("IdentifyPodOS"):
        report.forbidden(at / "os", "cannot be set when IdentifyPodOS feature is not enabled")
    elif not name:
        report.required(at / "os" / "name", reworded("cannot be empty", ("1.35", "")))
    elif name not in _SYSTEMS:
        report.unsupported(at / "os", name, _SYSTEMS)
    elif name == "linux":
        _linux(spec, at, report)
    else:
        _windows(spec, at, report)


def _linux(spec: Object, at: Path, report: Report) -> None:
    if mapping(spec, "securityContext").get("windowsOptions") is not None:
        report.forbidden(at / "securityContext" / "windowsOptions", _LINUX)
    for listed in _LISTS:
        for i, container in enumerate(spec.get(listed) or ()):
            if mapping(container, "securityContext").get("windowsOptions") is not None:
                report.forbidden((at / listed)[i] / "securityContext" / "windowsOptions", _LINUX)


def _windows(spec: Object, at: Path, report: Report) -> None:
    context = spec.get("securityContext")
    if context is not None:
        for member in _OF_POD:
            own = member.startswith(".")
            value = (spec if own else context).get(member.removeprefix("."))
            if value if member in _EMPTY else value is not None:
                report.forbidden((at if own else at / "securityContext") / member.removeprefix("."), _WINDOWS)
    for listed in _LISTS:
        for i, container in enumerate(spec.get(listed) or ()):
            security = mapping(container, "securityContext")
            for member in _OF_CONTAINER:
                if security.get(member) is not None:
                    report.forbidden((at / listed)[i] / "securityContext" / member, _WINDOWS)
