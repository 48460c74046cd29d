"""Authentication and authorization of one server, from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes, token_hex
from socket import gethostname

from orchd.assembly import jwt_configuration
from orchd.assembly.authorization import Authorization
from orchd.assembly.files import ServerFiles
from orchd.assembly.jwt_configuration import JwtConfiguration
from orchd.assembly.outbound import Outbound
from orchd.assembly.outbound_services import IssuerServices, OutboundServices
from orchd.assembly.reload_metrics import reload_instruments, server_identity
from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient, IInformers
from orchd.config.sections.access import OidcSettings
from orchd.config.settings import Settings
from orchd.kinds.naming import random_uuid
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.anonymous import Anonymous
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.bootstraptoken import BootstrapTokens
from orchd.server.authn.chain import AuthenticatorChain
from orchd.server.authn.dropins import drop_ins
from orchd.server.authn.extrakeys import credential_key
from orchd.server.authn.frontproxy import FrontProxy, ProxyHeaders
from orchd.server.authn.interfaces import IAuthenticator, ITokenAuthenticator
from orchd.server.authn.loopback import Loopback
from orchd.server.authn.metrics import AuthenticationMetrics, JwtMetrics, TokenCacheMetrics
from orchd.server.authn.oidc import OidcOptions, OpenIdTokens
from orchd.server.authn.oidcissuer import Fetcher
from orchd.server.authn.serviceaccount import AccountObjects, Lifetimes, ServiceAccountTokens, TokenIssuer, TokenRules
from orchd.server.authn.signedtokens import Signer, Verifier, key_choice
from orchd.server.authn.token_cache import CachedTokens
from orchd.server.authn.tokenfile import TokenFile
from orchd.server.authn.tokenwebhook import TokenWebhook
from orchd.server.authn.websockettoken import WebSocketTokens
from orchd.server.authn.x509 import ClientCertificates
from orchd.server.authz.metrics import WebhookMetrics
from orchd.server.outbound.metrics import ReviewMetrics
from orchd.server.reconcilers.authentication_config import Authorities, CaBundlePublisher
from orchd.txkit.background import Background
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.config_file_watcher import ConfigFileWatcher
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument, instruments_of
from orchd.txkit.services import Member, as_member

_log = Logger(namespace="orchd.authn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """The authenticator chain, its bearer-token methods (used by TokenReview), the service account token issuer, and
    the reloadable CA bundles. `begin` starts the tasks in `background`; `jwt` is the configuration file, if any."""

    chain: AuthenticatorChain
    bearer: BearerTokens
    issuer: TokenIssuer
    audiences: tuple[str, ...]
    certificates: ClientCertificates
    front_proxy: FrontProxy | None
    begin: Callable[[], None]
    background: Background
    jwt: JwtConfiguration | None


def authentication(
    settings: Settings,
    files: ServerFiles,
    informers: IInformers,
    client: IClient,
    outbound: OutboundServices,
    metrics: AuthenticationMetrics,
    *,
    open_to_all: bool = False,
) -> Authentication:
    """All authenticators that the settings enable, in the reference's order. With `open_to_all`, where all requests are
    allowed, anonymous ones are rejected. Raises ValueError and OSError for invalid files."""
    chosen = settings.authentication
    audiences = chosen.audiences or chosen.service_accounts.issuers
    background = Background()
    open_id = _open_id(chosen.oidc, outbound, audiences, background) if chosen.oidc is not None else None
    jwt = _jwt(settings, outbound, audiences)
    bearer = BearerTokens(
        [
            *_local_tokens(settings, files, informers, client, outbound.wall, audiences),
            *([] if jwt is None else [jwt.tokens]),
            *_remote_tokens(settings, outbound, audiences, open_id),
        ],
        audiences=audiences,
    )
    # The bundle includes the server's own CA; check separately that the file has a certificate.
    _verifier("client-ca-file", files.client_authorities_flag)
    certificates = ClientCertificates(
        _verifier("client-ca-file", files.client_authorities),
        wall=outbound.wall,
        observe=metrics.certificate,
        credential=settings.release.choose((("", ""), ("1.32", credential_key(settings.dialect)))),
    )
    front_proxy = _front_proxy(settings, files, outbound.wall)
    methods: list[IAuthenticator] = [
        *([] if front_proxy is None else [front_proxy]),
        certificates,
        bearer,
        WebSocketTokens(settings.dialect, bearer, audiences=audiences),
        *drop_ins(settings.flags),
    ]
    return Authentication(
        chain=AuthenticatorChain(
            methods,
            anonymous=_anonymous(settings, jwt, open_to_all),
            observe=metrics.observe,
            clock=outbound.reactor.seconds,
            log=_log_text,
        ),
        bearer=bearer,
        issuer=_token_issuer(settings, files, outbound, audiences),
        audiences=tuple(audiences),
        certificates=certificates,
        front_proxy=front_proxy,
        begin=(lambda: None) if open_id is None else open_id.begin,
        background=background,
        jwt=jwt,
    )


def _log_text(text: str) -> None:
    _log.info("{text}", text=text)


def _jwt(settings: Settings, outbound: OutboundServices, audiences: tuple[str, ...]) -> JwtConfiguration | None:
    """The issuers of --authentication-config, None without it."""
    chosen = settings.authentication
    if not chosen.config_file:
        return None
    return JwtConfiguration(
        chosen.config_file,
        settings.dialect,
        outbound.issuers,
        audiences=audiences,
        disallowed=chosen.service_accounts.issuers,
    )


def _token_issuer(
    settings: Settings, files: ServerFiles, outbound: OutboundServices, audiences: tuple[str, ...]
) -> TokenIssuer:
    accounts = settings.authentication.service_accounts
    rules = TokenRules.of(settings.release)
    return TokenIssuer(
        settings.dialect,
        Signer(files.signing_key),
        issuer=accounts.issuers[0],
        audiences=audiences,
        wall=outbound.wall,
        lifetimes=Lifetimes(
            extend=accounts.extend_expiration, any_audience=rules.any_audience, max_seconds=int(accounts.max_expiration)
        ),
        identifiers=partial(random_uuid, outbound.random) if rules.identified else None,
    )


def _anonymous(settings: Settings, jwt: JwtConfiguration | None, open_to_all: bool) -> Anonymous | None:
    """The authenticator of anonymous requests, None if they are rejected. Raises ValueError for two authenticators."""
    chosen = settings.authentication
    configured = None if jwt is None else jwt.initial.anonymous
    paths: tuple[str, ...] = ()
    if configured is None:
        anonymous = chosen.anonymous
    elif chosen.anonymous_given:
        raise ValueError(
            f"{jwt_configuration.FLAG}: --anonymous-auth flag cannot be set when anonymous field is configured in "
            "authentication configuration file"
        )
    else:
        anonymous, paths = configured.enabled, configured.paths
    if anonymous and open_to_all:
        _log.warn("the authorizer AlwaysAllow disables anonymous requests")
        return None
    return Anonymous(paths) if anonymous else None


def _verifier(flag: str, bundle: bytes) -> ClientVerifier:
    try:
        return ClientVerifier(bundle)
    except ValueError as error:
        raise ValueError(f"--{flag}: {error}") from error


def _front_proxy(settings: Settings, files: ServerFiles, wall: Callable[[], float]) -> FrontProxy | None:
    chosen = settings.authentication.front_proxy
    if not chosen.ca_file:
        return None
    headers = ProxyHeaders(
        username=tuple(header.lower() for header in chosen.username_headers),
        groups=tuple(header.lower() for header in chosen.group_headers),
        extra=tuple(prefix.lower() for prefix in chosen.extra_prefixes),
        uid=tuple(header.lower() for header in chosen.uid_headers),
        names=chosen.names,
    )
    return FrontProxy(_verifier("requestheader-client-ca-file", files.proxy_authorities), headers, wall=wall)


def _local_tokens(
    settings: Settings,
    files: ServerFiles,
    informers: IInformers,
    client: IClient,
    wall: Callable[[], float],
    audiences: tuple[str, ...],
) -> list[ITokenAuthenticator]:
    """Token authenticators that need no external service."""
    chosen = settings.authentication
    tokens: list[ITokenAuthenticator] = []
    if chosen.token_file:
        try:
            tokens.append(TokenFile.read(chosen.token_file, audiences=audiences))
        except (OSError, ValueError) as error:
            raise ValueError(f"--token-auth-file: {error}") from error
    tokens.append(
        ServiceAccountTokens(
            settings.dialect,
            Verifier(files.verification_keys, choose=key_choice(settings.release)),
            AccountObjects(informers, client),
            issuers=chosen.service_accounts.issuers,
            audiences=audiences,
            wall=wall,
            rules=replace(TokenRules.of(settings.release), lookup=chosen.service_accounts.lookup),
        )
    )
    tokens.append(Loopback(token_hex(32), uid=token_hex(16)))
    if chosen.bootstrap_tokens:
        tokens.append(BootstrapTokens(settings.dialect, informers, wall=wall, audiences=audiences))
    return tokens


def _remote_tokens(
    settings: Settings, outbound: OutboundServices, audiences: tuple[str, ...], open_id: OpenIdTokens | None
) -> list[ITokenAuthenticator]:
    """Token authenticators that call external services: tried last, and cached."""

    def cache(method: ITokenAuthenticator, *, success_ttl: float, unknown_ttl: float) -> CachedTokens:
        return CachedTokens(
            method,
            outbound.reactor,
            success_ttl=success_ttl,
            unknown_ttl=unknown_ttl,
            secret=token_bytes(32),
            metrics=outbound.token_cache,
        )

    tokens: list[ITokenAuthenticator] = []
    if open_id is not None:
        tokens.append(cache(open_id, success_ttl=jwt_configuration.REMEMBERED, unknown_ttl=0))
    webhook = settings.authentication.webhook
    if webhook is not None:
        try:
            reviews = outbound.reviews(webhook.config_file, observe=outbound.token_reviews)
        except ValueError as error:
            raise ValueError(f"--authentication-token-webhook-config-file: {error}") from error
        method = TokenWebhook(
            settings.dialect, reviews, version=webhook.version, audiences=audiences, release=settings.release
        )
        tokens.append(cache(method, success_ttl=webhook.ttl, unknown_ttl=webhook.ttl))
    return tokens


def _open_id(
    chosen: OidcSettings, outbound: OutboundServices, audiences: tuple[str, ...], background: Background
) -> OpenIdTokens:
    try:
        authority = Path(chosen.ca_file).read_bytes() if chosen.ca_file else b""
        if chosen.ca_file:
            ClientVerifier(authority)
    except (OSError, ValueError) as error:
        raise ValueError(f"--oidc-ca-file: {error}") from error
    options = OidcOptions(
        issuer=chosen.issuer,
        audiences=(chosen.client,),
        username_claim=chosen.username_claim,
        username_prefix=chosen.username_prefix,
        groups_claim=chosen.groups_claim,
        groups_prefix=chosen.groups_prefix,
        required=chosen.required,
        algorithms=chosen.algorithms,
    )
    return OpenIdTokens(
        options,
        Fetcher(outbound.issuers.calls[""], authority),
        audiences=audiences,
        services=outbound.issuers.for_tokens(background.add),
        numbers=outbound.issuers.metrics,
    )


class Access:
    """Authentication and authorization of one server, and the publisher of its CA bundles."""

    def __init__(
        self, runtime: Runtime, files: ServerFiles, client: IClient, informers: IInformers, outbound: Outbound
    ) -> None:
        """Raises ValueError naming the invalid flag and file."""
        settings, server = runtime.settings, server_identity(gethostname())
        metrics, token_cache = AuthenticationMetrics(runtime.dialect), TokenCacheMetrics()
        token_reviews, access_reviews = ReviewMetrics("authn"), ReviewMetrics("authz")
        webhooks, issuers = WebhookMetrics(), JwtMetrics(server, runtime.wall)
        compute = ComputeThread(runtime.in_thread)
        services = OutboundServices(
            reactor=runtime.reactor,
            calls=outbound.reviews,
            wall=runtime.wall,
            random=runtime.random,
            token_cache=token_cache,
            token_reviews=token_reviews.observe,
            access_reviews=access_reviews.observe,
            webhook_metrics=webhooks,
            issuers=IssuerServices(
                reactor=runtime.reactor,
                wall=runtime.wall,
                calls=outbound.issuers,
                token_cache=token_cache,
                metrics=issuers,
                compute=compute,
            ),
            compute=compute,
        )
        self.authorization = Authorization(settings, informers, services)
        self.authentication = authentication(
            settings, files, informers, client, services, metrics, open_to_all=self.authorization.open_to_all
        )
        self.publisher = _publisher(runtime, files, client, self.authentication)
        self._measured = (metrics, token_cache, token_reviews, access_reviews, webhooks, issuers)
        self._reloads = [each for sort, file in self._files() for each in reload_instruments(sort, file.counts, server)]

    def issuers(self) -> Member:
        """Fetches the discovery documents and keys of token issuers, and follows configuration files."""
        return as_member("issuers", self._begin, self._end)

    def publishing(self) -> Member:
        return as_member("authorities", self.publisher.start, self.publisher.stop)

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Metrics of authenticators and authorizers, of what they call, and of reloads of the configuration files."""
        union = self.authorization.union
        yield from instruments_of((*self._measured, union, *self.authentication.bearer.methods, *union.authorizers))
        yield from self._reloads

    def _files(self) -> Iterable[tuple[str, ConfigFileWatcher]]:
        if self.authentication.jwt is not None:
            yield "authentication", self.authentication.jwt.file
        if self.authorization.file is not None:
            yield "authorization", self.authorization.file

    async def _begin(self) -> None:
        self.authentication.begin()
        if self.authentication.jwt is not None:
            self.authentication.jwt.begin()
        for _, file in self._files():
            await file.start()

    async def _end(self) -> None:
        for _, file in self._files():
            await file.stop()
        if self.authentication.jwt is not None:
            await self.authentication.jwt.stop()
        await self.authentication.background.stop()


def _publisher(
    runtime: Runtime, files: ServerFiles, client: IClient, authentication: Authentication
) -> CaBundlePublisher:
    chosen = runtime.settings.authentication
    proxy = chosen.front_proxy
    return CaBundlePublisher(
        runtime.dialect,
        client,
        Authorities(
            files={"client-ca-file": chosen.client_ca_file, "requestheader-client-ca-file": proxy.ca_file},
            read={
                "client-ca-file": files.client_authorities_flag,
                "requestheader-client-ca-file": files.proxy_authorities,
            },
            own=files.certificates.ca_certificate.read_bytes(),
            proxy_lists={
                "requestheader-allowed-names": proxy.names,
                "requestheader-extra-headers-prefix": proxy.extra_prefixes,
                "requestheader-group-headers": proxy.group_headers,
                "requestheader-username-headers": proxy.username_headers,
                # Only where there are such headers, as in the reference.
                **({"requestheader-uid-headers": proxy.uid_headers} if proxy.uid_headers else {}),
            },
        ),
        authentication.certificates,
        authentication.front_proxy,
        clock=runtime.reactor,
        wall=runtime.wall,
    )
