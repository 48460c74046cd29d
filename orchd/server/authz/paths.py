"""Always-allowed paths, such as health checks (--authorization-always-allow-paths)."""

from __future__ import annotations

from collections.abc import Iterable

from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict

_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION)


@implementer(IAuthorizer)
class AllowedPaths:
    """Non-resource paths; a trailing * matches any suffix. Leading slashes are ignored."""

    name = "path"

    def __init__(self, paths: Iterable[str]) -> None:
        cut = [path.lstrip("/") for path in paths]
        self._exact = frozenset(path for path in cut if not path.endswith("*"))
        self._prefixes = tuple(path.removesuffix("*") for path in cut if path.endswith("*"))

    async def authorize(self, action: Action) -> Verdict:
        if not action.path:
            return _PASS
        path = action.path.lstrip("/")
        return _ALLOWED if path in self._exact or path.startswith(self._prefixes) else _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules()
