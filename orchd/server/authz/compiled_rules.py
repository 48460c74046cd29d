"""Policy rules compiled for lookup: a role becomes nested tables from verb over group to resource.

A role's rules are alternatives, so two rules about one (verb, group, resource) merge: to all names if either is
unrestricted, otherwise to the union of their names. A decision probes the tables with the value and with ``*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchd.server.authz.interfaces import Action

#: Resource names to which a rule is restricted, None without restriction.
Names = frozenset[str] | None
_Resources = dict[str, Names]
_Groups = dict[str, _Resources]


class CompiledRules:
    """Evaluates whether the given rules (PolicyRule objects) allow an action."""

    __slots__ = ("_paths", "_verbs")

    def __init__(self, rules: Iterable[Mapping[str, Any]] | None) -> None:
        self._verbs: dict[str, _Groups] = {}
        #: verb -> (exact paths, prefixes); the prefix "" allows all.
        self._paths: dict[str, tuple[set[str], tuple[str, ...]]] = {}
        for rule in rules or ():
            self._add(rule)

    def _add(self, rule: Mapping[str, Any]) -> None:
        names: Names = frozenset(rule["resourceNames"]) if rule.get("resourceNames") else None
        for verb in rule.get("verbs") or ():
            for group in rule.get("apiGroups") or ():
                for resource in rule.get("resources") or ():
                    table = self._verbs.setdefault(verb, {}).setdefault(group, {})
                    if resource in table:
                        before = table[resource]
                        table[resource] = None if before is None or names is None else before | names
                    else:
                        table[resource] = names
            for path in rule.get("nonResourceURLs") or ():
                exact, prefixes = self._paths.setdefault(verb, (set(), ()))
                exact.add(path)
                if path.endswith("*"):
                    self._paths[verb] = (exact, (*prefixes, path.rstrip("*")))

    def allow(self, action: Action) -> bool:
        if action.path:
            return self._allow_path(action.verb, action.path)
        subresource = action.subresource
        if subresource:
            keys: tuple[str, ...] = (f"{action.resource}/{subresource}", "*", "*/" + subresource)
        else:
            keys = (action.resource, "*")
        for verb in (action.verb, "*"):
            groups = self._verbs.get(verb)
            if groups is None:
                continue
            for group in (action.group, "*"):
                table = groups.get(group)
                if table is None:
                    continue
                for key in keys:
                    if key in table:
                        names = table[key]
                        if names is None or action.name in names:
                            return True
        return False

    def _allow_path(self, verb: str, path: str) -> bool:
        for key in (verb, "*"):
            paths = self._paths.get(key)
            if paths is not None and (path in paths[0] or path.startswith(paths[1])):
                return True
        return False
