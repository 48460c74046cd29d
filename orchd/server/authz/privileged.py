"""Allows everything to members of privileged groups, without reading objects.

The server's own identity must pass here, since other authorizers read through informers: this is the first in the
union.
"""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict

_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION)


@implementer(IAuthorizer)
class PrivilegedGroups:
    """Allows every action of members of system:masters; no opinion on others."""

    name = "privileged"

    async def authorize(self, action: Action) -> Verdict:
        return _ALLOWED if MASTERS_GROUP in action.user.groups else _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules()
