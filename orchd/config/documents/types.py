"""Types of the configuration documents in the line format of `orchd.kinds.ir`, the same in each version. Protobuf
numbers are 0: the kinds have no protobuf form.

A document is identified here by the name of its type; `heads` has the apiVersions and kinds under which it is
written."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.builtin import core_v1, meta_v1
from orchd.kinds.ir import Line, Type, TypeTable
from orchd.kinds.release import SPECIFICATION

AUTHENTICATION, AUTHORIZATION, TRACING = (
    "AuthenticationConfiguration",
    "AuthorizationConfiguration",
    "TracingConfiguration",
)
EGRESS: Final = "EgressSelectorConfiguration"
AUDIT_POLICY, ENCRYPTION = "Policy", "EncryptionConfiguration"
ADMISSION: Final = "AdmissionConfiguration"
EVENT_RATE_LIMIT, POD_TOLERATION_RESTRICTION = "EventRateLimitConfiguration", "PodTolerationRestrictionConfiguration"
POD_SECURITY, RESOURCE_QUOTA, WEBHOOKS = (
    "PodSecurityConfiguration",
    "ResourceQuotaConfiguration",
    "WebhookAdmissionConfiguration",
)
IMAGE_POLICY, POD_NODE_SELECTOR = "AdmissionConfig", "PodNodeSelectorConfiguration"

_GROUP: Final = "apiserver.config.{abbr}.io"
_POD_SECURITY_GROUP: Final = "pod-security.admission.config.{abbr}.io"
_USUAL: Final = tuple(f"{_GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
#: apiVersion and kind, newest first, of the documents that are not in the usual group and versions under the name of
#: their type. (): the document has neither.
_HEADS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    EGRESS: (("apiserver.{abbr}.io/v1beta1", EGRESS), ("apiserver.{abbr}.io/v1alpha1", EGRESS)),
    AUDIT_POLICY: tuple((f"audit.{{abbr}}.io/{version}", AUDIT_POLICY) for version in ("v1", "v1beta1", "v1alpha1")),
    ENCRYPTION: ((f"{_GROUP}/v1", ENCRYPTION),),
    ADMISSION: ((f"{_GROUP}/v1", ADMISSION), ("apiserver.{abbr}.io/v1alpha1", ADMISSION)),
    EVENT_RATE_LIMIT: (("eventratelimit.admission.{abbr}.io/v1alpha1", "Configuration"),),
    POD_TOLERATION_RESTRICTION: (("podtolerationrestriction.admission.{abbr}.io/v1alpha1", "Configuration"),),
    POD_SECURITY: tuple(
        (f"{_POD_SECURITY_GROUP}/{version}", POD_SECURITY) for version in ("v1", "v1beta1", "v1alpha1")
    ),
    RESOURCE_QUOTA: (
        (f"{_GROUP}/v1", RESOURCE_QUOTA),
        ("resourcequota.admission.{abbr}.io/v1beta1", "Configuration"),
        ("resourcequota.admission.{abbr}.io/v1alpha1", "Configuration"),
    ),
    WEBHOOKS: ((f"{_GROUP}/v1", WEBHOOKS), (f"{_GROUP}/v1alpha1", "WebhookAdmission")),
    IMAGE_POLICY: (),
    POD_NODE_SELECTOR: (),
}

_PACKAGE: Final = "apiserver/config"
_FILE: Final = "{short}ConfigFile"
_TYPES: Final[dict[str, tuple[Line, ...]]] = {
    AUTHENTICATION: (("jwt", 0, "[]JWTAuthenticator", "required"), ("anonymous", 0, "AnonymousAuthConfig", "omit ptr")),
    "AnonymousAuthConfig": (("enabled", 0, "bool", "required"), ("conditions", 0, "[]AnonymousAuthCondition", "omit")),
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
    "ClaimOrExpression": (("claim", 0, "string", "omit"), ("expression", 0, "string", "omit")),
    "ExtraMapping": (("key", 0, "string", "required"), ("valueExpression", 0, "string", "required")),
    "UserValidationRule": (("expression", 0, "string", "required"), ("message", 0, "string", "omit")),
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
    "WebhookConnectionInfo": (("type", 0, "string", "required"), (_FILE, 0, "string", "omit ptr")),
    "WebhookMatchCondition": (("expression", 0, "string", "required"),),
    EGRESS: (("egressSelections", 0, "[]EgressSelection", "required"),),
    "EgressSelection": (("name", 0, "string", "required"), ("connection", 0, "Connection", "required")),
    "Connection": (("proxyProtocol", 0, "string", "required"), ("transport", 0, "Transport", "omit ptr")),
    "Transport": (("tcp", 0, "TCPTransport", "omit ptr"), ("uds", 0, "UDSTransport", "omit ptr")),
    "TCPTransport": (("url", 0, "string", "required"), ("tlsConfig", 0, "TLSConfig", "omit ptr")),
    "UDSTransport": (("udsName", 0, "string", "required"),),
    "TLSConfig": (
        ("caBundle", 0, "string", "omit"),
        ("clientKey", 0, "string", "omit"),
        ("clientCert", 0, "string", "omit"),
    ),
    TRACING: (("endpoint", 0, "string", "omit ptr"), ("samplingRatePerMillion", 0, "int32", "omit ptr")),
    AUDIT_POLICY: (
        ("metadata", 0, "meta/v1.ObjectMeta", "omit"),
        ("rules", 0, "[]PolicyRule", "required"),
        ("omitStages", 0, "[]string", "omit"),
        ("omitManagedFields", 0, "bool", "omit"),
    ),
    "PolicyRule": (
        ("level", 0, "string", "required"),
        ("users", 0, "[]string", "omit"),
        ("userGroups", 0, "[]string", "omit"),
        ("verbs", 0, "[]string", "omit"),
        ("resources", 0, "[]GroupResources", "omit"),
        ("namespaces", 0, "[]string", "omit"),
        ("nonResourceURLs", 0, "[]string", "omit"),
        ("omitStages", 0, "[]string", "omit"),
        ("omitManagedFields", 0, "bool", "omit ptr"),
    ),
    "GroupResources": (
        ("group", 0, "string", "omit"),
        ("resources", 0, "[]string", "omit"),
        ("resourceNames", 0, "[]string", "omit"),
    ),
    ENCRYPTION: (("resources", 0, "[]ResourceConfiguration", "required"),),
    "ResourceConfiguration": (
        ("resources", 0, "[]string", "required"),
        ("providers", 0, "[]ProviderConfiguration", "required"),
    ),
    "ProviderConfiguration": (
        ("aesgcm", 0, "AESConfiguration", "omit ptr"),
        ("aescbc", 0, "AESConfiguration", "omit ptr"),
        ("secretbox", 0, "SecretboxConfiguration", "omit ptr"),
        ("identity", 0, "IdentityConfiguration", "omit ptr"),
        ("kms", 0, "KMSConfiguration", "omit ptr"),
    ),
    "AESConfiguration": (("keys", 0, "[]Key", "required"),),
    "SecretboxConfiguration": (("keys", 0, "[]Key", "required"),),
    "Key": (("name", 0, "string", "required"), ("secret", 0, "string", "required")),
    "IdentityConfiguration": (),
    "KMSConfiguration": (
        ("name", 0, "string", "required"),
        ("cachesize", 0, "int32", "omit ptr"),
        ("endpoint", 0, "string", "required"),
        ("timeout", 0, "duration", "omit ptr"),
    ),
    ADMISSION: (("plugins", 0, "[]AdmissionPluginConfiguration", "required"),),
    "AdmissionPluginConfiguration": (
        ("name", 0, "string", "required"),
        ("path", 0, "string", "required"),
        ("configuration", 0, "raw", "omit ptr"),
    ),
    EVENT_RATE_LIMIT: (("limits", 0, "[]Limit", "required"),),
    "Limit": (
        ("type", 0, "string", "required"),
        ("qps", 0, "int32", "required"),
        ("burst", 0, "int32", "required"),
        ("cacheSize", 0, "int32", "omit"),
    ),
    POD_TOLERATION_RESTRICTION: (
        ("default", 0, "[]core/v1.Toleration", "omit"),
        ("whitelist", 0, "[]core/v1.Toleration", "omit"),
    ),
    POD_SECURITY: (
        ("defaults", 0, "PodSecurityDefaults", "required"),
        ("exemptions", 0, "PodSecurityExemptions", "required"),
    ),
    "PodSecurityDefaults": (
        ("enforce", 0, "string", "omit"),
        ("enforce-version", 0, "string", "omit"),
        ("audit", 0, "string", "omit"),
        ("audit-version", 0, "string", "omit"),
        ("warn", 0, "string", "omit"),
        ("warn-version", 0, "string", "omit"),
    ),
    "PodSecurityExemptions": (
        ("usernames", 0, "[]string", "omit"),
        ("namespaces", 0, "[]string", "omit"),
        ("runtimeClasses", 0, "[]string", "omit"),
    ),
    RESOURCE_QUOTA: (("limitedResources", 0, "[]LimitedResource", "required"),),
    "LimitedResource": (
        ("apiGroup", 0, "string", "omit"),
        ("resource", 0, "string", "required"),
        ("matchContains", 0, "[]string", "omit"),
        ("matchScopes", 0, "[]core/v1.ScopedResourceSelectorRequirement", "omit"),
    ),
    WEBHOOKS: ((_FILE, 0, "string", "required"),),
    IMAGE_POLICY: (("imagePolicy", 0, "ImagePolicyWebhookConfig", "required"),),
    "ImagePolicyWebhookConfig": (
        (_FILE, 0, "string", "required"),
        ("allowTTL", 0, "int64", "required"),
        ("denyTTL", 0, "int64", "required"),
        ("retryBackoff", 0, "int64", "required"),
        ("defaultAllow", 0, "bool", "required"),
    ),
    POD_NODE_SELECTOR: (("podNodeSelectorPluginConfig", 0, "{}string", "required"),),
}


@cache
def _table(dialect: Dialect) -> TypeTable:
    types = {
        name: tuple((dialect(field), number, spelled, flags) for field, number, spelled, flags in fields)
        for name, fields in _TYPES.items()
    }
    module: Any = SimpleNamespace(TYPES=types, DEFINITIONS="")
    return TypeTable(dialect, SPECIFICATION, {_PACKAGE: module, "core/v1": core_v1, "meta/v1": meta_v1})


def type_of(kind: str, dialect: Dialect) -> Type:
    """The type of a document of `kind`."""
    return _table(dialect).get(f"{_PACKAGE}.{kind}")


def heads(kind: str, dialect: Dialect) -> list[tuple[str, str]]:
    """The apiVersion and kind of each version of a document, the newest first; [] for a document without them."""
    return [(dialect(version), name) for version, name in _HEADS.get(kind, tuple((each, kind) for each in _USUAL))]
