"""Warnings about objects with pods, templates and schedules that are accepted (Warning headers)."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.later_pod_warnings import LaterWarnings
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.pod_warnings import Warnings

#: The collectors by the release that they begin with.
_COLLECTORS: Final[tuple[tuple[str, type[Warnings]], ...]] = (("", Warnings), ("1.28", LaterWarnings))


def _collector(settings: ObjectSettings) -> Warnings:
    return settings.release.choose(_COLLECTORS)(settings)


def pod(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of a new pod, in the order of the reference."""
    out = _collector(settings)
    if old is None:
        out.name(obj, "the Pod's hostname")
        out.pod(obj, None)
    return out.texts


def workload(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of the name of a new object, which is part of its pods' names, and of its template."""
    return [*_name(obj, old, settings), *template(obj, old, resource, settings)]


def _name(obj: Object, old: Object | None, settings: ObjectSettings) -> list[str]:
    out = _collector(settings)
    if old is None:
        out.name(obj, "Pod names and hostnames")
    return out.texts


def template(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of the pod template of an object that is new or has a new generation."""
    return _template(obj, old, resource, settings, resource.row.pod_template or ())


def _template(
    obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings, reported: tuple[str, ...]
) -> list[str]:
    """`template`, of which warnings show the path `reported`."""
    out = _collector(settings)
    path = resource.row.pod_template
    if path and (old is None or _generation(obj) != _generation(old)):
        at = root(reported[0])
        for member in reported[1:]:
            at = at / member
        out.pod(_at(obj, path), at)
    return out.texts


def replication_controller(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """As those of a workload, with the path of the template that early releases show."""
    return [*_name(obj, old, settings), *_template(obj, old, resource, settings, ("template",))]


def stateful_set(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of the template, and of what `Warnings.claims_and_history` finds."""
    out = _collector(settings)
    out.claims_and_history(obj, old)
    return [*template(obj, old, resource, settings), *out.texts]


def cron_job(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of the pod template and of the schedule."""
    out = _collector(settings)
    out.schedule(obj, old)
    return [*workload(obj, old, resource, settings), *out.texts]


def _generation(obj: Object) -> int:
    return fields.metadata(obj).get("generation") or 0


def _at(obj: Object, steps: tuple[str, ...]) -> Object:
    value: Object = obj
    for step in steps:
        value = value.get(step) or {}
    return value
