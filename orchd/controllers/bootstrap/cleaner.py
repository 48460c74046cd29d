"""Deletes expired bootstrap tokens."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.bootstrap.tokens import expiration, is_token
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import SECRETS
from orchd.kinds.fields import namespace, uid
from orchd.kinds.jsonvalues import Object


class TokenCleaner(Controller):
    """Keys are Secrets of bootstrap tokens in the system namespace."""

    name = "tokencleaner"
    account = "token-cleaner"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._secrets = self.follow(SECRETS, self._changed)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None and namespace(new) == self.dialect.system_namespace and is_token(self.dialect, new):
            self.queue.add(key_of(new))

    async def reconcile(self, key: Key) -> float | None:
        secret = self._secrets.get(*key)
        if secret is None or not is_token(self.dialect, secret):
            return None
        end = expiration(secret)
        if end is None:
            return None
        left = end - self.env.wall()
        if left > 0:
            return left
        await self.remove(SECRETS, *key, uid=uid(secret))
        return None
