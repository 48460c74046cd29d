"""Aggregated cluster roles: sets their rules to those of the cluster roles that their selectors match."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import APPLY
from orchd.errors import ApiError
from orchd.kinds.fields import labels, name
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.objects.validate.repeats import repeats


class ClusterRoleAggregation(Controller):
    """A change of a cluster role queues the aggregated roles that select its old or new version."""

    name = "clusterrole-aggregation"
    account = "clusterrole-aggregation-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._group = env.dialect("rbac.authorization.{abbr}.io")
        self._ref = ResourceRef(self._group, "v1", "clusterroles")
        self._roles = self.follow(self._ref, self._changed, primary=True)
        self._roles.add_index("controllers/aggregated", _is_aggregated)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        seen = [role for role in (old, new) if role is not None]
        for role in self._roles.by_index("controllers/aggregated", "yes"):
            if any(name(each) == name(role) or _selects(role, each) for each in seen):
                self.queue.add(("", name(role)))

    async def reconcile(self, key: Key) -> float | None:
        role = self._roles.get("", key[1])
        if role is None or not role.get("aggregationRule"):
            return None
        rules: list[Any] = []
        for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
            chosen = LabelSelector.from_object(selector)
            members = [r for r in self._roles.list() if name(r) != key[1] and chosen.matches(labels(r))]
            for member in sorted(members, key=name):
                rules.extend(member.get("rules") or ())
        repeated = repeats(rules)
        rules = [rule for i, rule in enumerate(rules) if i not in repeated]
        if rules == (role.get("rules") or []):
            return None
        configuration = {
            "apiVersion": f"{self._group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": key[1]},
            "rules": rules,
        }
        try:
            await self.client.patch(
                self._ref, "", key[1], configuration, content_type=APPLY, field_manager=self.account, force=True
            )
        except ApiError as error:
            if error.code != 415:
                raise
            # The server does not apply configurations.
            await self.client.update(self._ref, "", key[1], {**role, "rules": rules})
        return None


def _selects(aggregated: Object, role: Object) -> bool:
    """True if a selector of the aggregated role selects `role`."""
    selectors = aggregated["aggregationRule"].get("clusterRoleSelectors") or ()
    return any(LabelSelector.from_object(selector).matches(labels(role)) for selector in selectors)


def _is_aggregated(role: Object) -> tuple[str, ...]:
    return ("yes",) if role.get("aggregationRule") else ()
