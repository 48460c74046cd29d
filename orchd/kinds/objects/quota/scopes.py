"""Scopes of resource quotas, which restrict a quota to some objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchd.kinds.catalog import Resource
from orchd.kinds.fields import mapping, spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quality_of_service import qos_class


def _crosses_namespaces(pod: Object) -> bool:
    affinity = mapping(spec(pod), "affinity")
    for key in ("podAffinity", "podAntiAffinity"):
        block = affinity.get(key) or {}
        terms = list(block.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = block.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms.extend(mapping(p, "podAffinityTerm") for p in preferred)
        if any(t.get("namespaces") or t.get("namespaceSelector") is not None for t in terms):
            return True
    return False


class Scope(NamedTuple):
    """A requirement of a scope selector."""

    name: str
    operator: str
    values: Sequence[str] = ()


def scope_of(requirement: Object) -> Scope:
    """A scope from a member of ``matchExpressions``."""
    return Scope(requirement.get("scopeName", ""), requirement.get("operator", ""), requirement.get("values") or ())


def scopes_of(quota: Object) -> list[Scope]:
    """The scopes of a quota, those of its selector last."""
    body = spec(quota)
    listed = [Scope(name, "Exists") for name in body.get("scopes") or ()]
    return listed + [scope_of(each) for each in mapping(body, "scopeSelector").get("matchExpressions") or ()]


def _in_scope(pod: Object, scope: Scope) -> bool:
    if scope.name in ("Terminating", "NotTerminating"):
        return (spec(pod).get("activeDeadlineSeconds") is not None) == (scope.name == "Terminating")
    if scope.name in ("BestEffort", "NotBestEffort"):
        return (qos_class(spec(pod)) == "BestEffort") == (scope.name == "BestEffort")
    if scope.name == "CrossNamespacePodAffinity":
        return _crosses_namespaces(pod)
    if scope.name != "PriorityClass":
        return False
    name = spec(pod).get("priorityClassName") or ""
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
    return bool(name)


def matching_scopes(resource: Resource, obj: Object, scopes: Iterable[Scope]) -> list[Scope]:
    """The elements of `scopes` that `obj` is in. Only pods are in scopes."""
    if resource.group != "" or resource.plural != "pods":
        return []
    return [scope for scope in scopes if _in_scope(obj, scope)]


def in_scopes(resource: Resource, obj: Object, quota: Object) -> bool:
    """True if `obj` is in every scope of a quota."""
    scopes = scopes_of(quota)
    return len(matching_scopes(resource, obj, scopes)) == len(scopes)
