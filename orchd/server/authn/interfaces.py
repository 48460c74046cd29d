"""Authentication: who sends this request? A chain of methods, each of which may know, refuse or pass (docs/decisions.md 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zope.interface import Attribute, Interface

from orchd.kinds.identity import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a request shows of its sender. `headers` has lower-case names; `certificates` is the verified or
    unverified client chain in DER, leaf first (() without TLS client authentication)."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated:
    """A known sender. `audiences` are those the credential is good for; `warnings` and `annotations` (audit) may say
    more; `consumed` names headers that must not be handed on (front-proxy headers, Authorization), `instead` holds those
    that take their place."""

    user: User
    audiences: tuple[str, ...] = ()
    annotations: Mapping[str, str] | None = None
    consumed: tuple[str, ...] = ()
    instead: Mapping[str, tuple[str, ...]] | None = None


class AuthenticationError(Exception):
    """A credential of this method's sort that is wrong (bad signature, expired). The chain goes on to other methods;
    if none knows the sender, the answer is 401. The message goes to the log only."""


class IAuthenticator(Interface):
    """One method of authentication."""

    name: str = Attribute("As in metrics and logs: x509, tokenfile, serviceaccount, ...")

    async def authenticate(credentials: Credentials) -> Authenticated | None:
        """The sender; None when the request shows nothing of this method's sort. Raises AuthenticationError.

        Called once per request before anything else; must not mutate. May be cancelled when the client goes away."""


class ITokenAuthenticator(Interface):
    """One sort of bearer token."""

    name: str = Attribute("As in metrics and logs: tokenfile, serviceaccount, ...")

    async def authenticate_token(token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The holder of `token` if it is good for one of `audiences`; None when it is not of this sort. The answer's
        `audiences` are those of the asked ones for which it is good. Raises AuthenticationError."""


class IAuthenticatorFactory(Interface):
    """A drop-in method, found by `getPlugins(IAuthenticatorFactory, orchd.plugins)`."""

    name: str = Attribute("Unique name.")
    help: str = Attribute("One paragraph for the operator.")

    def make(configuration: Mapping[str, Any]) -> IAuthenticator | None:
        """An authenticator from the effective flags, None when the configuration does not ask for it."""
