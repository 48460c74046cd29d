"""admissionregistration/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Validation

GROUP: Final = "admissionregistration.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.admissionregistration.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset(("Rule",))
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="MutatingWebhookConfiguration",
        plural="mutatingwebhookconfigurations",
        categories=("api-extensions",),
        key="mutatingwebhookconfigurations",
        storage_version="admissionregistration.{abbr}.io/v1",
        table=Table(
            "tabulate.policies.webhook_configuration",
            ("Name|name", "Webhooks|integer", "Age"),
            {"Webhooks": "Webhooks indicates the number of webhooks registered in this configuration"},
        ),
        validation=Validation(
            create="validate.admissionregistration.create",
            update="validate.admissionregistration.update",
        ),
        generation=("webhooks",),
        unconditional_update=False,
    ),
    KindRow(
        kind="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations",
        categories=("api-extensions",),
        key="validatingwebhookconfigurations",
        storage_version="admissionregistration.{abbr}.io/v1",
        table=Table("tabulate.policies.webhook_configuration", ("Name|name", "Webhooks|integer", "Age")),
        validation=Validation(
            create="validate.admissionregistration.create",
            update="validate.admissionregistration.update",
        ),
        generation=("webhooks",),
        unconditional_update=False,
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "MutatingWebhook": (
        ("name", 1, "string", "required"),
        ("clientConfig", 2, "WebhookClientConfig", "required"),
        ("rules", 3, "[]RuleWithOperations", "omit"),
        ("failurePolicy", 4, "string", "omit ptr"),
        ("matchPolicy", 9, "string", "omit ptr"),
        ("namespaceSelector", 5, "meta/v1.LabelSelector", "omit ptr"),
        ("objectSelector", 11, "meta/v1.LabelSelector", "omit ptr"),
        ("sideEffects", 6, "string", "required ptr"),
        ("timeoutSeconds", 7, "int32", "omit ptr"),
        ("admissionReviewVersions", 8, "[]string", "required"),
        ("reinvocationPolicy", 10, "string", "omit ptr"),
    ),
    "MutatingWebhookConfiguration": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("webhooks", 2, "[]MutatingWebhook", "omit merge=name"),
    ),
    "MutatingWebhookConfigurationList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]MutatingWebhookConfiguration", "required"),
    ),
    "Rule": (
        ("apiGroups", 1, "[]string", "omit"),
        ("apiVersions", 2, "[]string", "omit"),
        ("resources", 3, "[]string", "omit"),
        ("scope", 4, "string", "omit ptr"),
    ),
    "RuleWithOperations": (
        ("operations", 1, "[]string", "omit"),
        ("", 2, "Rule", "inline"),
    ),
    "ServiceReference": (
        ("namespace", 1, "string", "required"),
        ("name", 2, "string", "required"),
        ("path", 3, "string", "omit ptr"),
        ("port", 4, "int32", "omit ptr"),
    ),
    "ValidatingWebhook": (
        ("name", 1, "string", "required"),
        ("clientConfig", 2, "WebhookClientConfig", "required"),
        ("rules", 3, "[]RuleWithOperations", "omit"),
        ("failurePolicy", 4, "string", "omit ptr"),
        ("matchPolicy", 9, "string", "omit ptr"),
        ("namespaceSelector", 5, "meta/v1.LabelSelector", "omit ptr"),
        ("objectSelector", 10, "meta/v1.LabelSelector", "omit ptr"),
        ("sideEffects", 6, "string", "required ptr"),
        ("timeoutSeconds", 7, "int32", "omit ptr"),
        ("admissionReviewVersions", 8, "[]string", "required"),
    ),
    "ValidatingWebhookConfiguration": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("webhooks", 2, "[]ValidatingWebhook", "omit merge=name"),
    ),
    "ValidatingWebhookConfigurationList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]ValidatingWebhookConfiguration", "required"),
    ),
    "WebhookClientConfig": (
        ("url", 3, "string", "omit ptr"),
        ("service", 1, "ServiceReference", "omit ptr"),
        ("caBundle", 2, "bytes", "omit"),
    ),
}
