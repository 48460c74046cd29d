"""Validation of namespaces, service accounts, bindings, token requests and pod templates."""

from __future__ import annotations

from typing import Final

from orchd.kinds.fields import mapping, metadata, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import pods
from orchd.kinds.objects.validate.core.field_rules import token_seconds
from orchd.kinds.objects.validate.names import dns_label_name, qualified_name, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.report import Report

_TEMPLATE: Final = root("template")


def create_namespace(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=dns_label_name)
    for finalizer in spec(value).get("finalizers") or ():
        _finalizer(finalizer, SPEC / "finalizers", report)


def _finalizer(finalizer: str, at: Path, report: Report) -> None:
    report.invalids(at, finalizer, qualified_name(finalizer))
    meta.core_finalizer(finalizer, at, report)


def update_namespace(value: Object, old: Object, report: Report) -> None:
    create_namespace(value, report)
    meta.update(value, old, report)


def update_namespace_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    phase = status(value).get("phase") or ""
    if not metadata(value).get("deletionTimestamp"):
        if phase != "Active":
            report.invalid(STATUS / "Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    elif phase != "Terminating":
        report.invalid(STATUS / "Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")


def finalize_namespace(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    for i, finalizer in enumerate(spec(value).get("finalizers") or ()):
        _finalizer(finalizer, (SPEC / "finalizers")[i], report)


def create_service_account(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)


def update_service_account(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    create_service_account(value, report)


def create_token_request(value: Object, report: Report) -> None:
    token_seconds(spec(value).get("expirationSeconds") or 0, SPEC / "expirationSeconds", report)


def create_binding(value: Object, report: Report) -> None:
    target = mapping(value, "target")
    if target.get("kind") not in (None, "", "Node"):
        report.unsupported(root("target") / "kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        report.required(root("target") / "name")


def create_pod_template(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    pods.template(value.get("template"), _TEMPLATE, report)


def update_pod_template(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    pods.template(value.get("template"), _TEMPLATE, report)
