"""The audit policy (audit API group, kind Policy): the level of each request, and the stages that are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.codec import yaml_
from orchd.kinds.identity import User
from orchd.server.pipeline.interfaces import RequestInfo

#: Audit levels, in rising order.
LEVELS = ("None", "Metadata", "Request", "RequestResponse")
NONE, METADATA, REQUEST, RESPONSE = range(4)

RECEIVED, STARTED, COMPLETE, PANIC = STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

_RULE = frozenset((
    "level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs", "omitStages",
    "omitManagedFields",
))
_POLICY = frozenset(("apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"))


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


def parse(text: str, dialect: Dialect) -> Policy:
    """The policy of a YAML or JSON document. Raises PolicyError."""
    try:
        document = yaml_.decode(text.encode())
    except yaml_.YAMLError as error:
        raise PolicyError(str(error)) from None
    if not isinstance(document, dict):
        raise PolicyError("not an object")
    version = dialect("audit.{abbr}.io/v1")
    if document.get("kind") != "Policy" or document.get("apiVersion") != version:
        raise PolicyError(f"not of kind Policy, apiVersion {version}")
    _check_fields(document, _POLICY, "")
    rules = document.get("rules") or ()
    if not isinstance(rules, list) or not rules:
        raise PolicyError("rules: at least one rule is needed")
    everywhere = frozenset(_stages(document, ""))
    bare = bool(document.get("omitManagedFields"))
    return Policy(tuple(_rule(each, f"rules[{at}]", everywhere, bare) for at, each in enumerate(rules)))


def _rule(given: Any, path: str, everywhere: frozenset[str], bare: bool) -> Rule:
    if not isinstance(given, dict):
        raise PolicyError(f"{path}: not an object")
    _check_fields(given, _RULE, path)
    level = given.get("level", "")
    if level not in LEVELS:
        raise PolicyError(f"{path}.level: {level!r} is not one of {', '.join(LEVELS)}")
    urls = _texts(given, "nonResourceURLs", path)
    resources = given.get("resources") or ()
    if resources and not isinstance(resources, list):
        raise PolicyError(f"{path}.resources: not a list")
    if urls and (resources or given.get("namespaces")):
        raise PolicyError(f"{path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs")
    for url in urls:
        if url != "*" and not url.startswith("/"):
            raise PolicyError(f"{path}.nonResourceURLs: {url!r} must begin with a '/' character")
        if "*" in url[:-1]:
            raise PolicyError(f"{path}.nonResourceURLs: {url!r} may have '*' as its last character only")
    said = given.get("omitManagedFields")
    return Rule(
        level=LEVELS.index(level),
        omitted=everywhere | frozenset(_stages(given, path)),
        omits_managed_fields=bare if said is None else bool(said),
        users=frozenset(_texts(given, "users", path)),
        groups=frozenset(_texts(given, "userGroups", path)),
        verbs=frozenset(_texts(given, "verbs", path)),
        namespaces=frozenset(_texts(given, "namespaces", path)),
        resources=tuple(_resources(each, f"{path}.resources[{at}]") for at, each in enumerate(resources)),
        urls=tuple(urls),
    )


def _resources(given: Any, path: str) -> Resources:
    if not isinstance(given, dict):
        raise PolicyError(f"{path}: not an object")
    _check_fields(given, frozenset(("group", "resources", "resourceNames")), path)
    group = given.get("group", "")
    if not isinstance(group, str) or "/" in group:
        raise PolicyError(f"{path}.group: {group!r} is no group: versions do not belong here")
    resources, names = _texts(given, "resources", path), _texts(given, "resourceNames", path)
    if names and not resources:
        raise PolicyError(f"{path}.resourceNames: using resourceNames requires at least one resource")
    return Resources(group=group, resources=tuple(resources), names=frozenset(names))


def _texts(given: Mapping[str, Any], name: str, path: str) -> list[str]:
    found = given.get(name) or []
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise PolicyError(f"{path}.{name}: not a list of strings".lstrip("."))
    return found


def _stages(given: Mapping[str, Any], path: str) -> Iterable[str]:
    found = _texts(given, "omitStages", path)
    for stage in found:
        if stage not in STAGES:
            raise PolicyError(f"{path}.omitStages: {stage!r} is not one of {', '.join(STAGES)}".lstrip("."))
    return found


def _check_fields(given: Mapping[str, Any], names: frozenset[str], path: str) -> None:
    for name in given:
        if name not in names:
            raise PolicyError(f"{path}.{name}: unknown field".lstrip("."))
