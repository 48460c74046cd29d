"""Aggregated cluster roles: sets their rules to those of the cluster roles that their selectors match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import APPLY
from orchd.errors import ApiError
from orchd.kinds.bounds import exceeds
from orchd.kinds.fields import labels, name
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.objects.validate.repeats import repeats
from orchd.txkit.compute_thread import LARGE

#: Bytes that the comparison of a selector with a role, and a rule, count for `compute`.
_MATCHING: Final = 10
_RULE: Final = 20


class ClusterRoleAggregation(Controller):
    """A change of a cluster role queues all aggregated roles."""

    name = "clusterrole-aggregation"
    account = "clusterrole-aggregation-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._group = env.dialect("rbac.authorization.{abbr}.io")
        self._ref = ResourceRef(self._group, "v1", "clusterroles")
        self._roles = self.follow(self._ref, self._changed, primary=True)
        self._roles.add_index("controllers/aggregated", _is_aggregated)

    def _changed(self, *_: object) -> None:
        for role in self._roles.by_index("controllers/aggregated", "yes"):
            self.queue.add(("", name(role)))

    async def reconcile(self, key: Key) -> float | None:
        role = self._roles.get("", key[1])
        if role is None or not role.get("aggregationRule"):
            return None
        selectors = role["aggregationRule"].get("clusterRoleSelectors") or ()
        others = [other for other in self._roles.list() if name(other) != key[1]]
        size = _MATCHING * len(selectors) * len(others) + _RULE * sum(len(o.get("rules") or ()) for o in others)
        if exceeds(selectors, LARGE):
            size += LARGE
        rules = await self.env.compute(size, _rules_of, selectors, others)
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
                self._ref,
                "",
                key[1],
                configuration,
                content_type=APPLY,
                field_manager=self.account,
                force=True,
                need_response=False,
            )
        except ApiError as error:
            if error.code != 415:
                raise
            # The server does not apply configurations.
            await self.client.update(self._ref, "", key[1], {**role, "rules": rules}, need_response=False)
        return None


def _rules_of(selectors: Sequence[Object], roles: Sequence[Object]) -> list[Any]:
    """The rules of the roles that match the selectors, each once: by selector, then by the role's name."""
    rules: list[Any] = []
    left = sorted(roles, key=name)
    for selector in selectors:
        chosen = LabelSelector.from_object(selector)
        matching = [role for role in left if chosen.matches(labels(role))]
        if matching:
            rules.extend(rule for role in matching for rule in role.get("rules") or ())
            taken = set(map(name, matching))
            left = [role for role in left if name(role) not in taken]
    repeated = repeats(rules)
    return [rule for i, rule in enumerate(rules) if i not in repeated]


def _is_aggregated(role: Object) -> tuple[str, ...]:
    return ("yes",) if role.get("aggregationRule") else ()
