"""A complete drop-in authorizer: members of the group ``team:NAME`` may do everything in namespaces whose names begin
with ``NAME-``.

See docs/extending/authorizer.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authz.interfaces import (
    Action,
    Decision,
    IAuthorizer,
    IAuthorizerFactory,
    ResourceRule,
    Rules,
    Verdict,
)

_PREFIX = "team:"


@implementer(IAuthorizer)
class TeamNamespaces:
    name = "TeamNamespaces"

    async def authorize(self, action: Action) -> Verdict:
        """No opinion, rather than DENY, where the rule does not apply: the next mode may allow it."""
        if action.is_resource and self._team(action.user, action.namespace):
            return Verdict(Decision.ALLOW)
        return Verdict(Decision.NO_OPINION)

    def rules(self, user: User, namespace: str) -> Rules:
        """For reviews of a user's own permissions."""
        if not self._team(user, namespace):
            return Rules()
        return Rules(resource=[ResourceRule(verbs=("*",), api_groups=("*",), resources=("*",))])

    def _team(self, user: User, namespace: str) -> str:
        """The user's team to which the namespace belongs, "" for none. Cluster-wide requests have no namespace."""
        teams = (group.removeprefix(_PREFIX) for group in user.groups if group.startswith(_PREFIX))
        return next((team for team in teams if team and namespace.startswith(f"{team}-")), "")


@implementer(IPlugin, IAuthorizerFactory)
class _Factory:
    name = TeamNamespaces.name
    help = "Teams may do everything in the namespaces that carry their name."

    def make(self, configuration: Mapping[str, Any]) -> IAuthorizer:
        made: IAuthorizer = TeamNamespaces()
        return made


factory = _Factory()
