"""Validation rules that workloads share: selector and template, int-or-percent, counts in the status."""

from __future__ import annotations

import re
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.digits import integer
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import until
from orchd.kinds.objects.validate.core import pods
from orchd.kinds.objects.validate.names import percent
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import is_empty, label_selector, matches

_DIGITS: Final = re.compile("[-+]?[0-9]+").fullmatch


def shown_selector(selector: Object | None) -> Any:
    return None if selector is None else dump("v1.LabelSelector", selector)


def selector(value: Object | None, kind: str, at: Path, report: Report) -> None:
    """Validate a selector that is required and must not be empty."""
    if value is None:
        report.required(at)
        return
    label_selector(value, at, report)
    if is_empty(value):
        report.invalid(at, shown_selector(value), f"empty selector is invalid for {kind}")


def agrees(value: Object | None, template: Object, at: Path, report: Report) -> None:
    """Validate that the selector selects the template's labels. `at` is the path of the template."""
    template_labels = fields.metadata(template).get("labels")
    if not matches(value, template_labels):
        rendered = dump("map[string]string", template_labels)
        report.invalid(at / "metadata" / "labels", rendered, "`selector` does not match template `labels`")


def template(
    value: Object | None, chosen: Object | None, kind: str, at: Path, report: Report, *, replicas: int | None = None
) -> None:
    """Validate the template of a workload with restart policy Always. `chosen` is its selector."""
    value = value or {}
    if chosen is None or not is_empty(chosen):
        agrees(chosen, value, at, report)
    pods.template(value, at, report)
    if (replicas or 0) > 1:
        read_only_disks(value, at, report)
    restarts_always(value, kind, at, report)


def _read_only_disks(value: Object, at: Path, report: Report) -> None:
    """Reject disks that only one node may write to, for several replicas. `at` is the path of the template."""
    for i, volume in enumerate(fields.spec(value).get("volumes") or ()):
        disk = volume.get("gcePersistentDisk")
        if disk is not None and not disk.get("readOnly"):
            why = (
                "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines "
                "if it is read-only"
            )
            report.invalid((at / "spec" / "volumes")[i] / "gcePersistentDisk" / "readOnly", False, why)


read_only_disks = until("1.29", _read_only_disks)


def restarts_always(value: Object, kind: str, at: Path, report: Report) -> None:
    spec = fields.spec(value)
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        report.unsupported(at / "spec" / "restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        report.forbidden(at / "spec" / "activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported")


def nonnegative(value: Object, members: tuple[str, ...], at: Path, report: Report) -> None:
    for member in members:
        number = value.get(member)
        if number is not None and number < 0:
            report.nonnegative(at / member, number)


def int_or_percent(value: int | str | None, at: Path, report: Report) -> None:
    if isinstance(value, str):
        report.invalids(at, dump("intstr.IntOrString", value), percent(value))
    else:
        report.nonnegative(at, value)


def at_most_all(value: int | str | None, at: Path, report: Report) -> None:
    if isinstance(value, str) and not percent(value) and integer(value[:-1]) > 100:
        report.invalid(at, dump("intstr.IntOrString", value), "must not be greater than 100%")


def number_of(value: int | str | None) -> int:
    """The number in an int-or-percent; 0 for other text."""
    if isinstance(value, str):
        text = value if percent(value) else value[:-1]
        return integer(text) if _DIGITS(text) else 0
    return value or 0


def at_most_replicas(status: Object, members: tuple[str, ...], at: Path, report: Report) -> None:
    for member in members:
        if (status.get(member) or 0) > (status.get("replicas") or 0):
            report.invalid(at / member, status.get(member) or 0, "cannot be greater than status.replicas")


def collisions(status: Object, old: Object, at: Path, report: Report) -> None:
    before, now = old.get("collisionCount"), status.get("collisionCount")
    if before is not None and (now is None or now < before):
        report.invalid(at / "collisionCount", now or 0, "cannot be decremented")
