"""Scopes of resource quotas, which restrict a quota to some objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.kinds.objects.quota.amounts import spec


def _crosses_namespaces(pod: Object) -> bool:
    affinity = spec(pod).get("affinity") or {}
    for key in ("podAffinity", "podAntiAffinity"):
        block = affinity.get(key) or {}
        terms = list(block.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = block.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms.extend(p.get("podAffinityTerm") or {} for p in preferred)
        if any(t.get("namespaces") or t.get("namespaceSelector") is not None for t in terms):
            return True
    return False


def _in_scope(pod: Object, scope: str, operator: str, values: Iterable[str]) -> bool:
    if scope in ("Terminating", "NotTerminating"):
        return (spec(pod).get("activeDeadlineSeconds") is not None) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (qos_class(spec(pod)) == "BestEffort") == (scope == "BestEffort")
    if scope == "CrossNamespacePodAffinity":
        return _crosses_namespaces(pod)
    if scope != "PriorityClass":
        return False
    name = spec(pod).get("priorityClassName") or ""
    match operator:
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def in_scopes(resource: Resource, obj: Object, quota: Object) -> bool:
    """True if `obj` is in every scope of a quota. Only pods can be."""
    body = spec(quota)
    scopes = [(s, "Exists", ()) for s in body.get("scopes") or ()]
    scopes.extend(
        (e.get("scopeName", ""), e.get("operator", ""), e.get("values") or ())
        for e in (body.get("scopeSelector") or {}).get("matchExpressions") or ()
    )
    if not scopes:
        return True
    return resource.group == "" and resource.plural == "pods" and all(_in_scope(obj, *scope) for scope in scopes)
