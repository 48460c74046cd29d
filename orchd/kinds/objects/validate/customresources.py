"""Objects of custom kinds: their metadata, and everything else against the schema of their definition."""

from __future__ import annotations

from typing import Any

from orchd.kinds.catalog import Resource
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.schemavalues import list_errors, value_errors
from orchd.kinds.objects.validate.words import subdomain_name

Object = dict[str, Any]


def create(value: Object, resource: Resource, report: Report, subresource: str) -> None:
    meta.create(
        value.get("metadata") or {}, report, namespaced=resource.namespaced, name_rule=subdomain_name, core=False
    )
    _body(value, resource, report)


def update(value: Object, old: Object, resource: Resource, report: Report, subresource: str) -> None:
    meta.update(value.get("metadata") or {}, old.get("metadata") or {}, report, core=False)
    _body(value, resource, report)


def _body(value: Object, resource: Resource, report: Report) -> None:
    if value.get("kind") != resource.kind:
        report.invalid(root("kind"), value.get("kind") or "", f"must be {resource.kind}")
    if value.get("apiVersion") != resource.api_version:
        report.invalid(root("apiVersion"), value.get("apiVersion") or "", f"must be {resource.api_version}")
    schema = ((resource.definition or {}).get("schema") or {}).get("openAPIV3Schema")
    if not schema:
        return
    for finding in value_errors(value, schema, "", report.dialect):
        finding.say(report)
    for name, item in value.items():
        child = (schema.get("properties") or {}).get(name)
        if child is not None and name != "metadata":
            list_errors(item, child, root(name), report.dialect, report)
