"""The audit policy (audit API group, kind Policy): the level of each request, and the stages that are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchd.kinds.users import User
from orchd.server.pipeline.interfaces import RequestInfo

#: Audit levels, in rising order.
LEVELS = ("None", "Metadata", "Request", "RequestResponse")
NONE, METADATA, REQUEST, RESPONSE = range(4)

RECEIVED, STARTED, COMPLETE, PANIC = STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")


class PolicyError(ValueError):
    """An invalid policy; the message names the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Resources of one group; no resources means all; `names` are object names, none means all."""

    group: str
    resources: tuple[str, ...]
    names: frozenset[str]

    def cover(self, info: RequestInfo) -> bool:
        if info.group != self.group:
            return False
        if not self.resources:
            return True
        if self.names and info.name not in self.names:
            return False
        full = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        forms = {"*", full, f"{info.resource}/*"}
        if info.subresource:
            forms.add(f"*/{info.subresource}")
        return not forms.isdisjoint(self.resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule matches a request if all its conditions hold; unset conditions match everything."""

    level: int
    omitted: frozenset[str]
    omits_managed_fields: bool
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    resources: tuple[Resources, ...] = ()
    urls: tuple[str, ...] = ()

    def covers(self, user: User | None, info: RequestInfo) -> bool:
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.groups and (user is None or self.groups.isdisjoint(user.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._covers_resource(info)
        if self.urls:
            return not info.is_resource and any(_url_covers(url, info.path) for url in self.urls)
        return True

    def _covers_resource(self, info: RequestInfo) -> bool:
        if not info.is_resource or (self.namespaces and info.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.cover(info) for each in self.resources)


_UNRECORDED = Rule(level=NONE, omitted=frozenset(), omits_managed_fields=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order: the first match decides; a request without a match is not recorded."""

    rules: tuple[Rule, ...]

    def rule(self, user: User | None, info: RequestInfo) -> Rule:
        for rule in self.rules:
            if rule.covers(user, info):
                return rule
        return _UNRECORDED


def _url_covers(url: str, path: str) -> bool:
    return url == "*" or url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def make_policy(document: Mapping[str, Any]) -> Policy:
    """The policy of a document that has the shape of its kind. Raises PolicyError."""
    rules = document.get("rules") or ()
    if not rules:
        raise PolicyError("rules: at least one rule is needed")
    everywhere = frozenset(_stages(document, "omitStages"))
    bare = document.get("omitManagedFields", False)
    return Policy(tuple(_rule(each, f"rules[{at}]", everywhere, bare) for at, each in enumerate(rules)))


def _rule(rule: Mapping[str, Any], path: str, everywhere: frozenset[str], bare: bool) -> Rule:
    level = rule["level"]
    if level not in LEVELS:
        raise PolicyError(f"{path}.level: {level!r} is not one of {', '.join(LEVELS)}")
    urls, resources = rule.get("nonResourceURLs") or (), rule.get("resources") or ()
    if urls and (resources or rule.get("namespaces")):
        raise PolicyError(f"{path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs")
    for url in urls:
        if url != "*" and not url.startswith("/"):
            raise PolicyError(f"{path}.nonResourceURLs: {url!r} must begin with a '/' character")
        if "*" in url[:-1]:
            raise PolicyError(f"{path}.nonResourceURLs: {url!r} may have '*' as its last character only")
    return Rule(
        level=LEVELS.index(level),
        omitted=everywhere | frozenset(_stages(rule, f"{path}.omitStages")),
        omits_managed_fields=rule.get("omitManagedFields", bare),
        users=frozenset(rule.get("users") or ()),
        groups=frozenset(rule.get("userGroups") or ()),
        verbs=frozenset(rule.get("verbs") or ()),
        namespaces=frozenset(rule.get("namespaces") or ()),
        resources=tuple(_resources(each, f"{path}.resources[{at}]") for at, each in enumerate(resources)),
        urls=tuple(urls),
    )


def _resources(rule: Mapping[str, Any], path: str) -> Resources:
    group = rule.get("group", "")
    if "/" in group:
        raise PolicyError(f"{path}.group: {group!r} is no group: versions do not belong here")
    resources, names = rule.get("resources") or (), rule.get("resourceNames") or ()
    if names and not resources:
        raise PolicyError(f"{path}.resourceNames: using resourceNames requires at least one resource")
    return Resources(group=group, resources=tuple(resources), names=frozenset(names))


def _stages(rule: Mapping[str, Any], path: str) -> Sequence[str]:
    stages: Sequence[str] = rule.get("omitStages") or ()
    for stage in stages:
        if stage not in STAGES:
            raise PolicyError(f"{path}: {stage!r} is not one of {', '.join(STAGES)}")
    return stages
