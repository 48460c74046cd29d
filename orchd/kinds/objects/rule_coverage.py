"""Coverage of policy rules by other policy rules. Rules are PolicyRule objects; pure functions.

A rule is broken down into its smallest parts, each of which must be covered by a single rule of the owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from orchd.errors import ApiError

Rule = dict[str, Any]
#: Maximum number of comparisons of a part with a rule: some seconds.
_MOST_COMPARISONS: Final = 5_000_000


def _count_parts(rule: Rule) -> int:
    """The number of parts of a rule, which may be the product of long lists."""
    names, resources, groups, paths, verbs = (
        len(rule.get(key) or ()) for key in ("resourceNames", "resources", "apiGroups", "nonResourceURLs", "verbs")
    )
    return verbs * (groups * resources * max(names, 1) + paths)


def _key(rule: Rule) -> bytes:
    return orjson.dumps(rule, option=orjson.OPT_SORT_KEYS, default=dict)


def breakdown(rule: Rule) -> list[Rule]:
    """The rule as rules of one verb, one group, one resource and at most one name, or of one verb and one path."""
    parts: list[Rule] = []
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                base = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                parts.extend([{**base, "resourceNames": [name]} for name in names] or [base])
    for path in rule.get("nonResourceURLs") or ():
        parts.extend({"nonResourceURLs": [path], "verbs": [verb]} for verb in rule.get("verbs") or ())
    return parts


def _has_all(held: Sequence[str], names: Sequence[str]) -> bool:
    return "*" in held or all(w in held for w in names)


def _covers_resource(held: Sequence[str], resource: str) -> bool:
    if "*" in held or resource in held:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def _covers_path(held: Sequence[str], path: str) -> bool:
    return any(h == path or (h.endswith("*") and path.startswith(h.rstrip("*"))) for h in held)


def rule_covers(owner: Rule, part: Rule) -> bool:
    """True if one rule of the owner covers `part` (see `breakdown`)."""
    if not _has_all(owner.get("verbs") or (), part["verbs"]):
        return False
    if "nonResourceURLs" in part:
        return all(_covers_path(owner.get("nonResourceURLs") or (), p) for p in part["nonResourceURLs"])
    if not _has_all(owner.get("apiGroups") or (), part["apiGroups"]):
        return False
    if not all(_covers_resource(owner.get("resources") or (), r) for r in part["resources"]):
        return False
    names = owner.get("resourceNames") or ()
    return not names or ("resourceNames" in part and all(n in names for n in part["resourceNames"]))


def uncovered(owner: Iterable[Rule], rules: Iterable[Rule]) -> list[Rule]:
    """The parts of `rules` that no rule of `owner` covers. Raises ApiError 413 if there are too many to compare."""
    held = list(owner)
    # A rule covers itself: most are unchanged when a server starts, or a role is written again.
    own = set(map(_key, held))
    changed = [rule for rule in rules if _key(rule) not in own]
    if sum(map(_count_parts, changed)) * max(len(held), 1) > _MOST_COMPARISONS:
        raise ApiError(
            413, "RequestEntityTooLarge", "Request entity too large: the rules grant too many permissions to check"
        )
    return [part for rule in changed for part in breakdown(rule) if not any(rule_covers(h, part) for h in held)]


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Merge rules with the same single group, resource and name into one with all their verbs."""
    out: list[Rule] = []
    simple: dict[tuple[str, str, tuple[str, ...]], Rule] = {}
    for rule in rules:
        groups: Sequence[str] = rule.get("apiGroups") or ()
        resources: Sequence[str] = rule.get("resources") or ()
        names: Sequence[str] = rule.get("resourceNames") or ()
        if len(groups) != 1 or len(resources) != 1 or len(names) > 1 or rule.get("nonResourceURLs"):
            out.append(rule)
            continue
        key = (groups[0], resources[0], tuple(names))
        if key in simple:
            verbs = simple[key]["verbs"]
            verbs.extend(v for v in rule["verbs"] if v not in verbs)
        else:
            simple[key] = {**rule, "verbs": list(rule["verbs"])}
            out.append(simple[key])
    return out
