"""Allows authenticated users to create SelfSubjectReviews.

Later releases have the rule in the role ``system:basic-user``; here the roles are those of release 1.23. It is an
authorizer of its own that stands behind RBAC, and like there a rule that no other mode has.
"""

from __future__ import annotations

from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds.users import AUTHENTICATED_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict

_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION)


@implementer(IAuthorizer)
class SelfReviews:
    name = "selfreviews"

    def __init__(self, dialect: Dialect) -> None:
        self._group = dialect("authentication.{abbr}.io")

    async def authorize(self, action: Action) -> Verdict:
        asked = action.verb, action.group, action.resource, action.subresource
        if asked == ("create", self._group, "selfsubjectreviews", "") and AUTHENTICATED_GROUP in action.user.groups:
            return _ALLOWED
        return _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules()
