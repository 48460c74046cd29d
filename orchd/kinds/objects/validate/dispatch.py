"""Finds the rules of a kind: the entrance to this package.

Objects come after canonical shape and defaults, in any served version of their kind. All functions are pure and give
back everything that is wrong, in the reference's order.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta, names
from orchd.kinds.objects.validate.kinds import KINDS, Rules
from orchd.kinds.objects.validate.report import Report

Object = dict[str, Any]
Create = Callable[[Object, Report], None]
Update = Callable[[Object, Object, Report], None]

#: Name rules that are not a DNS subdomain, by kind.
_NAME_RULES: Final[dict[str, meta.NameRule]] = {
    "label": names.dns_label_name,
    "1035": names.label_1035_name,
    "path": names.path_segment,
    "subdomain": names.subdomain_name,
}
_PACKAGE: Final = "orchd.kinds.objects.validate."
_PLAIN: Final = Rules("")


def validate_create(
    obj: Object, resource: Resource, settings: ObjectSettings, *, subresource: str = ""
) -> list[Cause]:
    """Everything wrong with a new object (or with what is posted to a subresource)."""
    report = Report(settings)
    if resource.custom:
        from orchd.kinds.objects.schema_check import objects as custom

        return custom.identity_causes(obj, resource) or custom.create_causes(obj, resource, settings)
    rules = _rules(resource)
    name = _subresource_rule(subresource) if subresource else rules.create
    if name:
        rule: Create = _function(name if "." in name else f"{rules.module}.{name}")
        rule(obj, report)
    if not report.causes and rules.stored and not rules.own_metadata and not subresource:
        # What holds for the metadata of every kind, once the kind's own rules are content.
        metadata = obj.get("metadata") or {}
        meta.create(metadata, report, namespaced=resource.namespaced, name_rule=names.path_segment, core=False)
    return report.causes


def validate_update(
    obj: Object, old: Object, resource: Resource, settings: ObjectSettings, *, subresource: str = ""
) -> list[Cause]:
    """Everything wrong with a change from `old` to `obj`, through the main endpoint or a subresource."""
    report = Report(settings)
    if resource.custom:
        from orchd.kinds.objects.schema_check import objects as custom

        return custom.identity_causes(obj, resource) or custom.update_causes(
            obj, old, resource, settings, subresource=subresource
        )
    if subresource == "scale":
        rule: Update = _function("autoscaling.update_scale")
        rule(obj, old, report)
        return report.causes
    # What holds for every kind comes first, and once more with the kind's own rules.
    metadata = obj.get("metadata") or {}
    meta.create(metadata, report, namespaced=resource.namespaced, name_rule=names.path_segment, core=False)
    meta.update(metadata, old.get("metadata") or {}, report, core=False)
    rules = _rules(resource)
    name = rules.subresources.get(subresource, "") if subresource else rules.update
    if name:
        rule = _function(name if "." in name else f"{rules.module}.{name}")
        rule(obj, old, report)
    return report.causes


def name_rule(resource: Resource) -> meta.NameRule:
    """What a name in a path, or the beginning of a generated one, must be for this resource."""
    rules = _rules(resource)
    return _NAME_RULES[rules.name] if rules.module else names.path_segment


def warnings(obj: Object, resource: Resource, settings: ObjectSettings, *, old: Object | None = None) -> list[str]:
    """Texts for Warning headers about a new or changed object."""
    if resource.custom or resource.kind not in _WARNED:
        return []
    rule: Callable[[Object, Resource, ObjectSettings, Object | None], list[str]] = _function("warnings.warnings")
    return rule(obj, resource, settings, old)


_WARNED: Final = frozenset((
    "Pod", "PodTemplate", "ReplicationController", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "CronJob",
    "Ingress",
))


def _rules(resource: Resource) -> Rules:
    """By group, version and kind, or by group and kind alone; a group's name loses its domain (``x.io``) first."""
    group = resource.group
    short = group.rsplit(".", 2)[0] if group.endswith(".io") else group
    versioned = KINDS.get(f"{short}/{resource.version}/{resource.kind}")
    return versioned or KINDS.get(f"{short}/{resource.kind}") or _PLAIN


def _subresource_rule(subresource: str) -> str:
    return {
        "binding": "core.other_kinds.create_binding", "token": "core.other_kinds.create_token_request", "eviction": "",
        "scale": "autoscaling.scale",
    }.get(subresource, "")


def _function(name: str) -> Any:
    """A rule by its dotted name below this package; imported when first asked for."""
    found = _LOADED.get(name)
    if found is None:
        module, _, function = name.rpartition(".")
        found = _LOADED[name] = getattr(importlib.import_module(_PACKAGE + module), function)
    return found


#: Rules that have been imported: a memo of the import system, not state.
_LOADED: Final[dict[str, Any]] = {}


def rule_names(rules: Sequence[Rules]) -> list[str]:
    """Every dotted rule name of a table (a test imports them all)."""
    out = []
    for entry in rules:
        for name in (entry.create, entry.update, *entry.subresources.values()):
            if name:
                out.append(name if "." in name else f"{entry.module}.{name}")
    return out
