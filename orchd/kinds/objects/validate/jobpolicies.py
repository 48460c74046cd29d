"""Validation of policies of jobs, which exist since releases after that of the specification.

Releases that lack a field remove it before validation, so these rules do not ask for the release.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core.field_rules import is_domain_path
from orchd.kinds.objects.validate.jobindexes import IndexesError, count
from orchd.kinds.objects.validate.names import qualified_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_MAX_RULES: Final = 20
_MAX_CONDITIONS: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_MANAGER: Final = 63
_MAX_INDEXES_TEXT: Final = 64 * 1024
_MAX_FAILED: Final = 100_000
#: Above so many completions with a limit per index there are the lower limits below.
_MANY: Final = 100_000
_OF_MANY: Final = 10_000


def policies(spec: Object, at: Path, report: Report) -> None:
    """Validate all policies of a job's spec."""
    get = spec.get
    for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
        report.nonnegative(at / member, get(member))
    if get("maxFailedIndexes") is not None and get("backoffLimitPerIndex") is None:
        report.required(at / "backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if get("managedBy") is not None:
        manager = spec["managedBy"]
        is_domain_path(manager, at / "managedBy", report)
        if len(manager.encode()) > _MAX_MANAGER:
            report.too_long(at / "managedBy", _MAX_MANAGER)
    if get("completionMode") == "Indexed":
        _index_limits(spec, at, report)
    elif get("completionMode") in (None, "NonIndexed"):
        for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if get(member) is not None:
                report.invalid(at / member, spec[member], "requires indexed completion mode")
    if get("podFailurePolicy") is not None:
        _failure_policy(spec, at / "podFailurePolicy", report)
    if get("successPolicy") is not None:
        if get("completionMode") == "Indexed":
            _success_policy(spec, at / "successPolicy", report)
        else:
            rendered = dump("batch.SuccessPolicy", spec["successPolicy"])
            report.invalid(at / "successPolicy", rendered, "requires indexed completion mode")
    replacement = get("podReplacementPolicy")
    if replacement is not None:
        supported = ("Failed",) if get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
        if replacement not in supported:
            report.unsupported(at / "podReplacementPolicy", replacement, supported)


def _index_limits(spec: Object, at: Path, report: Report) -> None:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    if failed is not None:
        if completions is not None and failed > completions:
            report.invalid(at / "maxFailedIndexes", failed, "must be less than or equal to completions")
        if failed > _MAX_FAILED:
            report.invalid(at / "maxFailedIndexes", failed, f"must be less than or equal to {_MAX_FAILED}")
    if (completions or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            report.required(at / "maxFailedIndexes", f"must be specified when completions is above {_MANY}")
        words = (
            f"must be less than or equal to {_OF_MANY} when completions are above {_MANY} and used with "
            "backoff limit per index"
        )
        for member in ("parallelism", "maxFailedIndexes"):
            if (spec.get(member) or 0) > _OF_MANY:
                report.invalid(at / member, spec[member], words)


def _listed(values: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{value}"' for value in values) + "]"


def _failure_policy(spec: Object, at: Path, report: Report) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        report.too_many(at / "rules", len(rules), _MAX_RULES)
    pod = fields.spec(spec.get("template") or {})
    names = {each.get("name") for member in ("containers", "initContainers") for each in pod.get(member) or ()}
    for i, rule in enumerate(rules):
        here, action = (at / "rules")[i], rule.get("action") or ""
        if not action:
            report.required(here / "action", _listed(_ACTIONS))
        elif action not in _ACTIONS:
            report.unsupported(here / "action", action, _ACTIONS)
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            report.invalid(here / "action", action, "requires the backoffLimitPerIndex to be set")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            _exit_codes(codes, names, here / "onExitCodes", report)
        if conditions:
            _conditions(conditions, here / "onPodConditions", report)
        if codes is not None and conditions:
            report.inadmissible(here, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            report.inadmissible(here, "specifying one of OnExitCodes and OnPodConditions is required")


def _conditions(listed: list[Object], at: Path, report: Report) -> None:
    if len(listed) > _MAX_CONDITIONS:
        report.too_many(at, len(listed), _MAX_CONDITIONS)
    for i, pattern in enumerate(listed):
        kind, status = pattern.get("type") or "", pattern.get("status") or ""
        report.invalids(at[i] / "type", kind, qualified_name(kind))
        if not status:
            report.required(at[i] / "status", _listed(_STATUSES))
        elif status not in _STATUSES:
            report.unsupported(at[i] / "status", status, _STATUSES)


def _exit_codes(codes: Object, names: set[str | None], at: Path, report: Report) -> None:
    operator, values = codes.get("operator") or "", codes.get("values")
    if not operator:
        report.required(at / "operator", _listed(_OPERATORS))
    elif operator not in _OPERATORS:
        report.unsupported(at / "operator", operator, _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        why = "must be one of the container or initContainer names in the pod template"
        report.invalid(at / "containerName", name, why)
    if not values:
        report.invalid(at / "values", values, "at least one value is required")
        return
    if len(values) > _MAX_EXIT_CODES:
        report.too_many(at / "values", len(values), _MAX_EXIT_CODES)
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            report.invalid((at / "values")[i], value, "must not be 0 for the In operator")
        if value in seen:
            report.duplicate((at / "values")[i], value)
        seen.add(value)
    if any(after < before for before, after in pairwise(values)):
        report.invalid(at / "values", values, "must be ordered")


def _success_policy(spec: Object, at: Path, report: Report) -> None:
    rules, completions = spec["successPolicy"].get("rules") or (), spec.get("completions") or 0
    if not rules:
        report.required(at / "rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MAX_RULES:
        report.too_many(at / "rules", len(rules), _MAX_RULES)
    for i, rule in enumerate(rules):
        here, text, least = (at / "rules")[i], rule.get("succeededIndexes"), rule.get("succeededCount")
        if text is None and least is None:
            report.required(here, "at least one of succeededCount or succeededIndexes must be specified")
        total = 0
        if text is not None:
            if len(text) > _MAX_INDEXES_TEXT:
                report.too_long(here / "succeededIndexes", _MAX_INDEXES_TEXT)
            try:
                total = count(text, completions)
            except IndexesError as error:
                report.invalid(here / "succeededIndexes", text, f"error parsing succeededIndexes: {error}")
        if least is not None:
            words = "must be less than or equal to"
            report.nonnegative(here / "succeededCount", least)
            if least > completions:
                why = f"{words} {completions} (the number of specified completions)"
                report.invalid(here / "succeededCount", least, why)
            if text is not None and least > total:
                why = f"{words} {total} (the number of indexes in the specified succeededIndexes field)"
                report.invalid(here / "succeededCount", least, why)


def policies_kept(spec: Object, before: Object, at: Path, report: Report) -> None:
    """Validate that policies are those that the job was created with."""
    for member, type_name in (
        ("podFailurePolicy", "*batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", "*int32"),
        ("managedBy", "*string"),
        ("successPolicy", "*batch.SuccessPolicy"),
    ):
        if spec.get(member) != before.get(member):
            report.invalid(at / member, dump(type_name, spec.get(member)), "field is immutable")
