"""Validation of nodes."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, until
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.annotation_structs import TAINT, avoided_controllers, structs
from orchd.kinds.objects.validate.core.field_rules import is_qualified
from orchd.kinds.objects.validate.core.placement import EFFECTS
from orchd.kinds.objects.validate.core.resources import quantity_value
from orchd.kinds.objects.validate.names import CIDR, label_value, parse_cidr, subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report

AVOID_PODS: Final = "scheduler.alpha.{long}.io/preferAvoidPods"
TAINTS: Final = "scheduler.alpha.{long}.io/taints"


def create(node: Object, report: Report) -> None:
    metadata, spec = fields.metadata(node), fields.spec(node)
    meta.create(node, report, namespaced=False, name_rule=subdomain_name)
    if metadata.get("annotations"):
        _annotations(metadata["annotations"], report)
    _taints(spec.get("taints") or [], METADATA / "taints", report)
    _resources(node, report)
    _declared_features(node, report)
    _pod_ranges(spec.get("podCIDRs") or [], report)


def _annotations(annotations: Object, report: Report) -> None:
    """Validate annotations: taints in their former form, and pods that the node prefers to avoid."""
    at = METADATA / "annotations"
    key = report.dialect(TAINTS)
    if annotations.get(key):
        taints, wrong = structs(annotations[key], "core.Taint", TAINT)
        if wrong:
            report.invalid(at, key, wrong)
        else:
            _taints(taints, at / key, report)
    key = report.dialect(AVOID_PODS)
    if annotations.get(key):
        controllers, wrong = avoided_controllers(annotations[key])
        if wrong:
            report.invalid(at / "AvoidPods", key, wrong)
        else:
            _avoided(controllers, at / key, report)


def _avoided(controllers: list[Object | None], at: Path, report: Report) -> None:
    for i, controller in enumerate(controllers):
        if controller is None:
            report.required(at[i] / "PodSignature")
        elif not controller.get("controller"):
            where = at[i] / "PodSignature" / "PodController" / "Controller"
            report.invalid(where, False, "must point to a controller")


def _taints(listed: list[Object], at: Path, report: Report) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(listed):
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        is_qualified(key, at[i] / "key", report)
        wrong = label_value(taint.get("value") or "")
        if wrong:
            report.invalid(at[i] / "value", taint.get("value"), report.joined(wrong, ";"))
        if not effect:
            report.required(at[i] / "effect")
        elif effect not in EFFECTS:
            report.unsupported(at[i] / "effect", effect, EFFECTS)
        if (key, effect) in seen:
            rendered = dump("core.Taint", taint)
            report.duplicate_because(at[i], rendered, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _resources(node: Object, report: Report) -> None:
    status = fields.status(node)
    for member in ("capacity", "allocatable"):
        for name, number in (status.get(member) or {}).items():
            quantity_value(name, number, STATUS / member / name, report)


_FEATURE_RE: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch
_BAD_FEATURE: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def _declared_features(node: Object, report: Report) -> None:
    at, names = STATUS / "declaredFeatures", fields.status(node).get("declaredFeatures") or []
    for i, name in enumerate(names):
        if len(name.encode()) > 253:
            report.invalid(at[i], name, f"invalid feature name {quote(name)}: must be no more than 253 characters")
        elif not _FEATURE_RE(name):
            report.invalid(at[i], name, f"invalid feature name {quote(name)}: {_BAD_FEATURE}")
        if i + 1 < len(names) and name == names[i + 1]:
            report.duplicate(at[i + 1], name)
        elif i + 1 < len(names) and name > names[i + 1]:
            report.invalid(at[i + 1], names[i + 1], "list must be sorted alphabetically")


def _all_ranges_shown(ranges: list[str], i: int, at: Path, report: Report) -> None:
    report.invalid(at[i], ranges, "must be valid CIDR")


def _range_shown(ranges: list[str], i: int, at: Path, report: Report) -> None:
    report.invalid(at[i], ranges[i], CIDR)


_bad_range = by_release(_all_ranges_shown, ("1.32", _range_shown))


def _duplicate_ranges(ranges: list[str], at: Path, report: Report) -> None:
    for i in sorted(repeats(ranges)):
        report.duplicate(at[i], ranges[i])


_repeated_ranges = until("1.32", _duplicate_ranges)
_UNREADABLE_RANGE: Final = (
    ("", "failed to parse cidr value:{quoted} with error:invalid CIDR address: {text}"),
    ("1.32", "invalid CIDR[{i}]: <nil> (invalid CIDR address: {text})"),
)


def _pod_ranges(ranges: list[str], report: Report) -> None:
    at = SPEC / "podCIDRs"
    families: list[int] = []
    bad = ""
    for i, text in enumerate(ranges):
        parsed = parse_cidr(text)
        if parsed is None:
            _bad_range(ranges, i, at, report)
            bad = bad or report.release.choose(_UNREADABLE_RANGE).format(i=i, quoted=quote(text), text=text)
        else:
            families.append(parsed[0].version)
    if len(ranges) > 1:
        if bad:
            report.internal(at, f"invalid PodCIDRs. failed to check with dual stack with error:{bad}")
        if bad or len(set(families)) != 2 or len(ranges) > 2:
            report.invalid(at, ranges, "may specify no more than one CIDR for each IP family")
        _repeated_ranges(ranges, at, report)


def update(node: Object, old: Object, report: Report) -> None:
    # The rules for new nodes run before those for changes, so some errors are reported twice.
    create(node, report)
    update_status(node, old, report)


def update_status(node: Object, old: Object, report: Report) -> None:
    meta.update(node, old, report)
    spec, before = fields.spec(node), fields.spec(old)
    annotations = fields.metadata(node).get("annotations")
    if annotations:
        _annotations(annotations, report)
    _resources(node, report)
    _declared_features(node, report)
    addresses = fields.status(node).get("addresses") or ()
    for i in sorted(repeats(addresses)):
        report.duplicate((STATUS / "addresses")[i], dump("core.NodeAddress", addresses[i]))
    had, have = before.get("podCIDRs") or [], spec.get("podCIDRs") or []
    if had:
        changed = [a != b for a, b in zip(had, have, strict=True)] if len(had) == len(have) else [True]
        for _ in filter(None, changed):
            report.forbidden(SPEC / "podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        report.forbidden(SPEC / "providerID", 'node updates may not change providerID except from "" to valid')
    _taints(spec.get("taints") or [], METADATA / "taints", report)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        report.forbidden(SPEC / "externalID", "may not be updated")
