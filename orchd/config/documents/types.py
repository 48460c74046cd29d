"""Types of the configuration documents in the line format of `orchd.kinds.ir`, the same in each version. Protobuf numbers
are 0: the kinds have no protobuf form."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.builtin import meta_v1
from orchd.kinds.ir import Line, Type, TypeTable

AUTHENTICATION, AUTHORIZATION, TRACING = "AuthenticationConfiguration", "AuthorizationConfiguration", "TracingConfiguration"
EGRESS: Final = "EgressSelectorConfiguration"
_GROUP: Final = "apiserver.config.{abbr}.io"
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
#: Group and versions of kinds that are not in the usual ones.
_OTHERS: Final = {EGRESS: ("apiserver.{abbr}.io", ("v1beta1", "v1alpha1"))}

_PACKAGE: Final = "apiserver/config"
_FILE: Final = "{short}ConfigFile"
_TYPES: Final[dict[str, tuple[Line, ...]]] = {
    AUTHENTICATION: (
        ("jwt", 0, "[]JWTAuthenticator", "required"),
        ("anonymous", 0, "AnonymousAuthConfig", "omit ptr"),
    ),
    "AnonymousAuthConfig": (
        ("enabled", 0, "bool", "required"),
        ("conditions", 0, "[]AnonymousAuthCondition", "omit"),
    ),
    "AnonymousAuthCondition": (("path", 0, "string", "required"),),
    "JWTAuthenticator": (
        ("issuer", 0, "Issuer", "required"),
        ("claimValidationRules", 0, "[]ClaimValidationRule", "omit"),
        ("claimMappings", 0, "ClaimMappings", "required"),
        ("userValidationRules", 0, "[]UserValidationRule", "omit"),
    ),
    "Issuer": (
        ("url", 0, "string", "required"),
        ("discoveryURL", 0, "string", "omit ptr"),
        ("certificateAuthority", 0, "string", "omit"),
        ("audiences", 0, "[]string", "required"),
        ("audienceMatchPolicy", 0, "string", "omit"),
        ("egressSelectorType", 0, "string", "omit"),
    ),
    "ClaimValidationRule": (
        ("claim", 0, "string", "omit"),
        ("requiredValue", 0, "string", "omit"),
        ("expression", 0, "string", "omit"),
        ("message", 0, "string", "omit"),
    ),
    "ClaimMappings": (
        ("username", 0, "PrefixedClaimOrExpression", "required"),
        ("groups", 0, "PrefixedClaimOrExpression", "omit"),
        ("uid", 0, "ClaimOrExpression", "required"),
        ("extra", 0, "[]ExtraMapping", "omit"),
    ),
    "PrefixedClaimOrExpression": (
        ("claim", 0, "string", "omit"),
        ("prefix", 0, "string", "omit ptr"),
        ("expression", 0, "string", "omit"),
    ),
    "ClaimOrExpression": (
        ("claim", 0, "string", "omit"),
        ("expression", 0, "string", "omit"),
    ),
    "ExtraMapping": (
        ("key", 0, "string", "required"),
        ("valueExpression", 0, "string", "required"),
    ),
    "UserValidationRule": (
        ("expression", 0, "string", "required"),
        ("message", 0, "string", "omit"),
    ),
    AUTHORIZATION: (("authorizers", 0, "[]AuthorizerConfiguration", "required"),),
    "AuthorizerConfiguration": (
        ("type", 0, "string", "required"),
        ("name", 0, "string", "required"),
        ("webhook", 0, "WebhookConfiguration", "omit ptr"),
    ),
    "WebhookConfiguration": (
        ("authorizedTTL", 0, "duration", "required"),
        ("cacheAuthorizedRequests", 0, "bool", "omit ptr"),
        ("unauthorizedTTL", 0, "duration", "required"),
        ("cacheUnauthorizedRequests", 0, "bool", "omit ptr"),
        ("timeout", 0, "duration", "required"),
        ("subjectAccessReviewVersion", 0, "string", "required"),
        ("matchConditionSubjectAccessReviewVersion", 0, "string", "required"),
        ("failurePolicy", 0, "string", "required"),
        ("connectionInfo", 0, "WebhookConnectionInfo", "required"),
        ("matchConditions", 0, "[]WebhookMatchCondition", "required"),
    ),
    "WebhookConnectionInfo": (
        ("type", 0, "string", "required"),
        (_FILE, 0, "string", "omit ptr"),
    ),
    "WebhookMatchCondition": (("expression", 0, "string", "required"),),
    EGRESS: (("egressSelections", 0, "[]EgressSelection", "required"),),
    "EgressSelection": (
        ("name", 0, "string", "required"),
        ("connection", 0, "Connection", "required"),
    ),
    "Connection": (
        ("proxyProtocol", 0, "string", "required"),
        ("transport", 0, "Transport", "omit ptr"),
    ),
    "Transport": (
        ("tcp", 0, "TCPTransport", "omit ptr"),
        ("uds", 0, "UDSTransport", "omit ptr"),
    ),
    "TCPTransport": (
        ("url", 0, "string", "required"),
        ("tlsConfig", 0, "TLSConfig", "omit ptr"),
    ),
    "UDSTransport": (("udsName", 0, "string", "required"),),
    "TLSConfig": (
        ("caBundle", 0, "string", "omit"),
        ("clientKey", 0, "string", "omit"),
        ("clientCert", 0, "string", "omit"),
    ),
    TRACING: (
        ("endpoint", 0, "string", "omit ptr"),
        ("samplingRatePerMillion", 0, "int32", "omit ptr"),
    ),
}


@cache
def _table(dialect: Dialect) -> TypeTable:
    types = {
        name: tuple((dialect(field), number, spelled, flags) for field, number, spelled, flags in fields)
        for name, fields in _TYPES.items()
    }
    module: Any = SimpleNamespace(TYPES=types, DEFINITIONS="", UNPUBLISHED=frozenset(), ATOMIC=frozenset())
    return TypeTable(dialect, {_PACKAGE: module, "meta/v1": meta_v1})


def type_of(kind: str, dialect: Dialect) -> Type:
    """The type of a document of `kind`."""
    return _table(dialect).get(f"{_PACKAGE}.{kind}")


def api_versions(kind: str, dialect: Dialect) -> list[str]:
    """The apiVersions of a document of `kind`, the newest first."""
    group, versions = _OTHERS.get(kind, (_GROUP, _VERSIONS))
    return [f"{dialect(group)}/{version}" for version in versions]
