"""Validation of flow schemas and priority levels."""

from __future__ import annotations

import math
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import is_subdomain
from orchd.kinds.objects.validate.names import label, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_MAX_PRECEDENCE: Final = 10000
_MAX_QUEUES: Final = 10 * 1000 * 1000
_MAX_ENTROPY: Final = 60
_SUBJECTS: Final = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
_RULE: Final = {"apiGroups": ["*"], "clusterScope": True, "namespaces": ["*"], "resources": ["*"], "verbs": ["*"]}
_PATHS: Final = {"nonResourceURLs": ["*"], "verbs": ["*"]}


def _fixed_schema(level: str, precedence: int, groups: tuple[str, ...], method: str = "") -> Object:
    spec: Object = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": g}} for g in groups],
                "resourceRules": [_RULE],
                "nonResourceRules": [_PATHS],
            }
        ],
    }
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return spec


#: Mandatory objects: their specs are fixed.
FIXED_SCHEMAS: Final[dict[str, Object]] = {
    "exempt": _fixed_schema("exempt", 1, ("system:masters",)),
    "catch-all": _fixed_schema("catch-all", 10000, ("system:unauthenticated", "system:authenticated"), "ByUser"),
}
FIXED_LEVELS: Final[dict[str, Object]] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {"type": "Limited", "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
}


