"""Token Secrets of service accounts: creates one per account, sets its token, and deletes it with the account."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import ControlLoop
from orchd.controllers.objects import SECRETS, SERVICE_ACCOUNTS
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, deleting, mapping, name, namespace, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.naming import random_suffix

_BY_ACCOUNT: Final = "controllers/account"
_ATTEMPTS = 10


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class TokensController(Controller):
    """Two queues: accounts (the inherited one) and secrets."""

    name = "serviceaccount-token"
    account = ""

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_serviceaccount_token_syncs)
        #: True if every account has a token secret.
        self._gives_tokens = env.release.includes("", "1.24")
        self._type = env.dialect("{long}.io/service-account-token")
        self._name_key = env.dialect("{long}.io/service-account.name")
        self._uid_key = env.dialect("{long}.io/service-account.uid")
        self._accounts = self.follow(SERVICE_ACCOUNTS, primary=True)
        self._secrets = self.follow(SECRETS, self._secret_changed)
        self._secrets.add_index(_BY_ACCOUNT, self._account_of)
        self._filling: ControlLoop[Key] = ControlLoop(
            "serviceaccount-token, secrets", env.clock, self._reconcile_secret, refill=self._refill_secrets
        )

    async def start(self) -> None:
        await super().start()
        self._filling.start()

    async def stop(self) -> None:
        await super().stop()
        await self._filling.stop()

    def _refill_secrets(self) -> None:
        for secret in self._secrets.list():
            if secret.get("type") == self._type:
                self._filling.queue.add(key_of(secret))

    def _account_of(self, secret: Object) -> Iterable[str]:
        if secret.get("type") != self._type:
            return ()
        return (f"{namespace(secret)}/{annotations_of(secret).get(self._name_key, '')}",)

    def _secret_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None:
            if new.get("type") == self._type:
                self._filling.queue.add(key_of(new))
        elif old is not None and old.get("type") == self._type:
            self._filling.queue.add(key_of(old))
            self.queue.add((namespace(old), annotations_of(old).get(self._name_key, "")))

    def _belongs(self, secret: Object, account: Object) -> bool:
        notes = annotations_of(secret)
        return notes.get(self._name_key) == name(account) and notes.get(self._uid_key, "") in ("", uid(account))

    # -- accounts

    async def reconcile(self, key: Key) -> float | None:
        within, called = key
        account = self._accounts.get(within, called)
        secrets = self._secrets.by_index(_BY_ACCOUNT, f"{within}/{called}")
        if account is None:
            for secret in secrets:
                if await self.live(SERVICE_ACCOUNTS, within, called) is None:
                    await self.remove(SECRETS, within, name(secret), uid=uid(secret))
            return None
        if deleting(account) or not self._gives_tokens:
            return None
        named = {r.get("name") for r in account.get("secrets") or ()}
        if any(name(secret) in named and self._belongs(secret, account) for secret in secrets):
            return None
        live = await self.live(SERVICE_ACCOUNTS, within, called)
        if live is None or live["metadata"]["resourceVersion"] != account["metadata"]["resourceVersion"]:
            # The informer is behind; its next event queues the key again.
            return None
        await self._give_token(live, named)
        return None

    async def _give_token(self, account: Object, named: set[Any]) -> None:
        within = namespace(account)
        for reference in named:
            # A secret that was made a moment ago may be referred to before the informer shows it.
            secret = await self.live(SECRETS, within, str(reference))
            if secret is not None and secret.get("type") == self._type and self._belongs(secret, account):
                return
        secret_name = f"{name(account)}-token-{random_suffix(self.env.random)}"
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": secret_name,
                "namespace": within,
                "annotations": {self._name_key: name(account), self._uid_key: uid(account)},
            },
            "type": self._type,
            "data": self._data(account, secret_name),
        }
        try:
            created = await self.client.create(SECRETS, within, secret)
        except ApiError as error:
            if terminating_namespace(error):
                return
            raise
        if not await self._refer(account, secret_name):
            await self.remove(SECRETS, within, secret_name, uid=uid(created))

    async def _refer(self, account: Object, secret_name: str) -> bool:
        """Add the secret to the account; False when the account has gone or has got another token meanwhile."""
        within, called = namespace(account), name(account)
        before = len(account.get("secrets") or ())
        for _ in range(_ATTEMPTS):
            live = await self.live(SERVICE_ACCOUNTS, within, called)
            if live is None or uid(live) != uid(account) or len(live.get("secrets") or ()) > before:
                return False
            changed = {**live, "secrets": [*(live.get("secrets") or ()), {"name": secret_name}]}
            try:
                await self.client.update(SERVICE_ACCOUNTS, within, called, changed)
                return True
            except ApiError as error:
                if error.code != 409:
                    await self.remove(SECRETS, within, secret_name)
                    raise
        return False

    def _data(self, account: Object, secret_name: str) -> dict[str, str]:
        return {
            "ca.crt": _b64(self.env.authority),
            "namespace": _b64(namespace(account)),
            "token": _b64(self.env.issue_token(account, secret_name)),
        }

    # -- secrets

    async def _reconcile_secret(self, key: Key) -> float | None:
        within, called = key
        secret = self._secrets.get(within, called)
        if secret is None:
            await self._forget(within, called)
            return None
        account_name = annotations_of(secret).get(self._name_key)
        if not account_name or deleting(secret):
            return None
        account = self._accounts.get(within, account_name)
        if account is None or not self._belongs(secret, account):
            account = await self.live(SERVICE_ACCOUNTS, within, account_name)
            if account is None or not self._belongs(secret, account):
                await self.remove(SECRETS, within, called, uid=uid(secret))
                return None
        await self._fill(secret, account)
        return None

    async def _fill(self, secret: Object, account: Object) -> None:
        """Set the members of a secret that the controller owns; others stay."""
        data = mapping(secret, "data")
        members: dict[str, str] = {}
        if data.get("ca.crt") != _b64(self.env.authority):
            members["ca.crt"] = _b64(self.env.authority)
        if not data.get("namespace"):
            members["namespace"] = _b64(namespace(secret))
        if not data.get("token"):
            members["token"] = _b64(self.env.issue_token(account, name(secret)))
        if not members:
            return
        changed = {
            **secret,
            "metadata": {
                **secret["metadata"],
                "annotations": {**annotations_of(secret), self._name_key: name(account), self._uid_key: uid(account)},
            },
            "data": {**data, **members},
        }
        await self.client.update(SECRETS, namespace(secret), name(secret), changed)

    async def _forget(self, within: str, secret_name: str) -> None:
        """Remove a deleted token secret from the service accounts that refer to it."""
        for account in self._accounts.list(within):
            if all(r.get("name") != secret_name for r in account.get("secrets") or ()):
                continue
            if await self.live(SECRETS, within, secret_name) is not None:
                return
            live = await self.live(SERVICE_ACCOUNTS, within, name(account))
            if live is None or deleting(live):
                continue
            kept = [r for r in live.get("secrets") or () if r.get("name") != secret_name]
            if len(kept) < len(live.get("secrets") or ()):
                await self.client.update(SERVICE_ACCOUNTS, within, name(account), {**live, "secrets": kept})
