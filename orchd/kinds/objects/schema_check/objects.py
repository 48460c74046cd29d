"""Validation of custom objects: metadata, schema, scale fields, embedded objects, list types, rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import VersionEntry
from orchd.kinds.crd.scale import ScaleMapping, scale_mapping
from orchd.kinds.gotext.values import show
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check import compiled, embedded, listtypes, rules, scale
from orchd.kinds.objects.schema_check.correlation import Matched, TimeSpent
from orchd.kinds.objects.schema_check.findings import INVALID, Finding
from orchd.kinds.objects.schema_check.limits import NO_LIMITS, Limits
from orchd.kinds.objects.schema_check.rules import GATE
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import subdomain_name
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.release import Release


@dataclass(frozen=True, slots=True)
class Checks:
    """The compiled checks of one version of a kind. `status` is that of the member."""

    schema: Mapping[str, Any]
    check: compiled.Check
    status: compiled.Check | None
    lists: listtypes.Walk | None
    embedded: embedded.Walk | None
    scale: ScaleMapping | None
    rules: rules.Place | None


def checks_of(resource: Resource, settings: ObjectSettings) -> Checks:
    """The checks of a version of a custom kind, compiled once."""
    checks: Checks | None = resource.type.memo.get("check")
    if checks is None:
        entry = resource.definition
        schema = entry.json_schema if isinstance(entry, VersionEntry) else {}
        status = (schema.get("properties") or {}).get("status")
        checks = resource.type.memo["check"] = Checks(
            schema,
            compiled.compile_schema(schema, settings),
            None if status is None else compiled.compile_schema(status, settings),
            listtypes.compile_lists(schema, settings),
            embedded.compile_embedded(schema, settings.dialect),
            scale_mapping(resource),
            rules.compile_places(schema, settings),
        )
    return checks


def identity_causes(obj: Object, resource: Resource) -> list[Cause]:
    """Causes for a wrong apiVersion or kind, in which case nothing else is checked."""
    out = []
    if obj.get("kind") != resource.kind:
        out.append(_other("kind", obj, resource.kind))
    if obj.get("apiVersion") != resource.api_version:
        out.append(_other("apiVersion", obj, resource.api_version))
    return out


def _other(name: str, obj: Object, expected: str) -> Cause:
    return Cause(INVALID, f"Invalid value: {show(obj.get(name) or '')}: must be {expected}", name)


def create_causes(
    obj: Object, resource: Resource, settings: ObjectSettings, *, limits: Limits = NO_LIMITS
) -> list[Cause]:
    """All causes for a new object in the version of `resource`. Raises LongValidationError as `limits` say."""
    checks, report = checks_of(resource, settings), Report(settings)
    meta.create(obj, report, namespaced=resource.namespaced, name_rule=subdomain_name, core=False)
    out = report.causes
    with limits.applied():
        findings = checks.check(obj)
    out += causes(findings, settings.release)
    if checks.scale is not None:
        out += scale.spec_causes(obj, checks.scale, settings.release)
        out += scale.status_causes(obj, checks.scale, settings.release)
    if checks.embedded is not None:
        out += embedded.embedded_causes(checks.embedded, obj, settings)
    out += _list_causes(checks, obj)
    if checks.rules is not None and settings.feature(GATE):
        out += [rules.UNCHECKED] if _blocked(findings, out) else rules.evaluate(checks.rules, obj, limits=limits)
    return out


def update_causes(
    obj: Object,
    old: Object,
    resource: Resource,
    settings: ObjectSettings,
    *,
    subresource: str = "",
    limits: Limits = NO_LIMITS,
    warn: Callable[[str], None] = lambda text: None,
) -> list[Cause]:
    """All causes for an update of `old`, both in the version of `resource`. Rules that do not hold for unchanged values
    are passed to `warn`. Raises LongValidationError as `limits` say."""
    checks, report = checks_of(resource, settings), Report(settings)
    meta.update(obj, old, report, core=False)
    out = report.causes
    judge, time = settings.release.choose(_JUDGES), TimeSpent()
    with limits.applied():
        findings, at = judge(checks, obj, old, subresource, settings, time)
    out += causes(findings, settings.release, field=at)
    if checks.scale is not None:
        if subresource != "status":
            out += scale.spec_causes(obj, checks.scale, settings.release)
        out += scale.status_causes(obj, checks.scale, settings.release)
    if checks.embedded is not None and subresource != "status":
        out += embedded.embedded_causes(checks.embedded, obj, settings)
    lists = _list_causes(checks, obj)
    # Lists that were invalid before are accepted.
    if lists and not _list_causes(checks, old):
        out += lists
    if checks.rules is not None and settings.feature(GATE):
        out += (
            [rules.UNCHECKED]
            if _blocked(findings, out)
            else rules.evaluate(checks.rules, obj, old, limits=limits, ratcheting=rules.Ratcheting(warn, time))
        )
    settings.rule_times.comparison(time.seconds)
    return out


def _blocked(findings: Sequence[Finding], out: Sequence[Cause]) -> bool:
    """True if rules could not rely on the shape of the object."""
    return any(each.blocks for each in findings) or any(map(rules.blocks, out))


def _judge_all(
    checks: Checks, obj: Object, old: Object, subresource: str, settings: ObjectSettings, time: TimeSpent
) -> tuple[Sequence[Finding], str]:
    """Findings about an object and the path of what they are about: the whole object, changed or not."""
    return checks.check(obj), ""


def _judge_changes(
    checks: Checks, obj: Object, old: Object, subresource: str, settings: ObjectSettings, time: TimeSpent
) -> tuple[Sequence[Finding], str]:
    """Findings about what changed, and the path of what they are about: an object, or its status."""
    if subresource != "status":
        return _judge_change(
            checks.check, obj, Matched(obj, old, checks.schema, settings.dialect, time, whole=True)
        ), ""
    if "status" not in obj or checks.status is None:
        return (), ""
    schema = checks.schema["properties"]["status"]
    match = Matched(obj["status"], old.get("status"), schema, settings.dialect, time, whole=True)
    return _judge_change(checks.status, obj["status"], match), "status"


def _judge_change(check: compiled.Check, value: Any, match: Matched) -> Sequence[Finding]:
    # Nothing is compared for what is valid anyway.
    return check(value, match) if check(value) and not match.unchanged() else ()


_Judge = Callable[[Checks, Object, Object, str, ObjectSettings, TimeSpent], tuple[Sequence[Finding], str]]
#: What is checked of a change, from a release on.
_JUDGES: Final[tuple[tuple[str, _Judge], ...]] = (("", _judge_all), ("1.30", _judge_changes))


def causes(findings: Sequence[Finding], release: Release, prefix: str = "", *, field: str = "") -> list[Cause]:
    """The distinct causes of findings."""
    return list(dict.fromkeys(each.cause(release, prefix, field=field) for each in findings)) if findings else []


def _list_causes(checks: Checks, obj: Object) -> list[Cause]:
    out: list[Cause] = []
    if checks.lists is not None:
        checks.lists(obj, "", out)
    return out
