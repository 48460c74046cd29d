"""Validation of events: the core form, and the stricter form of events/v1."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded, since
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
    _common(event, _reporter(report), report)


#: The member that names the reporting controller, in the core form.
_REPORTER: Final = reworded("reportingController", ("1.31", "reportingComponent"))


def _reporter(report: Report) -> str:
    return _REPORTER.in_release(report.release)


def create_strict(event: Object, report: Report) -> None:
    """Validate a new event of events/v1."""
    _common(event, "reportingController", report)
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


def _common(event: Object, reporter: str, report: Report) -> None:
    namespace = fields.metadata(event).get("namespace") or ""
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
            report.required(root(reporter))
        is_qualified(controller, root(reporter), report)
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
    _common(event, _reporter(report), report)


def update_strict(event: Object, old: Object, report: Report) -> None:
    """Validate a changed event of events/v1."""
    _common(event, "reportingController", report)
    _strict_change(event, old, report)


def _fixed(event: Object, old: Object, report: Report) -> None:
    """Nothing but the series and metadata may change."""
    meta.update(event, old, report)
    if event.get("series") != old.get("series"):
        _series(event, report)
    for member in _FIXED:
        new, before = _of(event, member), _of(old, member)
        if (new or None) != (before or None):
            report.invalid(root(_CALLED.get(member, member)), _printable(member, new), "field is immutable")


def _printable(member: str, value: Any) -> Any:
    """A value as messages print it: dumps of structs and times are those of the reference's own types."""
    if isinstance(value, dict):
        return dump(_STRUCTS[member], value)
    return _EMPTY.get(member, "") if value is None else value


_STRUCTS: Final = {
    "involvedObject": "core.ObjectReference",
    "related": "core.ObjectReference",
    "source": "core.EventSource",
}
_EMPTY: Final[dict[str, Any]] = {
    "count": 0,
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "related": None,
}
_CALLED: Final = {"reportingComponent": "reportingController"}
#: Members that cannot change, by their core names, in the order of the reference.
_FIXED: Final = tuple(
    "involvedObject reason message source firstTimestamp lastTimestamp count reason type eventTime action related "
    "reportingComponent reportingInstance".split()
)
_strict_change = since("1.24", _fixed)
