"""admissionregistration/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import ALL_METADATA, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "admissionregistration.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.admissionregistration.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("Rule",))
ATOMIC: Final[frozenset[str]] = frozenset("MatchResources NamedRuleWithOperations ParamKind ParamRef Variable".split())

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
    KindRow(
        kind="ValidatingAdmissionPolicy",
        plural="validatingadmissionpolicies",
        categories=("api-extensions",),
        key="validatingadmissionpolicies",
        storage_version="admissionregistration.{abbr}.io/v1",
        subresources=(
            Subresource(
                name="status",
                update="validate.admissionpolicies.update_status",
                resets=("spec", "metadata"),
                keeps_metadata=ALL_METADATA,
                creates=True,
            ),
        ),
        table=Table(
            "tabulate.policies.admission_policy",
            ("Name|name", "Validations|integer", "ParamKind", "Age"),
            {
                "Validations": "Validations indicates the number of validation rules defined in this configuration",
                "ParamKind": "ParamKind specifies the kind of resources used to parameterize this policy",
            },
        ),
        strategy="PolicyStrategy",
        validation=Validation(
            create="validate.admissionpolicies.create",
            update="validate.admissionpolicies.update",
        ),
        generation=("spec",),
        unconditional_update=False,
        since="1.30",
    ),
    KindRow(
        kind="ValidatingAdmissionPolicyBinding",
        plural="validatingadmissionpolicybindings",
        categories=("api-extensions",),
        key="validatingadmissionpolicybindings",
        storage_version="admissionregistration.{abbr}.io/v1",
        table=Table(
            "tabulate.policies.admission_policy_binding",
            ("Name|name", "PolicyName", "ParamRef", "Age"),
            {
                "PolicyName": "PolicyName indicates the policy definition which the policy binding binded to",
                "ParamRef": "ParamRef indicates the param resource which sets the configuration param",
            },
        ),
        validation=Validation(
            create="validate.admissionpolicies.create_binding",
            update="validate.admissionpolicies.update_binding",
        ),
        generation=("spec",),
        unconditional_update=False,
        since="1.30",
    ),
)

TYPES: Final[Types] = {
    **object_types("ValidatingAdmissionPolicy"),
    **object_types("ValidatingAdmissionPolicyBinding", status=""),
    "AuditAnnotation": (("key", 1, "string", "required"), ("valueExpression", 2, "string", "required")),
    "ExpressionWarning": (("fieldRef", 2, "string", "required"), ("warning", 3, "string", "required")),
    "MatchCondition": (("name", 1, "string", "required"), ("expression", 2, "string", "required")),
    "MatchResources": (
        ("namespaceSelector", 1, "meta/v1.LabelSelector", "omit ptr"),
        ("objectSelector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("resourceRules", 3, "[]NamedRuleWithOperations", "omit list=atomic"),
        ("excludeResourceRules", 4, "[]NamedRuleWithOperations", "omit list=atomic"),
        ("matchPolicy", 7, "string", "omit ptr enum=Equivalent|Exact"),
    ),
    "MutatingWebhook": (
        ("name", 1, "string", "required"),
        ("clientConfig", 2, "WebhookClientConfig", "required"),
        ("rules", 3, "[]RuleWithOperations", "omit list=atomic@1.35"),
        ("failurePolicy", 4, "string", "omit ptr enum=Fail|Ignore@1.35"),
        ("matchPolicy", 9, "string", "omit ptr enum=Equivalent|Exact@1.35"),
        ("namespaceSelector", 5, "meta/v1.LabelSelector", "omit ptr"),
        ("objectSelector", 11, "meta/v1.LabelSelector", "omit ptr"),
        ("sideEffects", 6, "string", "required ptr enum=None|NoneOnDryRun|Some|Unknown@1.35"),
        ("timeoutSeconds", 7, "int32", "omit ptr"),
        ("admissionReviewVersions", 8, "[]string", "required list=atomic@1.35"),
        ("reinvocationPolicy", 10, "string", "omit ptr enum=IfNeeded|Never@1.35"),
        ("matchConditions", 12, "[]MatchCondition", "omit merge=name keys=name since=1.27"),
    ),
    "MutatingWebhookConfiguration": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("webhooks", 2, "[]MutatingWebhook", "omit merge=name keys=name@1.35"),
    ),
    "NamedRuleWithOperations": (
        ("resourceNames", 1, "[]string", "omit list=atomic"),
        ("", 2, "RuleWithOperations", "inline"),
    ),
    "ParamKind": (("apiVersion", 1, "string", "omit"), ("kind", 2, "string", "omit")),
    "ParamRef": (
        ("name", 1, "string", "omit"),
        ("namespace", 2, "string", "omit"),
        ("selector", 3, "meta/v1.LabelSelector", "omit ptr"),
        ("parameterNotFoundAction", 4, "string", "omit ptr"),
    ),
    "Rule": (
        ("apiGroups", 1, "[]string", "omit list=atomic@1.35"),
        ("apiVersions", 2, "[]string", "omit list=atomic@1.35"),
        ("resources", 3, "[]string", "omit list=atomic@1.35"),
        ("scope", 4, "string", "omit ptr enum=*|Cluster|Namespaced@1.35"),
    ),
    "RuleWithOperations": (
        ("operations", 1, "[]string", "omit enum=*|CONNECT|CREATE|DELETE|UPDATE@1.35 list=atomic@1.35"),
        ("", 2, "Rule", "inline"),
    ),
    "ServiceReference": (
        ("namespace", 1, "string", "required"),
        ("name", 2, "string", "required"),
        ("path", 3, "string", "omit ptr"),
        ("port", 4, "int32", "omit ptr"),
    ),
    "TypeChecking": (("expressionWarnings", 1, "[]ExpressionWarning", "omit list=atomic"),),
    "ValidatingAdmissionPolicyBindingSpec": (
        ("policyName", 1, "string", "omit"),
        ("paramRef", 2, "ParamRef", "omit ptr"),
        ("matchResources", 3, "MatchResources", "omit ptr"),
        ("validationActions", 4, "[]string", "omit enum=Audit|Deny|Warn set"),
    ),
    "ValidatingAdmissionPolicySpec": (
        ("paramKind", 1, "ParamKind", "omit ptr"),
        ("matchConstraints", 2, "MatchResources", "omit ptr"),
        ("validations", 3, "[]Validation", "omit list=atomic"),
        ("failurePolicy", 4, "string", "omit ptr enum=Fail|Ignore"),
        ("auditAnnotations", 5, "[]AuditAnnotation", "omit list=atomic"),
        ("matchConditions", 6, "[]MatchCondition", "omit merge=name keys=name"),
        ("variables", 7, "[]Variable", "omit merge=name keys=name"),
    ),
    "ValidatingAdmissionPolicyStatus": (
        ("observedGeneration", 1, "int64", "omit"),
        ("typeChecking", 2, "TypeChecking", "omit ptr"),
        ("conditions", 3, "[]meta/v1.Condition", "omit keys=type"),
    ),
    "ValidatingWebhook": (
        ("name", 1, "string", "required"),
        ("clientConfig", 2, "WebhookClientConfig", "required"),
        ("rules", 3, "[]RuleWithOperations", "omit list=atomic@1.35"),
        ("failurePolicy", 4, "string", "omit ptr enum=Fail|Ignore@1.35"),
        ("matchPolicy", 9, "string", "omit ptr enum=Equivalent|Exact@1.35"),
        ("namespaceSelector", 5, "meta/v1.LabelSelector", "omit ptr"),
        ("objectSelector", 10, "meta/v1.LabelSelector", "omit ptr"),
        ("sideEffects", 6, "string", "required ptr enum=None|NoneOnDryRun|Some|Unknown@1.35"),
        ("timeoutSeconds", 7, "int32", "omit ptr"),
        ("admissionReviewVersions", 8, "[]string", "required list=atomic@1.35"),
        ("matchConditions", 11, "[]MatchCondition", "omit merge=name keys=name since=1.27"),
    ),
    "ValidatingWebhookConfiguration": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("webhooks", 2, "[]ValidatingWebhook", "omit merge=name keys=name@1.35"),
    ),
    "Validation": (
        ("expression", 1, "string", "required"),
        ("message", 2, "string", "omit"),
        ("reason", 3, "string", "omit ptr"),
        ("messageExpression", 4, "string", "omit"),
    ),
    "Variable": (("name", 1, "string", "required"), ("expression", 2, "string", "required")),
    "WebhookClientConfig": (
        ("url", 3, "string", "omit ptr"),
        ("service", 1, "ServiceReference", "omit ptr"),
        ("caBundle", 2, "bytes", "omit"),
    ),
}
