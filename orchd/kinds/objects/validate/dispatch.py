"""Entry points of validation: they run the functions that the row of a kind names.

Objects are in canonical shape with defaults, in any served version of their kind. All functions are pure and return all
errors, in the order of the reference.
"""

from __future__ import annotations

from collections.abc import Callable

from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta, names
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.rows import resolve

Create = Callable[[Object, Report], None]
Update = Callable[[Object, Object, Report], None]
Warn = Callable[[Object, Object | None, Resource, ObjectSettings], list[str]]


def validate_create(obj: Object, resource: Resource, settings: ObjectSettings) -> list[Cause]:
    """All errors of a new object, or of the body of a subresource if `resource` is not stored."""
    report = Report(settings)
    if resource.custom:
        from orchd.kinds.objects.schema_check import objects as custom

        return custom.identity_causes(obj, resource) or custom.create_causes(obj, resource, settings)
    rules = resource.row.validation
    if rules.create:
        rule: Create = resolve(rules.create)
        rule(obj, report)
    if not report.causes and resource.stored and not rules.own_metadata:
        # The rules for the metadata of every kind apply once the kind's own rules found no error.
        meta.create(obj, report, namespaced=resource.namespaced, name_rule=names.path_segment, core=False)
    return report.causes


def validate_update(
    obj: Object, old: Object, resource: Resource, settings: ObjectSettings, *, subresource: str = ""
) -> list[Cause]:
    """All errors of a change from `old` to `obj`, through the main endpoint or a subresource."""
    report = Report(settings)
    if resource.custom:
        from orchd.kinds.objects.schema_check import objects as custom

        return custom.identity_causes(obj, resource) or custom.update_causes(
            obj, old, resource, settings, subresource=subresource
        )
    if resource.stored:
        # The rules for every kind are applied first, and again with the kind's own rules.
        meta.create(obj, report, namespaced=resource.namespaced, name_rule=names.path_segment, core=False)
        meta.update(obj, old, report, core=False)
    name = resource.row.validation.update
    if subresource:
        described = resource.subresources.get(subresource)
        name = "" if described is None else described.update
    if name:
        rule: Update = resolve(name)
        rule(obj, old, report)
    return report.causes


def warnings(obj: Object, resource: Resource, settings: ObjectSettings, *, old: Object | None = None) -> list[str]:
    """Texts for Warning headers about a new or changed object."""
    if not resource.row.warnings:
        return []
    rule: Warn = resolve(resource.row.warnings)
    return rule(obj, old, resource, settings)
