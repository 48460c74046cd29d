"""Authentication and authorization settings from flag values, with the checks that involve several flags.

Messages of these checks are the reference's. Durations are seconds; "" means that a file was not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchd.config import choices
from orchd.config.capabilities import Capabilities, check_built
from orchd.config.flag_values import FlagValues
from orchd.config.values import url_parts

#: Algorithms that --oidc-signing-algs may name.
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountSettings:
    """Service account tokens. `issuers` is never empty, tokens are issued by the first; `key_files` () means the
    signing key."""

    issuers: tuple[str, ...]
    key_files: tuple[str, ...]
    signing_key_file: str
    lookup: bool
    extend_expiration: bool
    max_expiration: float
    jwks_uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontProxySettings:
    """Request header authentication by a front proxy. Disabled if `ca_file` is "". Header names keep their case."""

    ca_file: str = ""
    names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """Tokens of an OpenID issuer. Prefixes are the effective ones."""

    issuer: str
    client: str
    ca_file: str
    username_claim: str
    username_prefix: str
    groups_claim: str
    groups_prefix: str
    required: Mapping[str, str]
    algorithms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWebhookSettings:
    config_file: str
    version: str
    ttl: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSettings:
    anonymous: bool
    client_ca_file: str
    token_file: str
    #: () means the issuers of service account tokens.
    audiences: tuple[str, ...]
    service_accounts: ServiceAccountSettings
    bootstrap_tokens: bool = False
    front_proxy: FrontProxySettings = field(default_factory=FrontProxySettings)
    oidc: OidcSettings | None = None
    webhook: TokenWebhookSettings | None = None
    #: File with issuers of tokens and conditions of anonymous requests; `anonymous_given`: --anonymous-auth was given.
    config_file: str = ""
    anonymous_given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationWebhookSettings:
    config_file: str
    version: str
    authorized_ttl: float
    unauthorized_ttl: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationSettings:
    """Authorizers in order: those of `config_file` if there is one, else `modes`, where `policy_file` and `webhook` are
    set if and only if their modes are enabled."""

    modes: tuple[str, ...] = ()
    policy_file: str = ""
    webhook: AuthorizationWebhookSettings | None = None
    config_file: str = ""


def authorization(flags: FlagValues, can: Capabilities) -> AuthorizationSettings:
    """Raises FlagError."""
    modes: tuple[str, ...] = flags["authorization-mode"]
    if not modes and not flags["authorization-config"]:
        raise flags.error("authorization-mode", "at least one authorization-mode must be passed")
    for mode in modes:
        check_built(flags, "authorization-mode", "mode", mode, choices.AUTHORIZERS, can.authorizers)
    if flags["authorization-config"]:
        excluded = [
            name for name in flags.explicit if name == "authorization-mode" or name.startswith("authorization-webhook-")
        ]
        if excluded:
            why = (
                "can not be specified when --authorization-mode or --authorization-webhook-* flags are "
                f"defined: --{min(excluded)}"
            )
            raise flags.error("authorization-config", why)
        return AuthorizationSettings(
            config_file=flags["authorization-config"], policy_file=flags["authorization-policy-file"]
        )
    if len(set(modes)) != len(modes):
        quoted = " ".join(f'"{mode}"' for mode in modes)
        raise flags.error("authorization-mode", f"authorization-mode [{quoted}] has mode specified more than once")
    policies, config = flags["authorization-policy-file"], flags["authorization-webhook-config-file"]
    if "ABAC" in modes and not policies:
        raise flags.error("authorization-mode", "authorization-mode ABAC's authorization policy file not passed")
    if "Webhook" in modes and not config:
        raise flags.error("authorization-mode", "authorization-mode Webhook's authorization config file not passed")
    if policies and "ABAC" not in modes:
        raise flags.error("authorization-policy-file", "cannot specify --authorization-policy-file without mode ABAC")
    if config and "Webhook" not in modes:
        raise flags.error(
            "authorization-webhook-config-file",
            "cannot specify --authorization-webhook-config-file without mode Webhook",
        )
    webhook = None
    if config:
        webhook = AuthorizationWebhookSettings(
            config_file=config,
            version=flags["authorization-webhook-version"],
            authorized_ttl=flags["authorization-webhook-cache-authorized-ttl"],
            unauthorized_ttl=flags["authorization-webhook-cache-unauthorized-ttl"],
        )
    return AuthorizationSettings(modes=modes, policy_file=policies, webhook=webhook)


def authentication(flags: FlagValues, authorizers: AuthorizationSettings) -> AuthenticationSettings:
    """Raises FlagError."""
    anonymous = flags["anonymous-auth"]
    if anonymous and "AlwaysAllow" in authorizers.modes:
        anonymous = False
        flags.warnings.append("--authorization-mode=AlwaysAllow turns --anonymous-auth off")
    oidc = [name for name in flags.explicit if name.startswith("oidc-")]
    if flags["authentication-config"] and oidc:
        why = f"authentication-config file and oidc-* flags are mutually exclusive: --{min(oidc)}"
        raise flags.error("authentication-config", why)
    return AuthenticationSettings(
        anonymous=anonymous,
        client_ca_file=flags["client-ca-file"],
        token_file=flags["token-auth-file"],
        audiences=flags["api-audiences"],
        service_accounts=_service_accounts(flags),
        bootstrap_tokens=flags["enable-bootstrap-token-auth"],
        front_proxy=front_proxy(flags),
        oidc=_oidc(flags),
        webhook=_token_webhook(flags),
        config_file=flags["authentication-config"],
        anonymous_given="anonymous-auth" in flags.explicit,
    )


def _service_accounts(flags: FlagValues) -> ServiceAccountSettings:
    issuers: tuple[str, ...] = flags["service-account-issuer"]
    if not issuers and flags["service-account-signing-key-file"]:
        raise flags.error("service-account-issuer", "is needed together with --service-account-signing-key-file")
    if len(set(issuers)) != len(issuers):
        raise flags.error("service-account-issuer", "names an issuer more than once")
    for issuer in issuers:
        if ":" in issuer and not _is_url(issuer):
            raise flags.error("service-account-issuer", f"{issuer!r} contains a colon but is not a URL")
    jwks = flags["service-account-jwks-uri"]
    if jwks and (not _is_url(jwks) or url_parts(jwks).scheme != "https"):
        raise flags.error("service-account-jwks-uri", f"{jwks!r} is not an https URL")
    longest = flags["service-account-max-token-expiration"]
    if longest and not 3600 <= longest <= 1 << 32:
        raise flags.error("service-account-max-token-expiration", "must be between 1 hour and 2^32 seconds")
    return ServiceAccountSettings(
        issuers=issuers or (flags.dialect("https://{long}.default.svc"),),
        key_files=flags["service-account-key-file"],
        signing_key_file=flags["service-account-signing-key-file"],
        lookup=flags["service-account-lookup"],
        extend_expiration=flags["service-account-extend-token-expiration"],
        max_expiration=longest,
        jwks_uri=jwks,
    )


def _is_url(text: str) -> bool:
    parts = url_parts(text)
    return bool(parts.scheme and (parts.netloc or parts.path))


def front_proxy(flags: FlagValues) -> FrontProxySettings:
    """The settings of a front proxy. Raises FlagError."""

    def items(name: str) -> tuple[str, ...]:
        values: tuple[str, ...] = flags[name]
        if any(not each.strip() for each in values):
            raise flags.error(name, f'empty value in "{name}"')
        return values

    def headers(name: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in items(name))

    return FrontProxySettings(
        ca_file=flags["requestheader-client-ca-file"],
        names=items("requestheader-allowed-names"),
        username_headers=headers("requestheader-username-headers"),
        group_headers=headers("requestheader-group-headers"),
        extra_prefixes=headers("requestheader-extra-headers-prefix"),
        uid_headers=headers("requestheader-uid-headers"),
    )


def _oidc(flags: FlagValues) -> OidcSettings | None:
    issuer, client = flags["oidc-issuer-url"], flags["oidc-client-id"]
    if bool(issuer) != bool(client):
        raise flags.error("oidc-issuer-url", "oidc-issuer-url and oidc-client-id should be specified together")
    if not issuer:
        return None
    scheme = url_parts(issuer).scheme
    if scheme != "https":
        raise flags.error(
            "oidc-issuer-url", f"'oidc-issuer-url' (\"{issuer}\") has invalid scheme (\"{scheme}\"), require 'https'"
        )
    if "@" in url_parts(issuer).netloc:
        raise flags.error("oidc-issuer-url", f"{issuer}: URL must not contain a username or password")
    claim, prefix = flags["oidc-username-claim"], flags["oidc-username-prefix"]
    if not claim:
        raise flags.error("oidc-username-claim", "no username claim provided")
    for algorithm in flags["oidc-signing-algs"]:
        if algorithm not in _ALGORITHMS:
            raise flags.error("oidc-signing-algs", f'oidc: unsupported signing alg: "{algorithm}"')
    if not prefix and claim != "email":
        # The prefix keeps names of different issuers apart; email addresses count as globally unique.
        prefix = f"{issuer}#"
    return OidcSettings(
        issuer=issuer,
        client=client,
        ca_file=flags["oidc-ca-file"],
        username_claim=claim,
        username_prefix="" if prefix == "-" else prefix,
        groups_claim=flags["oidc-groups-claim"],
        groups_prefix=flags["oidc-groups-prefix"],
        required=flags["oidc-required-claim"],
        algorithms=flags["oidc-signing-algs"] or ("RS256",),
    )


def _token_webhook(flags: FlagValues) -> TokenWebhookSettings | None:
    config = flags["authentication-token-webhook-config-file"]
    if not config:
        return None
    return TokenWebhookSettings(
        config_file=config,
        version=flags["authentication-token-webhook-version"],
        ttl=flags["authentication-token-webhook-cache-ttl"],
    )
