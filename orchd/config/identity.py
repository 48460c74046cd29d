"""Authentication and authorization settings from flag values, with the checks that involve several flags.

Messages of these checks are the reference's. Durations are seconds; "" means that a file was not given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.config.source import FlagError
from orchd.config.values import url_parts
from orchd.dialect import Dialect

Values = Mapping[str, Any]
#: Creates the error of a flag from its name in the tables and a message.
Fail = Callable[[str, str], FlagError]

#: Algorithms that --oidc-signing-algs may name.
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountSettings:
    """Service account tokens. `issuers` is never empty, tokens are issued by the first; `key_files` () means the signing key."""

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
    """Authorizers in order: those of `config_file` if there is one, else `modes`, where `policy_file` and `webhook` are set
    if and only if their modes are enabled."""

    modes: tuple[str, ...] = ()
    policy_file: str = ""
    webhook: AuthorizationWebhookSettings | None = None
    config_file: str = ""


def authorization(values: Values, given: Collection[str], fail: Fail) -> AuthorizationSettings:
    """Authorization settings. The modes must have been checked to be known. Raises FlagError."""
    if values["authorization-config"]:
        excluded = [name for name in given if name == "authorization-mode" or name.startswith("authorization-webhook-")]
        if excluded:
            why = f"can not be specified when --authorization-mode or --authorization-webhook-* flags are defined: --{min(excluded)}"
            raise fail("authorization-config", why)
        return AuthorizationSettings(
            config_file=values["authorization-config"], policy_file=values["authorization-policy-file"]
        )
    modes: tuple[str, ...] = values["authorization-mode"]
    if len(set(modes)) != len(modes):
        quoted = " ".join(f'"{mode}"' for mode in modes)
        raise fail("authorization-mode", f"authorization-mode [{quoted}] has mode specified more than once")
    policies, config = values["authorization-policy-file"], values["authorization-webhook-config-file"]
    if "ABAC" in modes and not policies:
        raise fail("authorization-mode", "authorization-mode ABAC's authorization policy file not passed")
    if "Webhook" in modes and not config:
        raise fail("authorization-mode", "authorization-mode Webhook's authorization config file not passed")
    if policies and "ABAC" not in modes:
        raise fail("authorization-policy-file", "cannot specify --authorization-policy-file without mode ABAC")
    if config and "Webhook" not in modes:
        raise fail(
            "authorization-webhook-config-file", "cannot specify --authorization-webhook-config-file without mode Webhook"
        )
    webhook = None
    if config:
        webhook = AuthorizationWebhookSettings(
            config_file=config,
            version=values["authorization-webhook-version"],
            authorized_ttl=values["authorization-webhook-cache-authorized-ttl"],
            unauthorized_ttl=values["authorization-webhook-cache-unauthorized-ttl"],
        )
    return AuthorizationSettings(modes=modes, policy_file=policies, webhook=webhook)


def authentication(
    values: Values, given: Collection[str], fail: Fail, dialect: Dialect, *, anonymous: bool
) -> AuthenticationSettings:
    """Authentication settings from flag values. Raises FlagError."""
    oidc = [name for name in given if name.startswith("oidc-")]
    if values["authentication-config"] and oidc:
        why = f"authentication-config file and oidc-* flags are mutually exclusive: --{min(oidc)}"
        raise fail("authentication-config", why)
    return AuthenticationSettings(
        anonymous=anonymous,
        client_ca_file=values["client-ca-file"],
        token_file=values["token-auth-file"],
        audiences=values["api-audiences"],
        service_accounts=_service_accounts(values, fail, dialect),
        bootstrap_tokens=values["enable-bootstrap-token-auth"],
        front_proxy=front_proxy(values, fail),
        oidc=_oidc(values, fail),
        webhook=_token_webhook(values),
        config_file=values["authentication-config"],
        anonymous_given="anonymous-auth" in given,
    )


def _service_accounts(values: Values, fail: Fail, dialect: Dialect) -> ServiceAccountSettings:
    issuers: tuple[str, ...] = values["service-account-issuer"]
    if not issuers and values["service-account-signing-key-file"]:
        raise fail("service-account-issuer", "is needed together with --service-account-signing-key-file")
    if len(set(issuers)) != len(issuers):
        raise fail("service-account-issuer", "names an issuer more than once")
    for issuer in issuers:
        if ":" in issuer and not _is_url(issuer):
            raise fail("service-account-issuer", f"{issuer!r} contains a colon but is not a URL")
    jwks = values["service-account-jwks-uri"]
    if jwks and (not _is_url(jwks) or url_parts(jwks).scheme != "https"):
        raise fail("service-account-jwks-uri", f"{jwks!r} is not an https URL")
    longest = values["service-account-max-token-expiration"]
    if longest and not 3600 <= longest <= 1 << 32:
        raise fail("service-account-max-token-expiration", "must be between 1 hour and 2^32 seconds")
    return ServiceAccountSettings(
        issuers=issuers or (dialect("https://{long}.default.svc"),),
        key_files=values["service-account-key-file"],
        signing_key_file=values["service-account-signing-key-file"],
        lookup=values["service-account-lookup"],
        extend_expiration=values["service-account-extend-token-expiration"],
        max_expiration=longest,
        jwks_uri=jwks,
    )


def _is_url(text: str) -> bool:
    parts = url_parts(text)
    return bool(parts.scheme and (parts.netloc or parts.path))


def front_proxy(values: Values, fail: Fail) -> FrontProxySettings:
    """The settings of a front proxy. Raises FlagError."""

    def items(name: str) -> tuple[str, ...]:
        given: tuple[str, ...] = values[name]
        if any(not each.strip() for each in given):
            raise fail(name, f'empty value in "{name}"')
        return given

    def headers(name: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in items(name))

    return FrontProxySettings(
        ca_file=values["requestheader-client-ca-file"],
        names=items("requestheader-allowed-names"),
        username_headers=headers("requestheader-username-headers"),
        group_headers=headers("requestheader-group-headers"),
        extra_prefixes=headers("requestheader-extra-headers-prefix"),
    )


def _oidc(values: Values, fail: Fail) -> OidcSettings | None:
    issuer, client = values["oidc-issuer-url"], values["oidc-client-id"]
    if bool(issuer) != bool(client):
        raise fail("oidc-issuer-url", "oidc-issuer-url and oidc-client-id should be specified together")
    if not issuer:
        return None
    scheme = url_parts(issuer).scheme
    if scheme != "https":
        raise fail("oidc-issuer-url", f"'oidc-issuer-url' (\"{issuer}\") has invalid scheme (\"{scheme}\"), require 'https'")
    claim, prefix = values["oidc-username-claim"], values["oidc-username-prefix"]
    if not claim:
        raise fail("oidc-username-claim", "no username claim provided")
    for algorithm in values["oidc-signing-algs"]:
        if algorithm not in _ALGORITHMS:
            raise fail("oidc-signing-algs", f'oidc: unsupported signing alg: "{algorithm}"')
    if not prefix and claim != "email":
        # The prefix keeps names of different issuers apart; email addresses count as globally unique.
        prefix = f"{issuer}#"
    return OidcSettings(
        issuer=issuer,
        client=client,
        ca_file=values["oidc-ca-file"],
        username_claim=claim,
        username_prefix="" if prefix == "-" else prefix,
        groups_claim=values["oidc-groups-claim"],
        groups_prefix=values["oidc-groups-prefix"],
        required=values["oidc-required-claim"],
        algorithms=values["oidc-signing-algs"] or ("RS256",),
    )


def _token_webhook(values: Values) -> TokenWebhookSettings | None:
    config = values["authentication-token-webhook-config-file"]
    if not config:
        return None
    return TokenWebhookSettings(
        config_file=config,
        version=values["authentication-token-webhook-version"],
        ttl=values["authentication-token-webhook-cache-ttl"],
    )
