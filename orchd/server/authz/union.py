"""The authorizer union: the first that allows or denies decides; otherwise the result has the reasons and errors of
all."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict
from orchd.server.authz.messages import join_errors
from orchd.server.authz.metrics import DECISIONS, decision_counter

#: Type and name of an authorizer in metrics.
Label = tuple[str, str]


@implementer(IAuthorizer)
class AuthorizerUnion:
    """`labels` are those of `authorizers`, None for those that are not configured. The decisions of labelled ones are
    counted in `instruments`."""

    name = "union"

    def __init__(self, authorizers: Sequence[IAuthorizer], labels: Sequence[Label | None] = ()) -> None:
        self._decisions = decision_counter()
        self.instruments = (self._decisions,)
        self.use(authorizers, labels or [None] * len(authorizers))

    def use(self, authorizers: Sequence[IAuthorizer], labels: Sequence[Label | None]) -> None:
        """Replace the authorizers. A request that is being authorized is left to the previous ones."""
        self.authorizers = tuple(authorizers)
        self._entries = tuple(zip(self.authorizers, labels, strict=True))

    async def authorize(self, action: Action) -> Verdict:
        reasons: list[str] = []
        errors: list[str] = []
        for authorizer, label in self._entries:
            verdict = await authorizer.authorize(action)
            if verdict.decision is not Decision.NO_OPINION:
                if label is not None:
                    self._decisions.add(*label, DECISIONS[verdict.decision])
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
            if verdict.error:
                errors.append(verdict.error)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons), join_errors(errors))

    def rules(self, user: User, namespace: str) -> Rules:
        listed = [a.rules(user, namespace) for a in self.authorizers]
        return Rules(
            resource=tuple(r for rules in listed for r in rules.resource),
            non_resource=tuple(r for rules in listed for r in rules.non_resource),
            incomplete=any(rules.incomplete for rules in listed),
            error=join_errors([rules.error for rules in listed if rules.error]),
        )
