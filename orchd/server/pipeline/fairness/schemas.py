"""Matching of requests to flow schemas (flowcontrol.apiserver API group, FlowSchemaSpec)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchd.kinds import fields
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.users import SERVICE_ACCOUNT_PREFIX, User
from orchd.server.pipeline.interfaces import RequestInfo

_What = Callable[[RequestInfo], bool]

#: Maximum cached results of classification; the cache is cleared when full.
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One flow schema. `distinguisher` separates its flows: "ByUser", "ByNamespace", or "" for a single flow. `rules` are
    the actions by subject, of which there may be thousands: ``u:NAME``, ``u:PREFIX:`` for all service accounts of a
    namespace, ``g:NAME``, or ``*`` for everybody."""

    name: str
    uid: str
    level: str
    precedence: int
    distinguisher: str
    rules: Mapping[str, Sequence[_What]]

    def matches(self, user: User, info: RequestInfo) -> bool:
        """True if a rule matches both the subject and the action of the request."""
        return any(rule(info) for key in _subject_keys(user) for rule in self.rules.get(key, ()))

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


def _rules_by_subject(rules: Iterable[ObjectView]) -> dict[str, list[_What]]:
    by_subject: dict[str, list[_What]] = {}
    for rule in rules:
        matches = _rule_matcher(rule.get("resourceRules") or (), rule.get("nonResourceRules") or ())
        for key in set(map(_subject_key, rule.get("subjects") or ())):
            by_subject.setdefault(key, []).append(matches)
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


def _rule_matcher(resources: Iterable[ObjectView], paths: Iterable[ObjectView]) -> _What:
    on_resources = tuple(_resource_rule(rule) for rule in resources)
    on_paths = tuple(_path_rule(rule) for rule in paths)

    def matches_request(info: RequestInfo) -> bool:
        return any(rule(info) for rule in (on_resources if info.is_resource else on_paths))

    return matches_request


def _resource_rule(rule: ObjectView) -> _What:
    verbs, groups, resources, namespaces = (
        frozenset(rule.get(name) or ()) for name in ("verbs", "apiGroups", "resources", "namespaces")
    )
    every_verb, every_group, every_resource, every_namespace = (
        "*" in each for each in (verbs, groups, resources, namespaces)
    )
    cluster = bool(rule.get("clusterScope"))

    def matches(info: RequestInfo) -> bool:
        if not ((every_verb or info.verb in verbs) and (every_group or info.group in groups)):
            return False
        full = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if not (every_resource or full in resources):
            return False
        return (every_namespace or info.namespace in namespaces) if info.namespace else cluster

    return matches


def _path_rule(rule: ObjectView) -> _What:
    verbs, paths = frozenset(rule.get("verbs") or ()), rule.get("nonResourceURLs") or ()
    every_verb = "*" in verbs
    exact = frozenset(paths)
    prefixes = tuple(path.rstrip("*") for path in paths if path.endswith("*"))

    def matches(info: RequestInfo) -> bool:
        return (every_verb or info.verb in verbs) and (info.path in exact or info.path.startswith(prefixes))

    return matches
