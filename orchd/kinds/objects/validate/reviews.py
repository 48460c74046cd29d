"""Validation of access and token reviews, which are not stored."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import selectors
from orchd.kinds.objects.validate.paths import METADATA, SPEC
from orchd.kinds.objects.validate.report import Report

#: Metadata that the server sets; any other metadata is rejected.
_SERVERS: Final = frozenset(("managedFields",))


def access_review(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    _attributes(spec, report)
    if not spec.get("user") and not spec.get("groups"):
        report.invalid(SPEC / "user", spec.get("user") or "", "at least one of user or group must be specified")
    _selectors(spec, report)
    _no_metadata(value, report)


def self_access_review(value: Object, report: Report) -> None:
    _attributes(fields.spec(value), report)
    _selectors(fields.spec(value), report)
    _no_metadata(value, report)


def local_access_review(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    _attributes(spec, report)
    if not spec.get("user") and not spec.get("groups"):
        report.invalid(SPEC / "user", spec.get("user") or "", "at least one of user or group must be specified")
    _selectors(spec, report)
    _no_metadata(value, report, "must be empty except for namespace", _SERVERS | {"namespace"})
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    # The reference compares before the namespace of the path is set in the metadata.
    namespace = fields.metadata(value).get("namespace") or ""
    if resource is not None and (resource.get("namespace") or "") != namespace:
        at = SPEC / "resourceAttributes" / "namespace"
        report.invalid(at, resource.get("namespace") or "", "must match metadata.namespace")
    if path is not None:
        rendered = dump("authorization.NonResourceAttributes", path)
        report.invalid(SPEC / "nonResourceAttributes", rendered, "disallowed on this kind of request")


def _attributes(spec: Object, report: Report) -> None:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        rendered = dump("authorization.NonResourceAttributes", path)
        why = "cannot be specified in combination with resourceAttributes"
        report.invalid(SPEC / "nonResourceAttributes", rendered, why)
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        report.invalid(SPEC / "resourceAttributes", None, why)


def _selectors(spec: Object, report: Report) -> None:
    """Operators that are not known are those of newer clients, and allowed."""
    resource = spec.get("resourceAttributes") or {}
    for name, requirement in (
        ("fieldSelector", selectors.field_requirement),
        ("labelSelector", selectors.label_requirement),
    ):
        selector, at = resource.get(name), SPEC / "resourceAttributes" / name
        if selector is None:
            continue
        text, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
        if text and requirements:
            report.invalid(at / "rawSelector", text, "may not specified at the same time as requirements")
        if not text and not requirements:
            why = f"when {at} is specified, requirements or rawSelector is required"
            report.required(at / "requirements", why)
        for index, each in enumerate(requirements):
            requirement(each, (at / "requirements")[index], report)


def _no_metadata(value: Object, report: Report, why: str = "must be empty", allowed: frozenset[str] = _SERVERS) -> None:
    metadata = fields.metadata(value)
    if any(value_ for member, value_ in metadata.items() if member not in allowed):
        report.invalid(METADATA, dump("v1.ObjectMeta", metadata), why)
