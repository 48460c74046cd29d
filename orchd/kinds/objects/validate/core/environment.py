"""Validation of the environment variables of a container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate.core.field_rules import is_label, is_subdomain, no_backsteps, require_text
from orchd.kinds.objects.validate.core.fieldrefs import resource_field, variable_field
from orchd.kinds.objects.validate.names import config_key, env_name, relaxed_env_name, subdomain_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_NO_SOURCE: Final = reworded(
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
    ("1.34", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"),
)


def variables(listed: list[Object], at: Path, report: Report) -> None:
    for i, variable in enumerate(listed):
        name = variable.get("name") or ""
        if not name:
            report.required(at[i] / "name")
        else:
            wrong = _wrong_name(name, report)
            if wrong:
                report.invalids(at[i] / "name", name, wrong)
        source = variable.get("valueFrom")
        if source is not None:
            _source(source, variable.get("value") or "", at[i] / "valueFrom", report)


def _source(source: Object, value: str, at: Path, report: Report) -> None:
    count = 0
    if source.get("fieldRef") is not None:
        count += 1
        variable_field(source["fieldRef"], at / "fieldRef", report)
    if source.get("resourceFieldRef") is not None:
        count += 1
        resource_field(source["resourceFieldRef"], at / "resourceFieldRef", report, volume=False)
    for member in ("configMapKeyRef", "secretKeyRef"):
        if source.get(member) is not None:
            count += 1
            _key(source[member], at / member, report)
    if source.get("fileKeyRef") is not None:
        count += 1
        _file_key(source["fileKeyRef"], at / "fileKeyRef", report)
    if not count:
        report.invalid(at, "", _NO_SOURCE)
    if value:
        if count:
            report.invalid(at, "", "may not be specified when `value` is not empty")
    elif count > 1:
        report.invalid(at, "", "may not have more than one field specified at a time")


def _key(reference: Object, at: Path, report: Report) -> None:
    is_subdomain(reference.get("name") or "", at / "name", report)
    key = require_text(reference, "key", at, report)
    if key:
        report.invalids(at / "key", key, config_key(key))


def _file_key(reference: Object, at: Path, report: Report) -> None:
    key = require_text(reference, "key", at, report)
    if key:
        report.invalids(at / "key", key, relaxed_env_name(key))
    name = require_text(reference, "volumeName", at, report)
    if name:
        is_label(name, at / "volumeName", report)
    path = require_text(reference, "path", at, report)
    no_backsteps(path, at / "path", report)


def _strict_name(name: str, report: Report) -> Sequence[str]:
    return env_name(name)


def _relaxed_name(name: str, report: Report) -> Sequence[str]:
    return relaxed_env_name(name)


#: What is wrong with the name of a variable, ``(name, report)``.
_wrong_name = by_release(_strict_name, ("1.32", _relaxed_name))


def imports(listed: list[Object], at: Path, report: Report) -> None:
    """Validate `envFrom`, which takes all keys of an object."""
    for i, source in enumerate(listed):
        prefix = source.get("prefix") or ""
        if prefix:
            report.invalids(at[i] / "prefix", prefix, _wrong_name(prefix, report))
        count = 0
        for member in ("configMapRef", "secretRef"):
            if source.get(member) is not None:
                count += 1
                name = require_text(source[member], "name", at[i] / member, report)
                if name:
                    # A prefix: more of the name follows, so it may end with a dash.
                    report.invalids(at[i] / member / "name", name, subdomain_name(name, True))
        if not count:
            report.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            report.invalid(at, "", "may not have more than one field specified at a time")
