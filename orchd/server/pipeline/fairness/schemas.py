"""Matching of requests to flow schemas (flowcontrol.apiserver API group, FlowSchemaSpec)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.users import SERVICE_ACCOUNT_PREFIX, User
from orchd.server.pipeline.interfaces import RequestInfo

_Values = Collection[str]
#: Verbs, groups, resources and namespaces, and whether cluster scope fits too.
_ResourceRule = tuple[_Values, _Values, _Values, _Values, bool]
#: Verbs and paths, and those paths that end in ``*``.
_PathRule = tuple[_Values, _Values, _Values]
#: The actions of a rule. Plain values: a schema may have thousands.
_Actions = tuple[Sequence[_ResourceRule], Sequence[_PathRule]]

#: Maximum cached results of classification; the cache is cleared when full.
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One flow schema. `distinguisher` separates its flows: "ByUser", "ByNamespace", or "" for a single flow. `rules`
    are the actions by subject, of which there may be thousands: ``u:NAME``, ``u:PREFIX:`` for all service accounts of a
    namespace, ``g:NAME``, or ``*`` for everybody."""

    name: str
    uid: str
    level: str
    precedence: int
    distinguisher: str
    rules: Mapping[str, Sequence[_Actions]]

    def matches(self, user: User, info: RequestInfo) -> bool:
        """True if a rule matches both the subject and the action of the request."""
        return any(_fits(rule, info) for key in _subject_keys(user) for rule in self.rules.get(key, ()))

    def flow(self, user: User, info: RequestInfo) -> str:
        """The flow distinguisher of a request."""
        if self.distinguisher == "ByUser":
            return user.name
        return info.namespace if self.distinguisher == "ByNamespace" else ""


def schema_of(obj: ObjectView) -> Schema:
    """Compile a validated FlowSchema object."""
    metadata, spec = obj["metadata"], fields.spec(obj)
    return Schema(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        level=spec["priorityLevelConfiguration"]["name"],
        precedence=spec.get("matchingPrecedence", 1000),
        distinguisher=(spec.get("distinguisherMethod") or {}).get("type", ""),
        rules=_rules_by_subject(spec.get("rules") or ()),
    )


def _rules_by_subject(rules: Iterable[ObjectView]) -> dict[str, list[_Actions]]:
    by_subject: dict[str, list[_Actions]] = {}
    for rule in rules:
        actions = (
            [_resource_rule(each) for each in rule.get("resourceRules") or ()],
            [_path_rule(each) for each in rule.get("nonResourceRules") or ()],
        )
        for key in set(map(_subject_key, rule.get("subjects") or ())):
            by_subject.setdefault(key, []).append(actions)
    return by_subject


def _subject_key(subject: ObjectView) -> str:
    kind = subject["kind"]
    if kind == "ServiceAccount":
        account = subject["serviceAccount"]
        name = "" if account["name"] == "*" else account["name"]
        return f"u:{SERVICE_ACCOUNT_PREFIX}{account['namespace']}:{name}"
    name = subject["user" if kind == "User" else "group"]["name"]
    return "*" if name == "*" else f"{'u' if kind == 'User' else 'g'}:{name}"


def _subject_keys(user: User) -> list[str]:
    """The keys of the subjects that are a user."""
    keys = ["*", f"u:{user.name}", *(f"g:{group}" for group in user.groups)]
    if user.name.startswith(SERVICE_ACCOUNT_PREFIX):
        namespace, colon, _ = user.name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        keys.append(f"u:{SERVICE_ACCOUNT_PREFIX}{namespace}{colon}")
    return keys


class Classifier:
    """The flow schemas of a server in matching order: by precedence, then by name."""

    def __init__(self, schemas: Iterable[Schema]) -> None:
        self.schemas = tuple(sorted(schemas, key=lambda s: (s.precedence, s.name)))
        self._schema_cache: dict[tuple[Any, ...], Schema | None] = {}

    def schema(self, user: User, info: RequestInfo) -> Schema | None:
        """The first matching schema; None without one."""
        if info.is_resource:
            key: tuple[Any, ...] = (
                user.name, user.groups, info.verb, info.group, info.resource, info.subresource, info.namespace
            )  # fmt: skip
        else:
            key = (user.name, user.groups, info.verb, info.path)
        cache = self._schema_cache
        try:
            return cache[key]
        except KeyError:
            if len(cache) >= _REMEMBERED:
                cache.clear()
            schema = cache[key] = next((s for s in self.schemas if s.matches(user, info)), None)
            return schema


def _fits(actions: _Actions, info: RequestInfo) -> bool:
    on_resources, on_paths = actions
    if info.is_resource:
        return any(_fits_resource(rule, info) for rule in on_resources)
    return any(_fits_path(rule, info) for rule in on_paths)


#: Number of values of a rule that are compared one by one.
_FEW: Final = 16


def _values(rule: ObjectView, name: str) -> _Values:
    values: Sequence[str] = rule.get(name) or ()
    return frozenset(values) if len(values) > _FEW else values


def _resource_rule(rule: ObjectView) -> _ResourceRule:
    return (
        _values(rule, "verbs"),
        _values(rule, "apiGroups"),
        _values(rule, "resources"),
        _values(rule, "namespaces"),
        bool(rule.get("clusterScope")),
    )


def _fits_resource(rule: _ResourceRule, info: RequestInfo) -> bool:
    verbs, groups, resources, namespaces, cluster = rule
    if not ((info.verb in verbs or "*" in verbs) and (info.group in groups or "*" in groups)):
        return False
    full = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (full in resources or "*" in resources):
        return False
    return (info.namespace in namespaces or "*" in namespaces) if info.namespace else cluster


def _path_rule(rule: ObjectView) -> _PathRule:
    paths = rule.get("nonResourceURLs") or ()
    prefixes = tuple(path for path in paths if path.endswith("*"))
    return _values(rule, "verbs"), _values(rule, "nonResourceURLs"), prefixes


def _fits_path(rule: _PathRule, info: RequestInfo) -> bool:
    verbs, paths, prefixes = rule
    if not (info.verb in verbs or "*" in verbs):
        return False
    return info.path in paths or any(info.path.startswith(prefix.rstrip("*")) for prefix in prefixes)
