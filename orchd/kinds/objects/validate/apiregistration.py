"""Validation of API services."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from orchd.kinds import fields
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import label_1035, path_segment, subdomain
from orchd.kinds.objects.validate.paths import SPEC, STATUS
from orchd.kinds.objects.validate.report import Report


def create(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    group, version = spec.get("group") or "", spec.get("version") or ""
    required = f"{version}.{group}"

    def rule(name: str, prefix: bool) -> Sequence[str]:
        wrong = path_segment(name)
        if wrong or name == required:
            return wrong
        return [f'must be `spec.version+"."+spec.group`: {quote(required)}']

    meta.create(value, report, namespaced=False, name_rule=rule, core=False)
    if not group:
        if version != "v1":
            report.required(
                SPEC / "group", report.dialect("only v1 may have an empty group and it better be legacy {short}")
            )
    else:
        report.invalids(SPEC / "group", group, subdomain(group))
    report.invalids(SPEC / "version", version, label_1035(version))
    _priorities(spec, report)
    _target(spec, report)


def _priorities(spec: Object, report: Report) -> None:
    for member, limit in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        number = spec.get(member) or 0
        if not 0 < number <= limit:
            report.invalid(SPEC / member, number, f"must be positive and less than {limit}")


def _target(spec: Object, report: Report) -> None:
    service, insecure = spec.get("service"), bool(spec.get("insecureSkipTLSVerify"))
    bundle = spec.get("caBundle") or ""
    if service is None:
        if bundle:
            report.invalid(SPEC / "caBundle", f"{_size(bundle)} bytes", "local APIServices may not have a caBundle")
        if insecure:
            report.invalid(SPEC / "insecureSkipTLSVerify", True, "local APIServices may not have insecureSkipTLSVerify")
        return
    for member in ("namespace", "name"):
        if not service.get(member):
            report.required(SPEC / "service" / member)
    number = service.get("port", 443)
    if not 1 <= number <= 65535:
        report.invalid(SPEC / "service" / "port", number, "port is not valid: must be between 1 and 65535, inclusive")
    if insecure and bundle:
        report.invalid(SPEC / "insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def _size(encoded: str) -> int:
    try:
        return len(base64.b64decode(encoded))
    except binascii.Error:
        return 0


def update(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report, core=False)
    create(value, report)


def update_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report, core=False)
    for i, condition in enumerate(fields.conditions(value)):
        if condition.get("status") not in ("True", "False", "Unknown"):
            at = (STATUS / "conditions")[i] / "status"
            report.unsupported(at, condition.get("status") or "", ("True", "False", "Unknown"))
