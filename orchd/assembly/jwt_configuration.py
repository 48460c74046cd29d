"""The issuers of --authentication-config, exchanged while the server runs when the file changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from secrets import token_bytes

from twisted.internet.task import deferLater

from orchd.assembly.outbound_services import IssuerServices
from orchd.config.documents.authentication import AuthenticationConfiguration, JwtAuthenticator, parse_authentication
from orchd.dialect import Dialect
from orchd.pki.verify import ClientVerifier
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


class _IssuerSet:
    """The authenticators of one configuration."""

    def __init__(
        self,
        configuration: AuthenticationConfiguration,
        make: Callable[[JwtAuthenticator, Background], OpenIdTokens],
    ) -> None:
        self.background = Background()
        self.issuers = [make(each, self.background) for each in configuration.jwt]

    def begin(self) -> None:
        """Begin issuer discovery."""
        for issuer in self.issuers:
            issuer.begin()

    def problem(self) -> str:
        """Why tokens cannot be verified yet, "" when all issuers were reached."""
        return ", ".join(issuer.problem for issuer in self.issuers if issuer.problem)


class JwtConfiguration:
    """`tokens` authenticates tokens of the configured issuers; `initial` is the configuration of the start. A changed `file`
    takes effect when all its issuers were reached, and as a whole; until then, and after an error, the previous one does."""

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
        """`audiences` are those of this server, `disallowed` the URLs of issuers that may not be configured. Raises ValueError naming
        the flag, the file and the field."""
        self._dialect, self._services = dialect, services
        self._audiences, self._disallowed = tuple(audiences), tuple(disallowed)
        try:
            data = read_limited(path)
            self.initial = self._parse(data)
        except (OSError, ValueError) as error:
            raise ValueError(f"{FLAG}: {path}: {error}") from error
        self.tokens = JwtIssuers()
        self._active = self._make(self.initial)
        self._activate(self._active)
        self.file = ConfigFileWatcher(
            path, data, self.apply, what="authentication configuration", clock=services.reactor, wall=services.wall
        )

    def begin(self) -> None:
        """Begin issuer discovery. The caller starts and stops `file`."""
        self._active.begin()

    async def stop(self) -> None:
        """End issuer discovery."""
        await self._active.background.stop()

    async def apply(self, data: bytes) -> None:
        """Use the configuration in `data` instead. Raises ValueError if it is wrong, NotAppliedError if an issuer was not
        reached in time."""
        configuration = self._parse(data)
        if configuration.anonymous != self.initial.anonymous:
            self._log.warn("changes of anonymous requests in the authentication configuration take effect after a restart")
        made = self._make(configuration)
        made.begin()
        try:
            await self._wait_reached(made)
        except BaseException:
            await made.background.stop()
            raise
        previous, self._active = self._active, made
        self._activate(made)
        self._services.metrics.keep([issuer.url for issuer in made.issuers])
        await previous.background.stop()

    async def _wait_reached(self, made: _IssuerSet) -> None:
        """Wait until all issuers were reached. Raises NotAppliedError."""
        clock = self._services.reactor
        end = clock.seconds() + _PATIENCE
        while problem := made.problem():
            if clock.seconds() >= end:
                raise NotAppliedError(problem)
            await deferLater(clock, _PAUSE)

    def _parse(self, data: bytes) -> AuthenticationConfiguration:
        return parse_authentication(data, self._dialect, disallowed=self._disallowed, check_authority=ClientVerifier)

    def _activate(self, made: _IssuerSet) -> None:
        # A new cache: users of a previous configuration must not outlive it.
        self.tokens.methods = {
            issuer.url: CachedTokens(
                issuer,
                self._services.reactor,
                found=REMEMBERED,
                unknown=0,
                secret=token_bytes(32),
                metrics=self._services.token_cache,
            )
            for issuer in made.issuers
        }

    def _make(self, configuration: AuthenticationConfiguration) -> _IssuerSet:
        return _IssuerSet(configuration, self._authenticator)

    def _authenticator(self, chosen: JwtAuthenticator, background: Background) -> OpenIdTokens:
        options = OidcOptions(
            issuer=chosen.url,
            audiences=chosen.audiences,
            discovery=chosen.discovery_url,
            username_claim=chosen.username.claim,
            username_prefix=chosen.username.prefix,
            groups_claim=chosen.groups.claim,
            groups_prefix=chosen.groups.prefix,
            uid_claim=chosen.uid_claim,
            credential_key=self._dialect("authentication.{long}.io/credential-id"),
            required=chosen.required,
            algorithms=ALGORITHMS,
        )
        return OpenIdTokens(
            options,
            Fetcher(self._services.calls[chosen.egress], chosen.authority.encode()),
            audiences=self._audiences,
            reactor=self._services.reactor,
            wall=self._services.wall,
            background=background.add,
            numbers=self._services.metrics,
        )
