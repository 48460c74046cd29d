"""The authorizer union: the first that allows or denies decides; otherwise the result has the reasons and errors of
all."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from orchd.kinds.identity import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict
from orchd.server.authz.messages import aggregated


@implementer(IAuthorizer)
class AuthorizerUnion:
    name = "union"

    def __init__(self, authorizers: Sequence[IAuthorizer]) -> None:
        self.authorizers = tuple(authorizers)

    async def authorize(self, action: Action) -> Verdict:
        reasons: list[str] = []
        errors: list[str] = []
        for authorizer in self.authorizers:
            verdict = await authorizer.authorize(action)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
            if verdict.error:
                errors.append(verdict.error)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons), aggregated(errors))

    def rules(self, user: User, namespace: str) -> Rules:
        found = [a.rules(user, namespace) for a in self.authorizers]
        return Rules(
            resource=tuple(r for rules in found for r in rules.resource),
            non_resource=tuple(r for rules in found for r in rules.non_resource),
            incomplete=any(rules.incomplete for rules in found),
            error=aggregated([rules.error for rules in found if rules.error]),
        )
