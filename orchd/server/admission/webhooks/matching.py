"""Matches writes to webhooks: rules, scopes, equivalent versions, and selectors (specification, "Rules").

Configurations are parsed once per change; matches of rules are cached per operation and resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.selectors import LabelSelector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hook:
    """One webhook of a configuration, with defaults. `position` is its index there."""

    name: str
    configuration: str
    position: int
    where: Mapping[str, Any]
    rules: tuple[Mapping[str, Any], ...]
    namespaces: LabelSelector
    objects: LabelSelector
    ignores_failure: bool
    exact: bool
    side_effects: str
    seconds: float
    versions: tuple[str, ...]
    reinvoked: bool
    conditions: tuple[Mapping[str, Any], ...] = ()

    @property
    def uid(self) -> str:
        return f"{self.configuration}/{self.name}/{self.position}"


@dataclass(frozen=True, slots=True)
class Call:
    """A matching webhook, and the resource whose version its review uses."""

    hook: Hook
    resource: Resource


def hooks_of(configuration: ObjectView) -> list[Hook]:
    """The webhooks of a configuration in their order."""
    name = configuration["metadata"]["name"]
    return [_hook(name, hook, number) for number, hook in enumerate(configuration.get("webhooks") or ())]


def _hook(configuration: str, hook: ObjectView, position: int) -> Hook:
    return Hook(
        name=hook["name"],
        configuration=configuration,
        position=position,
        where=hook.get("clientConfig") or {},
        rules=tuple(hook.get("rules") or ()),
        namespaces=LabelSelector.from_object(hook.get("namespaceSelector") or {}),
        objects=LabelSelector.from_object(hook.get("objectSelector") or {}),
        ignores_failure=hook.get("failurePolicy") == "Ignore",
        exact=hook.get("matchPolicy") == "Exact",
        side_effects=hook.get("sideEffects") or "",
        seconds=float(hook.get("timeoutSeconds") or 10),
        versions=tuple(hook.get("admissionReviewVersions") or ()),
        reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
        conditions=tuple(hook.get("matchConditions") or ()),
    )


def calls_for(
    hooks: Iterable[Hook], operation: str, resource: Resource, subresource: str, *, namespaced: bool, catalog: Catalog
) -> list[Call]:
    """The webhooks whose rules match. `namespaced`: the request has a namespace."""
    others = [r for r in equivalents(catalog, resource) if r.api_version != resource.api_version]
    calls: list[Call] = []
    for hook in hooks:
        if any(fits(rule, operation, resource, subresource, namespaced=namespaced) for rule in hook.rules):
            calls.append(Call(hook, resource))
        elif not hook.exact:
            match = _equivalent(hook, operation, others, subresource, namespaced=namespaced)
            if match is not None:
                calls.append(Call(hook, match))
    return calls


def _equivalent(
    hook: Hook, operation: str, others: list[Resource], subresource: str, *, namespaced: bool
) -> Resource | None:
    for rule in hook.rules:
        for other in others:
            if fits(rule, operation, other, subresource, namespaced=namespaced):
                return other
    return None


def equivalents(catalog: Catalog, resource: Resource) -> tuple[Resource, ...]:
    """All served versions of a resource, including itself."""
    served = catalog.versions_of(resource)
    if resource.custom:
        # Versions of a custom kind are in the order of its definition.
        order = list(resource.version_types)
        return tuple(sorted(served, key=lambda other: order.index(other.api_version)))
    # As the reference registers them: first the storage version, then in the order of discovery.
    return tuple(sorted(served, key=lambda other: other.api_version != other.storage_version))


def fits(rule: ObjectView, operation: str, resource: Resource, subresource: str, *, namespaced: bool) -> bool:
    """True if one rule matches a write."""
    scope = rule.get("scope") or "*"
    return (
        (scope == "*" or (scope == "Namespaced") == (namespaced and resource.plural != "namespaces"))
        and _matches_word(rule.get("operations"), operation)
        and _matches_word(rule.get("apiVersions"), resource.version)
        and _matches_word(rule.get("apiGroups"), resource.group)
        and any(_resource(text, resource.plural, subresource) for text in rule.get("resources") or ())
    )


def _matches_word(words: list[str] | None, word: str) -> bool:
    return words is not None and (word in words or "*" in words)


def _resource(text: str, plural: str, subresource: str) -> bool:
    """``pods``, ``pods/status``, ``*/scale``, ``pods/*``, ``*`` (no subresources) and ``*/*``."""
    name, _, sub = text.partition("/")
    return name in ("*", plural) and sub in ("*", subresource)
