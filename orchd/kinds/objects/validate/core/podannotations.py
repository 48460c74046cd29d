"""Validation of pod annotations with a meaning: mirror pods, AppArmor, seccomp, deletion cost, tolerations."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.digits import integer
from orchd.kinds.fields import mapping
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import apparmor
from orchd.kinds.objects.by_release import since
from orchd.kinds.objects.validate.core.annotation_structs import TOLERATION, structs
from orchd.kinds.objects.validate.core.field_rules import descending_path
from orchd.kinds.objects.validate.core.placement import tolerations
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

MIRROR: Final = "{long}.io/config.mirror"
TOLERATIONS: Final = "scheduler.alpha.{long}.io/tolerations"
DELETION_COST: Final = "controller.{long}.io/pod-deletion-cost"
SECCOMP_POD: Final = "seccomp.security.alpha.{long}.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.{long}.io/"
APPARMOR: Final = apparmor.ANNOTATION
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_INTEGER_RE: Final = re.compile(r"0|[1-9][0-9]{0,19}|-[0-9]{1,19}").fullmatch


def annotation_rules(value: dict[str, str], spec: Object, at: Path, report: Report) -> None:
    dialect = report.dialect
    mirror = value.get(dialect(MIRROR))
    if mirror is not None and not spec.get("nodeName"):
        report.invalid(at[dialect(MIRROR)], mirror, "must set spec.nodeName if mirror pod annotation is set")
    if value.get(dialect(TOLERATIONS)):
        _old_tolerations(value[dialect(TOLERATIONS)], at, report)
    cost = value.get(dialect(DELETION_COST))
    if cost is not None and not _int32(cost) and report.settings.feature("PodDeletionCost"):
        report.invalid(at[dialect(DELETION_COST)], cost, "must be a 32bit integer")
    pod, container, profile = dialect(SECCOMP_POD), dialect(SECCOMP_CONTAINER), dialect(APPARMOR)
    if pod in value:
        _seccomp(value[pod], at / pod, report)
    for key, text in value.items():
        if key.startswith(container):
            _seccomp(text, at / key, report)
    for key, text in value.items():
        if key.startswith(profile):
            name = key.removeprefix(profile)
            if not any(c.get("name") == name for listed in _LISTS for c in spec.get(listed) or ()):
                report.invalid(at[key], name, "container not found")
            if text not in ("", "runtime/default", "unconfined") and not text.startswith("localhost/"):
                report.invalid(at[key], text, f"invalid AppArmor profile name: {quote(text)}")


def _int32(text: str) -> bool:
    """Digits with an optional minus, no plus, no leading zeros without a minus, within 32 bits."""
    return _INTEGER_RE(text) is not None and -(2**31) <= integer(text) < 2**31


def _old_tolerations(text: str, at: Path, report: Report) -> None:
    listed, wrong = structs(text, "core.Toleration", TOLERATION)
    if wrong:
        report.invalid(at, report.dialect(TOLERATIONS), wrong)
    else:
        tolerations(listed, at / report.dialect(TOLERATIONS), report)


def _seccomp(profile: str, at: Path, report: Report) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith("localhost/"):
        descending_path(profile.removeprefix("localhost/"), at, report)
        return
    report.invalid(at, profile, "must be a valid seccomp profile")


def seccomp_agrees(metadata: Object, spec: Object, at: Path, report: Report) -> None:
    """An annotation and a field that both specify a seccomp profile must specify the same one."""
    annotations = metadata.get("annotations")
    if not annotations:
        return
    profile = mapping(spec, "securityContext").get("seccompProfile")
    annotation = annotations.get(report.dialect(SECCOMP_POD))
    if profile and annotation is not None:
        _agrees(annotation, profile, at / "securityContext" / "seccompProfile", report)
    prefix = report.dialect(SECCOMP_CONTAINER)
    for listed in _LISTS:
        for i, container in enumerate(spec.get(listed) or ()):
            profile = mapping(container, "securityContext").get("seccompProfile")
            annotation = annotations.get(prefix + (container.get("name") or ""))
            if profile and annotation is not None:
                _agrees(annotation, profile, (at / listed)[i] / "securityContext" / "seccompProfile", report)


def _agrees(annotation: str, profile: Object, at: Path, report: Report) -> None:
    kind = profile.get("type")
    forms = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
    if kind in forms:
        if annotation not in forms[kind]:
            report.forbidden(at / "type", "seccomp type in annotation and field must match")
    elif kind == "Localhost":
        if not annotation.startswith("localhost/"):
            report.forbidden(at / "type", "seccomp type in annotation and field must match")
        elif profile.get("localhostProfile") != annotation.removeprefix("localhost/"):
            report.forbidden(at / "localhostProfile", "seccomp profile in annotation and field must match")


_APPARMOR_TEXTS: Final = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}


def _apparmor_agrees(metadata: Object, spec: Object, at: Path, report: Report) -> None:
    """An annotation and the profile of its container, which may be that of the pod, must be the same. Windows has
    none."""
    annotations = metadata.get("annotations")
    if not annotations or mapping(spec, "os").get("name") == "windows":
        return
    prefix, of_pod = report.dialect(APPARMOR), mapping(spec, "securityContext").get("appArmorProfile")
    for listed in _LISTS:
        for i, container in enumerate(spec.get(listed) or ()):
            own = mapping(container, "securityContext").get("appArmorProfile")
            annotation, profile = annotations.get(prefix + (container.get("name") or "")), own or of_pod
            if profile is not None and annotation is not None:
                _apparmor_same(annotation, profile, (at / listed)[i] / "securityContext" / "appArmorProfile", report)


apparmor_agrees = since(apparmor.FIELDS_SINCE, _apparmor_agrees)


def _apparmor_same(annotation: str, profile: Object, at: Path, report: Report) -> None:
    kind, local = profile.get("type") or "", annotation.removeprefix("localhost/")
    wrong = local == annotation if kind == "Localhost" else _APPARMOR_TEXTS.get(kind, annotation) != annotation
    if wrong:
        report.forbidden(at / "type", "apparmor type in annotation and field must match")
    elif kind == "Localhost" and profile.get("localhostProfile") != local:
        report.forbidden(at / "localhostProfile", "apparmor profile in annotation and field must match")
