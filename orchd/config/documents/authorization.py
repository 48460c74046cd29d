"""AuthorizationConfiguration: authorizers in order, with any number of webhooks."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from orchd.config.documents import types
from orchd.config.documents.decoding import DocumentError, decode_document
from orchd.config.documents.findings import raise_findings
from orchd.dialect import Dialect
from orchd.kinds.expressions.access import compile_review_condition
from orchd.kinds.gotext.durations import parse_seconds
from orchd.kinds.gotext.values import GoText
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.expressions import report_error
from orchd.kinds.objects.validate.names import subdomain
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

Json = Mapping[str, Any]
#: The type that may be configured more than once.
WEBHOOK: Final = "Webhook"
_MOST_CONDITIONS: Final = 64
_LONGEST_TIMEOUT: Final = 30.0
_AUTHORIZED_TTL, _UNAUTHORIZED_TTL = 300.0, 30.0
_NO_OPINION, _DENY = "NoOpinion", "Deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """One authorization webhook. Times are seconds; a TTL of 0 disables that cache. `denies_on_failure`: a review that
    fails denies the request, instead of leaving it to the following authorizers."""

    timeout: float
    authorized_ttl: float
    unauthorized_ttl: float
    version: str
    denies_on_failure: bool
    config_file: str
    #: Expressions; the webhook is asked only about requests for which all are true.
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredAuthorizer:
    """`webhook` is set if and only if `type` is Webhook."""

    type: str
    name: str
    webhook: WebhookSettings | None = None


def parse_authorization(data: bytes, dialect: Dialect, *, modes: Collection[str]) -> tuple[ConfiguredAuthorizer, ...]:
    """The authorizers in the text of a file, whose types are in `modes`. Client configuration files that it names must
    exist. Raises DocumentError."""
    document = decode_document(data, types.AUTHORIZATION, dialect)
    report = Report(ObjectSettings(dialect=dialect))
    authorizers: Sequence[Json] = document.get("authorizers") or ()
    at = root("authorizers")
    if not authorizers:
        report.required(at, "at least one authorization mode must be defined")
    _check_authorizers(authorizers, at, report, modes)
    raise_findings(report)
    _check_names(authorizers)
    return tuple(
        ConfiguredAuthorizer(type=each["type"], name=each["name"], webhook=_webhook(each.get("webhook"), dialect))
        for each in authorizers
    )


def _check_names(authorizers: Sequence[Json]) -> None:
    """Only webhooks have names of their own. Raises DocumentError."""
    for each in authorizers:
        sort, name = each["type"], each["name"]
        if sort != WEBHOOK and name != sort.lower():
            raise DocumentError(f"expected name {sort.lower()} for authorizer {sort} instead of {name}")


def _webhook(section: Json | None, dialect: Dialect) -> WebhookSettings | None:
    if section is None:
        return None

    def ttl(name: str, cached: str, default: float) -> float:
        return 0.0 if section.get(cached) is False else parse_seconds(section[name]) or default

    return WebhookSettings(
        timeout=parse_seconds(section["timeout"]),
        authorized_ttl=ttl("authorizedTTL", "cacheAuthorizedRequests", _AUTHORIZED_TTL),
        unauthorized_ttl=ttl("unauthorizedTTL", "cacheUnauthorizedRequests", _UNAUTHORIZED_TTL),
        version=section["subjectAccessReviewVersion"],
        denies_on_failure=section["failurePolicy"] == _DENY,
        config_file=section["connectionInfo"][_file_field(dialect)],
        conditions=tuple(each["expression"] for each in section.get("matchConditions") or ()),
    )


def _file_field(dialect: Dialect) -> str:
    return dialect("{short}ConfigFile")


def _check_authorizers(authorizers: Sequence[Json], at: Path, report: Report, modes: Collection[str]) -> None:
    seen: set[str] = set()
    names: set[str] = set()
    for index, each in enumerate(authorizers):
        here, sort, name = at[index], each["type"], each["name"]
        if not sort:
            report.required(here / "type")
            continue
        if sort not in modes:
            report.unsupported(here / "type", sort, sorted(modes))
            continue
        if sort in seen and sort != WEBHOOK:
            report.duplicate(here / "type", sort)
            continue
        seen.add(sort)
        if not name:
            report.required(here / "name")
        elif name in names:
            report.duplicate(here / "name", name)
        elif subdomain(name):
            report.invalid(here / "name", name, f"authorizer name is invalid: {', '.join(subdomain(name))}")
        names.add(name)
        webhook = each.get("webhook")
        if sort != WEBHOOK:
            if webhook is not None:
                report.invalid(here / "webhook", "non-null", "may only be specified when type=Webhook")
        elif webhook is None:
            report.required(here / "webhook", "required when type=Webhook")
        else:
            # The reference leaves "webhook" out of the paths below it.
            _check_webhook(webhook, here, report)


def _check_webhook(section: Json, at: Path, report: Report) -> None:
    timeout = parse_seconds(section["timeout"])
    if not timeout:
        report.required(at / "timeout")
    elif not 0 < timeout <= _LONGEST_TIMEOUT:
        report.invalid(at / "timeout", section["timeout"], "must be > 0s and <= 30s")
    for name in ("authorizedTTL", "unauthorizedTTL"):
        # An absent one has a default.
        if parse_seconds(section[name]) < 0:
            report.invalid(at / name, section[name], "must be > 0s")
    _check_choice(section, "subjectAccessReviewVersion", ("v1", "v1beta1"), at, report)
    conditions = section.get("matchConditions") or ()
    versions = at / "matchConditionSubjectAccessReviewVersion"
    version = section["matchConditionSubjectAccessReviewVersion"]
    if version:
        _check_choice(section, "matchConditionSubjectAccessReviewVersion", ("v1",), at, report)
    elif conditions:
        report.required(versions, "required if match conditions are specified")
    _check_choice(section, "failurePolicy", (_NO_OPINION, _DENY), at, report)
    _check_connection(section["connectionInfo"], at / "connectionInfo", report)
    _check_conditions(conditions, at / "matchConditions", report)


def _check_choice(section: Json, name: str, choices: Sequence[str], at: Path, report: Report) -> None:
    if not section[name]:
        report.required(at / name)
    elif section[name] not in choices:
        report.unsupported(at / name, section[name], choices)


def _check_connection(section: Json, at: Path, report: Report) -> None:
    own, file_type = "InClusterConfig", report.dialect("{Short}ConfigFile")
    field = _file_field(report.dialect)
    sort, path = section["type"], section.get(field)
    if not sort:
        report.required(at / "type")
    elif sort == own:
        if path is not None:
            report.invalid(at / field, path, f"can only be set when type={file_type}")
        report.invalid(at / "type", sort, "this server cannot be its own authorization webhook")
    elif sort != file_type:
        rendered = orjson.dumps({"Type": sort, report.dialect("{Short}ConfigFile"): path}).decode()
        report.unsupported(at / "type", GoText(rendered), (own, file_type))
    elif not path:
        report.required(at / field)
    elif not os.path.isabs(path):
        report.invalid(at / field, path, "must be an absolute path")
    else:
        try:
            regular = stat.S_ISREG(os.stat(path).st_mode)
        except (OSError, ValueError) as error:
            report.invalid(at / field, path, f"error loading file: {error}")
        else:
            if not regular:
                report.invalid(at / field, path, "must be a regular file")


def _check_conditions(conditions: Sequence[Json], at: Path, report: Report) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        report.too_many(at, len(conditions), _MOST_CONDITIONS)
        return
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        here, expression = at[index] / "expression", condition["expression"]
        if not expression.strip():
            report.required(here)
        elif expression in seen:
            report.duplicate(here, expression)
        else:
            seen.add(expression)
            report_error(compile_review_condition(expression, report.dialect), expression, here, report)
