"""Matching of requests to flow schemas (flowcontrol.apiserver API group, FlowSchemaSpec)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchd.kinds import fields
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.users import SERVICE_ACCOUNT_PREFIX, User
from orchd.server.pipeline.interfaces import RequestInfo

_Who = Callable[[User], bool]
_What = Callable[[RequestInfo], bool]

#: Maximum cached results of classification; the cache is cleared when full.
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One flow schema. `distinguisher` separates its flows: "ByUser", "ByNamespace", or "" for a single flow."""

    name: str
    uid: str
    level: str
    precedence: int
    distinguisher: str
    rules: tuple[tuple[_Who, _What], ...]

    def matches(self, user: User, info: RequestInfo) -> bool:
        """True if a rule matches both the subject and the action of the request."""
        return any(matches_user(user) and matches_request(info) for matches_user, matches_request in self.rules)

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
        rules=tuple(
            (
                _subject_matcher(rule.get("subjects") or ()),
                _rule_matcher(rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()),
            )
            for rule in spec.get("rules") or ()
        ),
    )


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


def _subject_matcher(subjects: Iterable[ObjectView]) -> _Who:
    users: set[str] = set()
    groups: set[str] = set()
    prefixes: list[str] = []
    for subject in subjects:
        kind = subject["kind"]
        if kind == "User":
            users.add(subject["user"]["name"])
        elif kind == "Group":
            groups.add(subject["group"]["name"])
        elif kind == "ServiceAccount":
            account = subject["serviceAccount"]
            prefix = f"{SERVICE_ACCOUNT_PREFIX}{account['namespace']}:"
            if account["name"] == "*":
                prefixes.append(prefix)
            else:
                users.add(prefix + account["name"])
    anybody = "*" in users or "*" in groups
    start = tuple(prefixes)

    def matches_user(user: User) -> bool:
        return anybody or user.name in users or user.name.startswith(start) or not groups.isdisjoint(user.groups)

    return matches_user


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
