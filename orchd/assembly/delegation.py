"""Delegated authentication and authorization of a component's port, through reviews by the API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes
from typing import Any

from twisted.internet.task import LoopingCall

from orchd.client.interfaces import IClient, ResourceRef
from orchd.config.component import DelegatedAuthentication, DelegatedAuthorization
from orchd.config.sections.access import FrontProxySettings
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.anonymous import Anonymous
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.chain import AuthenticatorChain
from orchd.server.authn.frontproxy import FrontProxy, ProxyHeaders
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator
from orchd.server.authn.token_cache import CachedTokens
from orchd.server.authn.tokenwebhook import TokenWebhook
from orchd.server.authn.x509 import ClientCertificates
from orchd.server.authz.interfaces import IAuthorizer
from orchd.server.authz.paths import AllowedPaths
from orchd.server.authz.privileged import PrivilegedGroups
from orchd.server.authz.union import AuthorizerUnion
from orchd.server.authz.webhook import WebhookAuthorizer, WebhookOptions
from orchd.server.outbound.webhooks import WebhookError
from orchd.txkit.background import Background
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.log import Logger

#: The ConfigMap with the cluster's trusted authorities.
_MAP = "extension-apiserver-authentication"
_CONFIG_MAPS = ResourceRef("", "v1", "configmaps")
#: Seconds between reads of that ConfigMap and of the CA files.
_EVERY = 60.0
_PLURALS = {"TokenReview": "tokenreviews", "SubjectAccessReview": "subjectaccessreviews"}


class ClientReviews:
    """Sends reviews to the API server of a client."""

    def __init__(self, client: IClient) -> None:
        self._client = client

    async def ask(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Post a review; returns the response. Raises WebhookError."""
        group, _, version = document["apiVersion"].partition("/")
        try:
            response: dict[str, Any] = await self._client.create(
                ResourceRef(group, version, _PLURALS[document["kind"]]), "", dict(document)
            )
        except ApiError as error:
            raise WebhookError(error.message, error.code) from None
        return response


