"""Signs the public cluster-info ConfigMap with every bootstrap token, so that a node that has only a token can verify
it."""

from __future__ import annotations

from typing import Final

from orchd.controllers.base import Controller, Key
from orchd.controllers.bootstrap.tokens import detached_signature, expiration, is_token, signing_token
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CONFIG_MAPS, SECRETS
from orchd.dialect import CLUSTER_INFO_KEY
from orchd.kinds.fields import mapping, namespace
from orchd.kinds.fields import name as name_of
from orchd.kinds.jsonvalues import Object

CLUSTER_INFO: Final = "cluster-info"
#: Prefix of signature keys, followed by the token id.
_SIGNATURE: Final = f"jws-{CLUSTER_INFO_KEY}-"
_KEY: Final[Key] = ("", CLUSTER_INFO)


class BootstrapSigner(Controller):
    """Reconciles the one ConfigMap when it or a token changes, and when a token expires."""

    name = "bootstrapsigner"
    account = "bootstrap-signer"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._public = env.dialect("{short}-public")
        self._maps = self.follow(CONFIG_MAPS, self._map_changed)
        self._secrets = self.follow(SECRETS, self._secret_changed)

    def _map_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None and name_of(obj) == CLUSTER_INFO and namespace(obj) == self._public:
            self.queue.add(_KEY)

    def _secret_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if any(each is not None and is_token(self.dialect, each) for each in (old, new)):
            self.queue.add(_KEY)

    async def reconcile(self, key: Key) -> float | None:
        info = self._maps.get(self._public, CLUSTER_INFO)
        data: dict[str, str] = mapping(info, "data")
        if info is None or CLUSTER_INFO_KEY not in data:
            return None
        now, ends = self.env.wall(), []
        signed = {k: v for k, v in data.items() if not k.startswith(_SIGNATURE)}
        for secret in self._secrets.list(self.dialect.system_namespace):
            token = signing_token(secret, now) if is_token(self.dialect, secret) else None
            if token is not None:
                signed[_SIGNATURE + token[0]] = detached_signature(data[CLUSTER_INFO_KEY], *token)
                ends.append(expiration(secret))
        if signed != data:
            await self.client.update(CONFIG_MAPS, self._public, CLUSTER_INFO, {**info, "data": signed})
        return min((end - now for end in ends if end is not None), default=None)
