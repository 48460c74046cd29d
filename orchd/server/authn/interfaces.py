"""Contracts of authentication: a chain of methods, each of which identifies the user, rejects or abstains (DESIGN
7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zope.interface import Attribute, Interface

from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.values import value_class


@value_class(kw_only=True)
class Credentials:
    """The credentials of a request. `headers` has lower-case names; `certificates` is the verified or unverified client
    chain in DER, leaf first (() without TLS client authentication)."""

    headers: Mapping[str, tuple[str, ...]]
    certificates: tuple[bytes, ...] = ()
    remote: str = ""
    path: str = ""

    @property
    def bearer(self) -> str:
        """The bearer token of the first Authorization header, "" without one: the word after one space."""
        values = self.headers.get("authorization")
        parts = values[0].strip().split(" ") if values else ()
        return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


@value_class(kw_only=True)
class Authenticated:
    """An authenticated user. `audiences` are those the credential is valid for; `warnings` and `annotations` (audit)
    are optional; `consumed` names headers that must not be forwarded (front-proxy headers, Authorization), `instead`
    holds their replacements."""

    user: User
    audiences: tuple[str, ...] = ()
    annotations: Mapping[str, str] | None = None
    consumed: tuple[str, ...] = ()
    instead: Mapping[str, tuple[str, ...]] | None = None
    warnings: tuple[str, ...] = ()


class AuthenticationError(Exception):
    """An invalid credential of this method's type (bad signature, expired). The chain continues with other methods; if
    none succeeds, the response is 401, and its audit events have the `annotations`. The message is logged only."""

    def __init__(self, text: str, annotations: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.annotations: Mapping[str, str] = annotations or {}


class UnauthenticatedError(ApiError):
    """401: no method accepts the credentials. `annotations` are those of audit events of the request."""

    def __init__(self, annotations: Mapping[str, str]) -> None:
        super().__init__(401, "Unauthorized", "Unauthorized")
        self.annotations = annotations


class IAuthenticator(Interface):
    """One method of authentication."""

    name: str = Attribute("As in metrics and logs: x509, tokenfile, serviceaccount, ...")

    async def authenticate(credentials: Credentials) -> Authenticated | None:
        """The authenticated user; None when the request has no credential of this method's type. Raises
        AuthenticationError.

        Called once per request before anything else; must not mutate. May be cancelled when the client disconnects."""


class ITokenAuthenticator(Interface):
    """Authenticator of one type of bearer token."""

    name: str = Attribute("As in metrics and logs: tokenfile, serviceaccount, ...")

    async def authenticate_token(token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user of `token` if it is valid for one of `audiences`; None when it is not of this type. The result's
        `audiences` are the requested ones for which it is valid. Raises AuthenticationError."""


class IAuthenticatorFactory(Interface):
    """A drop-in method, found in `orchd.plugins`."""

    name: str = Attribute("Unique name.")
    help: str = Attribute("One paragraph for the operator.")

    def make(configuration: Mapping[str, Any]) -> IAuthenticator | None:
        """An authenticator from the effective flags; None when the configuration does not enable it."""
