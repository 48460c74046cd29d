"""Validation of custom objects: metadata, schema, scale fields, embedded objects, list types, rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import VersionEntry
from orchd.kinds.crd.scale import ScaleMapping, scale_mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check import compiled, embedded, listtypes, rules, scale
from orchd.kinds.objects.schema_check.findings import Finding, invalid
from orchd.kinds.objects.schema_check.rules import GATE
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import subdomain_name
from orchd.kinds.objects.validate.report import Report


@dataclass(frozen=True, slots=True)
class Checks:
    """The compiled checks of one version of a kind."""

    check: compiled.Check
    lists: listtypes.Walk | None
    embedded: embedded.Walk | None
    scale: ScaleMapping | None
    rules: rules.Place | None


def checks_of(resource: Resource, dialect: Dialect) -> Checks:
    """The checks of a version of a custom kind, compiled once."""
    found: Checks | None = resource.type.memo.get("check")
    if found is None:
        entry = resource.definition
        schema = entry.json_schema if isinstance(entry, VersionEntry) else {}
        found = resource.type.memo["check"] = Checks(
            compiled.compile_schema(schema, dialect),
            listtypes.compile_lists(schema, dialect),
            embedded.compile_embedded(schema, dialect),
            scale_mapping(resource),
            rules.compile_places(schema, dialect),
        )
    return found


def identity_causes(obj: Object, resource: Resource) -> list[Cause]:
    """Causes for a wrong apiVersion or kind, in which case nothing else is checked."""
    out = []
    if obj.get("kind") != resource.kind:
        out.append(invalid("kind", obj.get("kind") or "", f"must be {resource.kind}"))
    if obj.get("apiVersion") != resource.api_version:
        out.append(invalid("apiVersion", obj.get("apiVersion") or "", f"must be {resource.api_version}"))
    return out


def create_causes(obj: Object, resource: Resource, settings: ObjectSettings, *, quick: bool = False) -> list[Cause]:
    """All causes for a new object in the version of `resource`. Raises rules.LongValidationError with `quick`."""
    checks, report = checks_of(resource, settings.dialect), Report(settings)
    meta.create(obj, report, namespaced=resource.namespaced, name_rule=subdomain_name, core=False)
    out = report.causes
    found = checks.check(obj)
    out += causes(found)
    if checks.scale is not None:
        out += scale.spec_causes(obj, checks.scale)
        out += scale.status_causes(obj, checks.scale)
    if checks.embedded is not None:
        out += embedded.embedded_causes(checks.embedded, obj, settings)
    out += _list_causes(checks, obj)
    if checks.rules is not None and settings.feature(GATE):
        out += [rules.UNCHECKED] if _blocked(found, out) else rules.evaluate(checks.rules, obj, quick=quick)
    return out


def update_causes(
    obj: Object,
    old: Object,
    resource: Resource,
    settings: ObjectSettings,
    *,
    subresource: str = "",
    quick: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> list[Cause]:
    """All causes for an update of `old`, both in the version of `resource`. Rules that do not hold for unchanged values are
    passed to `warn`. Raises rules.LongValidationError with `quick`."""
    checks, report = checks_of(resource, settings.dialect), Report(settings)
    meta.update(obj, old, report, core=False)
    out = report.causes
    found = checks.check(obj)
    out += causes(found)
    if checks.scale is not None:
        if subresource != "status":
            out += scale.spec_causes(obj, checks.scale)
        out += scale.status_causes(obj, checks.scale)
    if checks.embedded is not None and subresource != "status":
        out += embedded.embedded_causes(checks.embedded, obj, settings)
    lists = _list_causes(checks, obj)
    # Lists that were invalid before are accepted.
    if lists and not _list_causes(checks, old):
        out += lists
    if checks.rules is not None and settings.feature(GATE):
        out += (
            [rules.UNCHECKED]
            if _blocked(found, out)
            else rules.evaluate(checks.rules, obj, old, quick=quick, warn=warn)
        )
    return out


def _blocked(found: Sequence[Finding], out: Sequence[Cause]) -> bool:
    """True if rules could not rely on the shape of the object."""
    return any(each.blocks for each in found) or any(map(rules.blocks, out))


def causes(found: Sequence[Finding], prefix: str = "") -> list[Cause]:
    """The distinct causes of findings."""
    return list(dict.fromkeys(each.cause(prefix) for each in found)) if found else []


def _list_causes(checks: Checks, obj: Object) -> list[Cause]:
    out: list[Cause] = []
    if checks.lists is not None:
        checks.lists(obj, "", out)
    return out
