"""AlwaysAllow and AlwaysDeny: authorizers without conditions."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, NonResourceRule, ResourceRule, Rules, Verdict

_ALLOWED = Verdict(Decision.ALLOW)
_DENIED = Verdict(Decision.NO_OPINION, "Everything is forbidden.")
_ALL = Rules(
    resource=(ResourceRule(verbs=("*",), api_groups=("*",), resources=("*",)),),
    non_resource=(NonResourceRule(verbs=("*",), paths=("*",)),),
)


@implementer(IAuthorizer)
class AlwaysAllow:
    name = "AlwaysAllow"

    async def authorize(self, action: Action) -> Verdict:
        return _ALLOWED

    def rules(self, user: User, namespace: str) -> Rules:
        return _ALL


@implementer(IAuthorizer)
class AlwaysDeny:
    """Abstains with a reason: earlier authorizers may still allow."""

    name = "AlwaysDeny"

    async def authorize(self, action: Action) -> Verdict:
        return _DENIED

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules()
