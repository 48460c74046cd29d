"""The issuers of --authentication-config, exchanged while the server runs when the file changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_bytes

from twisted.internet.task import deferLater

from orchd.assembly.outbound_services import IssuerServices
from orchd.config.documents.authentication import AuthenticationConfiguration, JwtAuthenticator, parse_authentication
from orchd.dialect import Dialect
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.claimexpressions import ClaimTexts
from orchd.server.authn.jose import ALGORITHMS
from orchd.server.authn.jwtissuers import JwtIssuers
from orchd.server.authn.oidc import OidcOptions, OpenIdTokens
from orchd.server.authn.oidcissuer import Fetcher
from orchd.server.authn.token_cache import CachedTokens
from orchd.txkit.background import Background
from orchd.txkit.config_file_watcher import ConfigFileWatcher, NotAppliedError, read_limited
from orchd.txkit.log import Logger

FLAG = "--authentication-config"
#: Seconds for which a verified token is cached.
REMEMBERED = 10.0
#: Seconds within which all issuers of a changed file must be reached, and between checks of them.
_PATIENCE, _PAUSE = 60.0, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class _Issuer:
    """One configured issuer: `tokens` verifies, `cached` remembers results. `background` runs its discovery."""

    configuration: JwtAuthenticator
    tokens: OpenIdTokens
    cached: CachedTokens
    background: Background


class JwtConfiguration:
    """`tokens` authenticates tokens of the configured issuers; `initial` is the configuration of the start.

    A changed `file` takes effect issuer by issuer, so that none delays the others: those that it no longer has are
    dropped at once, unchanged ones continue, new and changed ones are used when they were reached. Until then a changed
    one is used as before. A file with an error has no effect."""

    _log = Logger()

    def __init__(
        self,
        path: str,
        dialect: Dialect,
        services: IssuerServices,
        *,
        audiences: Sequence[str],
        disallowed: Sequence[str],
    ) -> None:
        """`audiences` are those of this server, `disallowed` the URLs of issuers that may not be configured. Raises
        ValueError naming the flag, the file and the field."""
        self._dialect, self._services = dialect, services
        self._audiences, self._disallowed = tuple(audiences), tuple(disallowed)
        try:
            data = read_limited(path)
            self.initial = self._parse(data)
        except (OSError, ValueError) as error:
            raise ValueError(f"{FLAG}: {path}: {error}") from error
        self.tokens = JwtIssuers()
        self._issuers = {each.url: self._make(each) for each in self.initial.jwt}
        self._publish()
        self.file = ConfigFileWatcher(
            path, data, self.apply, what="authentication configuration", clock=services.reactor, wall=services.wall
        )

    def begin(self) -> None:
        """Begin issuer discovery. The caller starts and stops `file`."""
        for issuer in self._issuers.values():
            issuer.tokens.begin()

    async def stop(self) -> None:
        """End issuer discovery."""
        for issuer in self._issuers.values():
            await issuer.background.stop()

    async def apply(self, data: bytes) -> None:
        """Use the configuration in `data` instead. Raises ValueError if it is wrong, NotAppliedError if an issuer was
        not reached in time; the others are then in use."""
        configuration = self._parse(data)
        if configuration.anonymous != self.initial.anonymous:
            self._log.warn(
                "changes of anonymous requests in the authentication configuration take effect after a restart"
            )
        by_url = {each.url: each for each in configuration.jwt}
        dropped = [self._issuers.pop(url) for url in list(self._issuers) if url not in by_url]
        self._publish()
        for issuer in dropped:
            await issuer.background.stop()
        used = self._issuers
        waiting = {
            url: self._make(each) for url, each in by_url.items() if url not in used or used[url].configuration != each
        }
        for issuer in waiting.values():
            issuer.tokens.begin()
        try:
            await self._wait_reached(waiting)
        finally:
            for issuer in waiting.values():
                await issuer.background.stop()

    async def _wait_reached(self, waiting: dict[str, _Issuer]) -> None:
        """Use each issuer as soon as it was reached, and take it out of `waiting`. Raises NotAppliedError for the rest
        when the time is over, and when the file has changed again, whose contents must not wait for them."""
        clock = self._services.reactor
        end = clock.seconds() + _PATIENCE
        while True:
            for url in [url for url, issuer in waiting.items() if not issuer.tokens.problem]:
                previous, self._issuers[url] = self._issuers.get(url), waiting.pop(url)
                self._publish()
                if previous is not None:
                    await previous.background.stop()
            if not waiting:
                return
            if clock.seconds() >= end or self.file.is_superseded():
                raise NotAppliedError(
                    ", ".join(issuer.tokens.problem for issuer in waiting.values())
                    + "; other issuers of the file are in use"
                )
            await deferLater(clock, _PAUSE)

    def _parse(self, data: bytes) -> AuthenticationConfiguration:
        parsed = parse_authentication(data, self._dialect, disallowed=self._disallowed, check_authority=ClientVerifier)
        for issuer in parsed.jwt:
            if issuer.egress not in self._services.calls:
                raise ValueError(f'issuer {issuer.url}: egress type "{issuer.egress}" is not configured')
        return parsed

    def _publish(self) -> None:
        self.tokens.methods = {url: issuer.cached for url, issuer in self._issuers.items()}
        self._services.metrics.keep(list(self._issuers))

    def _make(self, chosen: JwtAuthenticator) -> _Issuer:
        background = Background()
        tokens = self._authenticator(chosen, background)
        # A cache of its own: users of a previous configuration must not outlive it.
        cached = CachedTokens(
            tokens,
            self._services.reactor,
            success_ttl=REMEMBERED,
            unknown_ttl=0,
            secret=token_bytes(32),
            metrics=self._services.token_cache,
        )
        return _Issuer(configuration=chosen, tokens=tokens, cached=cached, background=background)

    def _authenticator(self, chosen: JwtAuthenticator, background: Background) -> OpenIdTokens:
        options = OidcOptions(
            issuer=chosen.url,
            audiences=chosen.audiences,
            discovery=chosen.discovery_url,
            username_claim=chosen.username.claim,
            username_prefix=chosen.username.prefix,
            groups_claim=chosen.groups.claim,
            groups_prefix=chosen.groups.prefix,
            uid_claim=chosen.uid.claim,
            credential_key=self._dialect("authentication.{long}.io/credential-id"),
            required=chosen.required,
            algorithms=ALGORITHMS,
            expressions=_texts(chosen).compile(self._dialect),
        )
        return OpenIdTokens(
            options,
            Fetcher(self._services.calls[chosen.egress], chosen.authority.encode()),
            audiences=self._audiences,
            services=self._services.for_tokens(background.add),
            numbers=self._services.metrics,
        )


def _texts(chosen: JwtAuthenticator) -> ClaimTexts:
    return ClaimTexts(
        username=chosen.username.expression,
        groups=chosen.groups.expression,
        uid=chosen.uid.expression,
        extra=chosen.extra,
        claim_rules=chosen.claim_rules,
        user_rules=chosen.user_rules,
    )
