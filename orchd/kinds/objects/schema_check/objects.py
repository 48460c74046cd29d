"""Validation of custom objects: metadata, schema, scale fields, embedded objects, list types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import VersionEntry
from orchd.kinds.crd.scale import ScaleMapping, scale_mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check import compiled, embedded, listtypes, scale
from orchd.kinds.objects.schema_check.findings import Finding, invalid
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import subdomain_name
from orchd.kinds.objects.validate.report import Report


@dataclass(frozen=True, slots=True)
class Rules:
    """The compiled checks of one version of a kind."""

    check: compiled.Check
    lists: listtypes.Walk | None
    embedded: embedded.Walk | None
    scale: ScaleMapping | None


def rules_of(resource: Resource, dialect: Dialect) -> Rules:
    """The checks of a version of a custom kind, compiled once."""
    found: Rules | None = resource.type.memo.get("check")
    if found is None:
        entry = resource.definition
        schema = entry.json_schema if isinstance(entry, VersionEntry) else {}
        found = resource.type.memo["check"] = Rules(
            compiled.compile_schema(schema, dialect),
            listtypes.compile_lists(schema, dialect),
            embedded.compile_embedded(schema, dialect),
            scale_mapping(resource),
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


def create_causes(obj: Object, resource: Resource, settings: ObjectSettings) -> list[Cause]:
    """All causes for a new object in the version of `resource`."""
    rules, report = rules_of(resource, settings.dialect), Report(settings)
    meta.create(obj, report, namespaced=resource.namespaced, name_rule=subdomain_name, core=False)
    out = report.causes
    out += _schema_causes(rules, obj)
    if rules.scale is not None:
        out += scale.spec_causes(obj, rules.scale)
        out += scale.status_causes(obj, rules.scale)
    if rules.embedded is not None:
        out += embedded.embedded_causes(rules.embedded, obj, settings)
    out += _list_causes(rules, obj)
    return out


def update_causes(
    obj: Object, old: Object, resource: Resource, settings: ObjectSettings, *, subresource: str = ""
) -> list[Cause]:
    """All causes for an update of `old`, both in the version of `resource`."""
    rules, report = rules_of(resource, settings.dialect), Report(settings)
    meta.update(obj, old, report, core=False)
    out = report.causes
    out += _schema_causes(rules, obj)
    if rules.scale is not None:
        if subresource != "status":
            out += scale.spec_causes(obj, rules.scale)
        out += scale.status_causes(obj, rules.scale)
    if rules.embedded is not None and subresource != "status":
        out += embedded.embedded_causes(rules.embedded, obj, settings)
    lists = _list_causes(rules, obj)
    # Lists that were invalid before are accepted.
    if lists and not _list_causes(rules, old):
        out += lists
    return out


def _schema_causes(rules: Rules, obj: Object) -> list[Cause]:
    found = rules.check(obj)
    return causes(found) if found else []


def causes(found: Sequence[Finding], prefix: str = "") -> list[Cause]:
    """The distinct causes of findings."""
    return list(dict.fromkeys(each.cause(prefix) for each in found))


def _list_causes(rules: Rules, obj: Object) -> list[Cause]:
    out: list[Cause] = []
    if rules.lists is not None:
        rules.lists(obj, "", out)
    return out