def create_schema(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _schema(value, report)


def update_schema(value: Object, old: Object, report: Report) -> None:
    create_schema(value, report)


def _schema(value: Object, report: Report) -> None:
    name, spec = fields.metadata(value).get("name") or "", fields.spec(value)
    precedence = spec.get("matchingPrecedence") or 0
    if precedence <= 0:
        report.invalid(SPEC / "matchingPrecedence", precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        report.invalid(SPEC / "matchingPrecedence", precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        report.invalid(SPEC / "matchingPrecedence", precedence, why)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByUser", "ByNamespace"):
        rendered = dump("flowcontrol.FlowDistinguisherMethod", method)
        report.unsupported(SPEC / "distinguisherMethod" / "type", rendered, ("ByNamespace", "ByUser"))
    level, at = (
        (spec.get("priorityLevelConfiguration") or {}).get("name") or "",
        SPEC / "priorityLevelConfiguration" / "name",
    )
    if level:
        is_subdomain(level, at, report)
    else:
        report.required(at, "must reference a priority level")
    for i, rule in enumerate(spec.get("rules") or ()):
        _rule(rule, (SPEC / "rules")[i], report)
    fixed = FIXED_SCHEMAS.get(name)
    if fixed is not None and not _equal(spec, fixed):
        rendered = dump("flowcontrol.FlowSchemaSpec", spec)
        report.invalid(SPEC, rendered, f"spec of '{name}' must equal the fixed value")


def _equal(spec: Object, fixed: Object) -> bool:
    return {k: v for k, v in spec.items() if v not in (None, {}, [])} == fixed


def _rule(rule: Object, at: Path, report: Report) -> None:
    subjects = rule.get("subjects") or []
    if not subjects:
        report.required(at / "subjects", "subjects must contain at least one value")
    for i, subject in enumerate(subjects):
        _subject(subject, (at / "subjects")[i], report)
    resources, paths = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not paths:
        report.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for i, entry in enumerate(resources):
        _resource_rule(entry, (at / "resourceRules")[i], report)
    for i, entry in enumerate(paths):
        _path_rule(entry, (at / "nonResourceRules")[i], report)


def _subject(subject: Object, at: Path, report: Report) -> None:
    kind = subject.get("kind") or ""
    expected = _SUBJECTS.get(kind)
    if expected is None:
        report.unsupported(at / "kind", kind, tuple(sorted(_SUBJECTS)))
        return
    value = subject.get(expected)
    if value is None:
        report.required(at / expected, f"{expected} is required when subject kind is '{kind}'")
    elif expected == "serviceAccount":
        _account(value, at / expected, report)
    elif not value.get("name"):
        report.required(at / expected / "name")
    for other_kind, member in _SUBJECTS.items():
        if member != expected and subject.get(member) is not None:
            report.forbidden(at / member, f"{member} is forbidden when subject kind is not '{other_kind}'")


def _account(account: Object, at: Path, report: Report) -> None:
    name, namespace = account.get("name") or "", account.get("namespace") or ""
    if not name:
        report.required(at / "name")
    elif name != "*":
        is_subdomain(name, at / "name", report)
    if not namespace:
        report.required(at / "namespace", "must specify namespace for service account")
    else:
        report.invalids(at / "namespace", namespace, label(namespace))


def _verbs(verbs: list[str], at: Path, report: Report) -> None:
    if not verbs:
        report.required(at, "verbs must contain at least one value")
    elif "*" in verbs:
        if len(verbs) > 1:
            report.invalid(at, verbs, "if '*' is present, must not specify other verbs")
    elif not set(verbs) <= set(_VERBS):
        report.unsupported(at, verbs, _VERBS)


def _resource_rule(rule: Object, at: Path, report: Report) -> None:
    _verbs(rule.get("verbs") or [], at / "verbs", report)
    for member, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        listed = rule.get(member) or []
        if not listed:
            report.required(at / member, f"resource rules must supply at least one {one}")
        elif len(listed) > 1 and "*" in listed:
            report.invalid(at / member, listed, f"if '*' is present, must not specify other {many}")
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        report.required(at / "namespaces", why)
    elif "*" in namespaces:
        if len(namespaces) > 1:
            report.invalid(at / "namespaces", namespaces, "if '*' is present, must not specify other namespaces")
    else:
        for i, namespace in enumerate(namespaces):
            for why in label(namespace):
                words = f"each member of this list must be '*' or a DNS-1123 label; {why}"
                report.invalid((at / "namespaces")[i], namespace, words)


def _path_rule(rule: Object, at: Path, report: Report) -> None:
    _verbs(rule.get("verbs") or [], at / "verbs", report)
    urls = rule.get("nonResourceURLs") or []
    at = at / "nonResourceURLs"
    if not urls:
        report.required(at, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        if len(urls) > 1:
            report.invalid(at, urls, "if '*' is present, must not specify other non-resource URLs")
    else:
        for i, url in enumerate(urls):
            if not url:
                report.invalid(at[i], url, "must not be empty")
            elif url != "/" and not url.startswith("/"):
                report.invalid(at[i], url, "must start with slash")
            elif " " in url:
                report.invalid(at[i], url, "must not contain white-space")
            elif "//" in url:
                report.invalid(at[i], url, "must not contain double slash")
            elif ("*" in url and not url.endswith("/*")) or url.count("*") > 1:
                report.invalid(at[i], url, "wildcard can only do suffix matching")


#: The same levels in v1, where the member `exempt` of the first may have other values.
FIXED_NOMINAL_LEVELS: Final[dict[str, Object]] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}


def create_nominal_level(value: Object, report: Report) -> None:
    """Validate a level of v1."""
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    name, spec = fields.metadata(value).get("name") or "", fields.spec(value)
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        report.invalid(SPEC / "type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            report.forbidden(SPEC / "limited", "must be nil if the type is not Limited")
        if exempt is not None:
            _nominal_shares(exempt, SPEC / "exempt", report)
    elif kind == "Limited":
        if exempt is not None:
            report.forbidden(SPEC / "exempt", "must be nil if the type is Limited")
        if limited is None:
            report.required(SPEC / "limited", "must not be empty when type is Limited")
        else:
            _nominal_limited(limited, SPEC / "limited", report)
    else:
        report.unsupported(SPEC / "type", kind, ("Exempt", "Limited"))
    fixed = FIXED_NOMINAL_LEVELS.get(name)
    if fixed is not None and not _equal({k: v for k, v in spec.items() if k != "exempt"}, fixed):
        but = " except the 'spec.exempt' field" if name == "exempt" else ""
        rendered = dump("flowcontrol.PriorityLevelConfigurationSpec", spec)
        report.invalid(SPEC, rendered, f"spec of '{name}'{but} must equal the fixed value")


def update_nominal_level(value: Object, old: Object, report: Report) -> None:
    create_nominal_level(value, report)


def _nominal_shares(value: Object, at: Path, report: Report) -> None:
    shares, lendable = value.get("nominalConcurrencyShares"), value.get("lendablePercent")
    if shares is not None and shares < 0:
        report.invalid(at / "nominalConcurrencyShares", shares, "must be a non-negative integer")
    if lendable is not None and not 0 <= lendable <= 100:
        report.invalid(at / "lendablePercent", lendable, "must be between 0 and 100, inclusive")


def _nominal_limited(limited: Object, at: Path, report: Report) -> None:
    _nominal_shares({**limited, "lendablePercent": None}, at, report)
    _response(limited.get("limitResponse") or {}, at / "limitResponse", report)
    _nominal_shares({**limited, "nominalConcurrencyShares": None}, at, report)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        report.invalid(at / "borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def create_level(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    name, spec = fields.metadata(value).get("name") or "", fields.spec(value)
    kind, limited = spec.get("type") or "", spec.get("limited")
    if (name == "exempt") != (kind == "Exempt"):
        report.invalid(SPEC / "type", kind, "type must be 'Exempt' if and only if name is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            report.forbidden(SPEC / "limited", "must be nil if the type is not Limited")
    elif kind == "Limited":
        if limited is None:
            report.required(SPEC / "limited", "must not be empty when type is Limited")
        else:
            _limited(limited, SPEC / "limited", report)
    else:
        report.unsupported(SPEC / "type", kind, ("Exempt", "Limited"))
    fixed = FIXED_LEVELS.get(name)
    if fixed is not None and not _equal(spec, fixed):
        rendered = dump("flowcontrol.PriorityLevelConfigurationSpec", spec)
        report.invalid(SPEC, rendered, f"spec of '{name}' must equal the fixed value")


def update_level(value: Object, old: Object, report: Report) -> None:
    create_level(value, report)


_NO_TYPE: Final = reworded("must not be empty", ("1.31", ""))


def update_status(value: Object, old: Object, report: Report) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(fields.conditions(value)):
        kind, at = condition.get("type") or "", (STATUS / "conditions")[i]
        if kind in seen:
            report.duplicate(at / "type", kind)
        seen.add(kind)
        if not kind:
            report.required(at / "type", _NO_TYPE)


def _limited(limited: Object, at: Path, report: Report) -> None:
    shares = limited.get("assuredConcurrencyShares") or 0
    if shares <= 0:
        report.invalid(at / "assuredConcurrencyShares", shares, "must be positive")
    _response(limited.get("limitResponse") or {}, at / "limitResponse", report)


def _response(response: Object, at: Path, report: Report) -> None:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            report.forbidden(at / "queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue":
        if queuing is None:
            report.required(at / "queuing", "must not be empty if limited.limitResponse.type is Limited")
        else:
            _queuing(queuing, at / "queuing", report)
    else:
        report.unsupported(at / "type", kind, ("Queue", "Reject"))


def _queuing(queuing: Object, at: Path, report: Report) -> None:
    length, queues, hand = (queuing.get(k) or 0 for k in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        report.invalid(at / "queueLengthLimit", length, "must be positive")
    if queues <= 0:
        report.invalid(at / "queues", queues, "must be positive")
    if queues > _MAX_QUEUES:
        report.invalid(at / "queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        report.invalid(at / "handSize", hand, "must be positive")
    elif hand > queues:
        report.invalid(at / "handSize", hand, f"should not be greater than queues ({queues})")
    elif _entropy(queues, hand) > _MAX_ENTROPY:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MAX_ENTROPY}"
        )
        report.invalid(at / "handSize", hand, why)


def _entropy(deck: int, hand: int) -> int:
    """Number of bits needed to deal a hand (shuffle sharding)."""
    return math.ceil(sum(math.log2(deck - i) for i in range(hand)))
