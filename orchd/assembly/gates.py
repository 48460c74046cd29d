"""Authentication and authorization of one server, from its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex

from twisted.logger import Logger

from orchd.assembly.files import ServerFiles
from orchd.client.interfaces import IClient, IInformers
from orchd.config.settings import Settings
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.anonymous import Anonymous
from orchd.server.authn.bearer import Bearer
from orchd.server.authn.chain import Chain
from orchd.server.authn.interfaces import IAuthenticator, ITokenAuthenticator
from orchd.server.authn.loopback import Loopback
from orchd.server.authn.serviceaccount import ServiceAccountTokens, TokenIssuer
from orchd.server.authn.signedtokens import Signer, Verifier
from orchd.server.authn.tokenfile import TokenFile
from orchd.server.authn.x509 import ClientCertificates
from orchd.server.authz import modes
from orchd.server.authz.rbac import RoleBasedAuthorizer
from orchd.server.authz.union import Union

_log = Logger(namespace="orchd.authn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """The chain, the bearer methods in it (token reviews ask them), and the maker of service-account tokens."""

    chain: Chain
    bearer: Bearer
    issuer: TokenIssuer
    audiences: tuple[str, ...]


def authentication(
    settings: Settings,
    files: ServerFiles,
    informers: IInformers,
    *,
    client: IClient,
    clock: Callable[[], float],
    observe: Callable[[str, str], None],
) -> Authentication:
    """All methods that the settings ask for, in the reference's order. Raises ValueError, OSError for bad files."""
    chosen = settings.authentication
    accounts = chosen.service_accounts
    audiences = chosen.audiences or accounts.issuers
    tokens: list[ITokenAuthenticator] = []
    if chosen.token_file:
        try:
            tokens.append(TokenFile.read(chosen.token_file, audiences=audiences))
        except (OSError, ValueError) as error:
            raise ValueError(f"--token-auth-file: {error}") from error
    tokens.append(
        ServiceAccountTokens(
            settings.dialect,
            Verifier(files.verification_keys),
            informers,
            issuers=accounts.issuers,
            audiences=audiences,
            clock=clock,
            client=client,
            lookup=accounts.lookup,
        )
    )
    tokens.append(Loopback(token_hex(32), uid=token_hex(16)))
    bearer = Bearer(tokens, audiences=audiences)
    methods: list[IAuthenticator] = [
        ClientCertificates(ClientVerifier(files.client_authorities), clock=clock),
        bearer,
    ]

    def log(text: str) -> None:
        _log.info("{text}", text=text)

    return Authentication(
        chain=Chain(methods, anonymous=Anonymous() if chosen.anonymous else None, observe=observe, log=log),
        bearer=bearer,
        issuer=TokenIssuer(
            settings.dialect,
            Signer(files.signing_key),
            issuer=accounts.issuers[0],
            audiences=audiences,
            clock=clock,
            extend=accounts.extend_expiration,
            max_seconds=int(accounts.max_expiration),
        ),
        audiences=tuple(audiences),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """The union that decides, and the RBAC authorizer in it (None when it is off) for checks of escalation."""

    union: Union
    rbac: RoleBasedAuthorizer | None


def authorization(settings: Settings, informers: IInformers) -> Authorization:
    """The authorizers of --authorization-mode. Raises ValueError naming the mode that is wrong."""
    union = modes.make_union(
        settings.authorization.modes,
        dialect=settings.dialect,
        informers=informers,
        flags=settings.flags,
        more=modes.drop_ins(),
    )
    rbac = next((a for a in union.authorizers if isinstance(a, RoleBasedAuthorizer)), None)
    return Authorization(union=union, rbac=rbac)
