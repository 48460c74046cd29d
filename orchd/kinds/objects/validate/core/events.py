"""Validation of events: the core form, and the stricter form of events/v1."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import is_qualified
from orchd.kinds.objects.validate.names import subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

_INVOLVED: Final = root("involvedObject") / "namespace"
_TEXT_LIMIT: Final = 128
_NOTE_LIMIT: Final = 1024
#: Core name -> name in the events group, where they differ.
_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def _of(event: Object, member: str) -> Any:
    """The value of a member by its core name, in an event of either group."""
    value = event.get(member)
    return event.get(_NAMES.get(member, member)) if value is None else value


def create(event: Object, report: Report) -> None:
    _common(event, report)


def create_strict(event: Object, report: Report) -> None:
    """Validate a new event of events/v1."""
    _common(event, report)
    meta.create(event, report, namespaced=True, name_rule=subdomain_name)
    _series(event, report)
    if not event.get("eventTime"):
        report.required(root("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        report.invalid(root("type"), "", f"has invalid value: {event.get('type') or ''}")
    for member in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if _of(event, member):
            report.invalid(root(member), "", "needs to be unset")


def _series(event: Object, report: Report) -> None:
    series = event.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            report.invalid(root("series") / "count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            report.required(root("series") / "lastObservedTime")


def _common(event: Object, report: Report) -> None:
    namespace = (event.get("metadata") or {}).get("namespace") or ""
    involved = (_of(event, "involvedObject") or {}).get("namespace") or ""
    mismatch = "does not match event.namespace"
    if not event.get("eventTime"):
        if involved != namespace and (involved or namespace not in ("", "default")):
            report.invalid(_INVOLVED, involved, mismatch)
    else:
        if not involved and namespace not in ("default", report.dialect.system_namespace):
            report.invalid(_INVOLVED, involved, mismatch)
        controller = _of(event, "reportingComponent") or ""
        if not controller:
            report.required(root("reportingController"))
        is_qualified(controller, root("reportingController"), report)
        for member in ("reportingInstance", "action", "reason"):
            _text(event.get(member) or "", root(member), report)
        if len((_of(event, "message") or "").encode()) > _NOTE_LIMIT:
            report.invalid(root("message"), "", f"can have at most {_NOTE_LIMIT} characters")
    report.invalids(root("namespace"), namespace, subdomain(namespace))


def _text(value: str, at: Path, report: Report) -> None:
    if not value:
        report.required(at)
    if len(value.encode()) > _TEXT_LIMIT:
        report.invalid(at, "", f"can have at most {_TEXT_LIMIT} characters")


def update(event: Object, old: Object, report: Report) -> None:
    _common(event, report)
