"""Service account tokens for clients: requested from the API, cached, and renewed before they expire."""

from __future__ import annotations

from collections.abc import Callable

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.txkit.shared_call import SharedCall

_ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")
#: Requested lifetime of a token in seconds, and the fraction of it after which the token is renewed.
_LIFETIME, _SHARE = 3600, 0.8


class AccountToken:
    """The token of one service account. The account is created if it does not exist. `wall` is seconds since the
    epoch."""

    def __init__(
        self, client: IClient, dialect: Dialect, *, namespace: str, account: str, wall: Callable[[], float]
    ) -> None:
        self._client = client
        self._api_version = dialect("authentication.{abbr}.io/v1")
        self._namespace, self._account = namespace, account
        self._wall = wall
        self._token = ""
        self._good_until = 0.0
        self._asking: SharedCall[str] | None = None

    async def __call__(self) -> str:
        """A token that is valid for at least a fifth of its lifetime. Raises ApiError."""
        if self._token and self._wall() < self._good_until:
            return self._token
        if self._asking is None:
            self._asking = SharedCall(self._renew, self._ended)
        return await self._asking.wait()

    def refused(self) -> None:
        """The server rejected the token: request a new one. The account was recreated, or the signing keys have
        changed."""
        self._good_until = 0.0

    def _ended(self) -> None:
        self._asking = None

    async def _renew(self) -> str:
        try:
            token = await self._request()
        except ApiError as error:
            if error.code != 404:
                raise
            await self._make_account()
            token = await self._request()
        self._token, self._good_until = token, self._wall() + _LIFETIME * _SHARE
        return token

    async def _request(self) -> str:
        request = {"apiVersion": self._api_version, "kind": "TokenRequest", "spec": {"expirationSeconds": _LIFETIME}}
        response = await self._client.create(
            _ACCOUNTS, self._namespace, request, name=self._account, subresource="token"
        )
        return str(response["status"]["token"])

    async def _make_account(self) -> None:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": self._namespace, "name": self._account},
        }
        try:
            await self._client.create(_ACCOUNTS, self._namespace, account)
        except ApiError as error:
            if error.code != 409:
                raise
