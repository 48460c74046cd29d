"""Nodes."""

from __future__ import annotations

import json
from typing import Any, Final

from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.forms import is_qualified
from orchd.kinds.objects.validate.core.placement import EFFECTS
from orchd.kinds.objects.validate.core.resources import quantity_value
from orchd.kinds.objects.validate.errortext import json_error
from orchd.kinds.objects.validate.gosyntax import dump
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.words import label_value, parse_cidr, subdomain_name

Object = dict[str, Any]

AVOID_PODS: Final = "scheduler.alpha.{long}.io/preferAvoidPods"


def create(node: Object, report: Report) -> None:
    metadata, spec = node.get("metadata") or {}, node.get("spec") or {}
    meta.create(metadata, report, namespaced=False, name_rule=subdomain_name)
    _avoided(metadata.get("annotations") or {}, report)
    _taints(spec.get("taints") or [], METADATA / "taints", report)
    _resources(node, report)
    _pod_ranges(spec.get("podCIDRs") or [], report)


def _avoided(annotations: Object, report: Report) -> None:
    key = report.dialect(AVOID_PODS)
    text = annotations.get(key)
    if not text:
        return
    at = METADATA / "annotations" / "AvoidPods"
    wrong = json_error(text.encode())
    if wrong:
        report.invalid(at, key, wrong)
        return
    avoid = (json.loads(text) or {}).get("preferAvoidPods") or []
    for i, entry in enumerate(avoid):
        if not ((entry.get("podSignature") or {}).get("podController") or {}).get("controller"):
            report.invalid(at[i] / "podSignature" / "podController" / "controller", False, "must point to a controller")


def _taints(listed: list[Object], at: Path, report: Report) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(listed):
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        is_qualified(key, at[i] / "key", report)
        wrong = label_value(taint.get("value") or "")
        if wrong:
            report.invalid(at[i] / "value", taint.get("value"), ";".join(wrong))
        if not effect:
            report.required(at[i] / "effect")
        elif effect not in EFFECTS:
            report.unsupported(at[i] / "effect", effect, EFFECTS)
        if (key, effect) in seen:
            shown = dump("core.Taint", taint)
            report.duplicate_because(at[i], shown, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _resources(node: Object, report: Report) -> None:
    status = node.get("status") or {}
    for member in ("capacity", "allocatable"):
        for name, number in (status.get(member) or {}).items():
            quantity_value(name, number, STATUS / member / name, report)


def _pod_ranges(ranges: list[str], report: Report) -> None:
    at = SPEC / "podCIDRs"
    families: list[int] = []
    for i, text in enumerate(ranges):
        parsed = parse_cidr(text)
        if parsed is None:
            report.invalid(at[i], ranges, "must be valid CIDR")
        else:
            families.append(parsed[0].version)
    if len(ranges) > 1:
        if len(set(families)) != 2 or len(ranges) > 2:
            report.invalid(at, ranges, "may specify no more than one CIDR for each IP family")
        for i, text in enumerate(ranges):
            if text in ranges[:i]:
                report.duplicate(at[i], text)


def update(node: Object, old: Object, report: Report) -> None:
    # What holds for a new node comes before what holds for a change, so some causes come twice.
    create(node, report)
    update_status(node, old, report)


def update_status(node: Object, old: Object, report: Report) -> None:
    meta.update(node.get("metadata") or {}, old.get("metadata") or {}, report)
    spec, before = node.get("spec") or {}, old.get("spec") or {}
    _avoided((node.get("metadata") or {}).get("annotations") or {}, report)
    _resources(node, report)
    seen: list[Object] = []
    for i, address in enumerate((node.get("status") or {}).get("addresses") or ()):
        if address in seen:
            report.duplicate((STATUS / "addresses")[i], dump("core.NodeAddress", address))
        seen.append(address)
    had = before.get("podCIDRs") or []
    if had and (spec.get("podCIDRs") or []) != had:
        report.forbidden(SPEC / "podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    elif not had:
        _pod_ranges(spec.get("podCIDRs") or [], report)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        report.forbidden(SPEC / "providerID", 'node updates may not change providerID except from "" to valid')
    _taints(spec.get("taints") or [], METADATA / "taints", report)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        report.forbidden(SPEC / "externalID", "may not be updated")
