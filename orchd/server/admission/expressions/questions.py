"""Questions of expressions, asked of the server's authorizer about the user of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchd.cel.libraries.authorizer import AuthorizerDecision, Question
from orchd.kinds.objects import action_selectors
from orchd.kinds.users import User, service_account
from orchd.server.authz.interfaces import Action, Decision, Verdict


def action_of(question: Question, user: User) -> Action:
    """The action that a question is about. A resource is that of any version."""
    if question.service_account is not None:
        user = service_account(*question.service_account)
    if question.path is not None:
        return Action(user=user, verb=question.verb, path=question.path)
    return Action(
        user=user,
        verb=question.verb,
        group=question.group,
        version="*",
        resource=question.resource,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
        selectors=action_selectors.of_texts(question.field_selector, question.label_selector),
    )


def asking(
    authorize: Callable[[Action], Awaitable[Verdict]], user: User
) -> Callable[[Question], Awaitable[AuthorizerDecision]]:
    """A function that asks an authorizer about a user."""

    async def ask(question: Question) -> AuthorizerDecision:
        verdict = await authorize(action_of(question, user))
        return AuthorizerDecision(
            allowed=verdict.decision is Decision.ALLOW, reason=verdict.reason, error=verdict.error or None
        )

    return ask
