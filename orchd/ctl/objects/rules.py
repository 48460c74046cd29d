"""RBAC rules as tables of permissions show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.ctl.printing.output import bracketed
from orchd.kinds.jsonvalues import Object

_SORTED_BY = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def compact_rules(rules: Iterable[Object]) -> list[Object]:
    """One rule per resource and name with all its verbs, and one per path and verb; sorted by verbs."""
    by_resource: dict[tuple[str, str, str | None], list[str]] = {}
    out: list[Object] = []
    for rule in rules:
        verbs = rule.get("verbs") or ()
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or (None,):
                    held = by_resource.setdefault((group, resource, name), [])
                    held += [verb for verb in dict.fromkeys(verbs) if verb not in held]
        out += [
            {"nonResourceURLs": [url], "verbs": [verb]} for url in rule.get("nonResourceURLs") or () for verb in verbs
        ]
    for (group, resource, name), held in by_resource.items():
        names = {} if name is None else {"resourceNames": [name]}
        out.append({"apiGroups": [group], "resources": [resource], **names, "verbs": held})
    return sorted(out, key=lambda rule: [bracketed(rule.get(key)) for key in _SORTED_BY])


def resource_text(rule: Object) -> str:
    """The resource of a compact rule: ``pods``, ``deployments.apps/scale``, "" for a rule of paths."""
    name, slash, subresource = (rule.get("resources") or [""])[0].partition("/")
    group = (rule.get("apiGroups") or [""])[0]
    return f"{name}.{group}{slash}{subresource}" if group and name else f"{name}{slash}{subresource}"