class DelegatedChain:
    """The authenticator chain of a component's port. CA bundles come from flags, or where flags are unset from the
    cluster.

    `client` calls the API server; None restricts the chain to flags. `wall` returns epoch seconds."""

    _log = Logger()

    def __init__(
        self,
        settings: DelegatedAuthentication,
        client: IClient | None,
        dialect: Dialect,
        reactor: Any,
        *,
        wall: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._client = client
        self._dialect = dialect
        self._wall = wall
        self._seconds = reactor.seconds
        self._current: tuple[bytes, bytes, FrontProxySettings] = (b"", b"", settings.front_proxy)
        #: The CA files of clients and front proxies, "" for none.
        self._names = settings.client_ca_file, settings.front_proxy.ca_file
        self._files: FileReloader[tuple[bytes, bytes]] | None = None
        self._tokens: list[IAuthenticator] = []
        if client is not None:
            reviews = TokenWebhook(dialect, ClientReviews(client), version="v1", audiences=())
            cached = CachedTokens(
                reviews, reactor, success_ttl=settings.token_ttl, unknown_ttl=settings.token_ttl, secret=token_bytes(32)
            )
            self._tokens = [BearerTokens([cached], audiences=())]
        self._chain = self._make()
        self._background = Background()
        self._polling = LoopingCall(self._poll)
        self._polling.clock = reactor

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """See `AuthenticatorChain.authenticate`."""
        return await self._chain.authenticate(credentials)

    async def start(self) -> None:
        """Read the authentication settings. Raises ApiError if that fails and the failure is not tolerated."""
        settings = self._settings
        if self._client is None and not settings.skip_lookup:
            for what, value in (
                ("client certificates are not", settings.client_ca_file),
                ("headers of front proxies are not", settings.front_proxy.ca_file),
            ):
                if not value:
                    flag = self._dialect("--authentication-{short}config")
                    self._log.warn(
                        "{what} rejected: {flag}, which is needed to look up their CA, is not set", what=what, flag=flag
                    )
        try:
            await self._read_authorities()
        except ApiError as error:
            if not settings.tolerate_failure:
                raise
            self._log.warn(
                "authentication settings were not found in the cluster: {error}; continuing without them, so "
                "requests may be anonymous (--authentication-tolerate-lookup-failure=false makes this a failure)",
                error=error.message,
            )
        self._polling.start(_EVERY, now=False)

    async def stop(self) -> None:
        if self._polling.running:
            self._polling.stop()
        await self._background.stop()

    def _poll(self) -> None:
        if not self._background:
            self._background.add(self._look_again(), "authentication settings of the cluster")

    async def _look_again(self) -> None:
        try:
            await self._read_authorities()
        except (ApiError, ValueError, OSError) as error:
            self._log.warn("failed to reload authentication settings: {error}", error=str(error))

    async def _read_authorities(self) -> None:
        """Read CA files and the cluster's settings. Raises ApiError, OSError, and ValueError naming the flag or
        member."""
        settings = self._settings
        proxy = settings.front_proxy
        if self._files is None:
            self._files = FileReloader("CA bundles", self._read_files, lambda: filter(None, self._names))
        self._files.check()
        clients, proxies = self._files.value
        if self._client is not None and not settings.skip_lookup and not (clients and proxies):
            config_map = await self._client.get(_CONFIG_MAPS, self._dialect.system_namespace, _MAP)
            data: Mapping[str, str] = config_map.get("data") or {}
            clients = clients or data.get("client-ca-file", "").encode()
            if not proxies and data.get("requestheader-client-ca-file"):
                proxies = data["requestheader-client-ca-file"].encode()
                proxy = _headers(data)
        if (clients, proxies, proxy) != self._current:
            before, self._current = self._current, (clients, proxies, proxy)
            try:
                self._chain = self._make()
            except ValueError:
                self._current = before
                raise
            self._log.info("client certificate authorities were reloaded")

    def _read_files(self) -> tuple[bytes, bytes]:
        clients, proxies = (Path(name).read_bytes() if name else b"" for name in self._names)
        return clients, proxies

    def _make(self) -> AuthenticatorChain:
        clients, proxies, proxy = self._current
        methods: list[IAuthenticator] = []
        if proxies:
            headers = ProxyHeaders(
                username=tuple(map(str.lower, proxy.username_headers)),
                groups=tuple(map(str.lower, proxy.group_headers)),
                extra=tuple(map(str.lower, proxy.extra_prefixes)),
                uid=tuple(map(str.lower, proxy.uid_headers)),
                names=proxy.names,
            )
            methods.append(FrontProxy(_verifier("requestheader-client-ca-file", proxies), headers, wall=self._wall))
        if clients:
            methods.append(ClientCertificates(_verifier("client-ca-file", clients), wall=self._wall))
        return AuthenticatorChain([*methods, *self._tokens], anonymous=Anonymous(), clock=self._seconds)


def _verifier(name: str, bundle: bytes) -> ClientVerifier:
    try:
        return ClientVerifier(bundle)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _headers(data: Mapping[str, str]) -> FrontProxySettings:
    """The front-proxy settings published in the cluster. Raises ValueError naming the member."""

    def list_member(member: str) -> tuple[str, ...]:
        try:
            return tuple(map(str, json.loads(data.get(member) or "[]")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"configmap {_MAP}: {member}: {error}") from None

    return replace(
        FrontProxySettings(),
        names=list_member("requestheader-allowed-names"),
        username_headers=list_member("requestheader-username-headers"),
        group_headers=list_member("requestheader-group-headers"),
        extra_prefixes=list_member("requestheader-extra-headers-prefix"),
        uid_headers=list_member("requestheader-uid-headers"),
    )


def delegated_authorizer(
    settings: DelegatedAuthorization, client: IClient | None, dialect: Dialect, clock: Callable[[], float]
) -> AuthorizerUnion:
    """Authorizer for always-allowed paths, the masters group, and otherwise reviews by the API server of `client`."""
    authorizers: list[IAuthorizer] = [PrivilegedGroups(), AllowedPaths(settings.open_paths)]
    if client is not None:
        options = WebhookOptions(
            version="v1", authorized_ttl=settings.authorized_ttl, unauthorized_ttl=settings.unauthorized_ttl
        )
        authorizers.append(WebhookAuthorizer(dialect, ClientReviews(client), options, clock=clock))
    return AuthorizerUnion(authorizers)
