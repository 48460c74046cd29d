"""Descriptions of admission policies in CEL and of the match conditions of webhooks."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

MATCH_CONDITIONS: Final = "CEL conditions that must all be true for a matching request, else it is skipped. At most 64."
_RULES: Final = "Requests by operation and resource, of which at least one must match."

TEXTS: Final[Texts] = {
    "admissionregistration.ValidatingAdmissionPolicy": {
        "": "Admission policy in CEL that may reject requests. Takes effect through bindings.",
        "spec": "Validations of the policy and the requests they apply to.",
        "status": "Result of type checking, set by the system.",
    },
    "admissionregistration.ValidatingAdmissionPolicySpec": {
        "": "Validations of a policy and the requests they apply to.",
        "auditAnnotations": "Annotations added to the audit event of the request. Required if there are no validations. At most 20.",
        "failurePolicy": "Handling of errors of the policy: Fail (the default) rejects the request, Ignore skips the policy.",
        "matchConditions": MATCH_CONDITIONS,
        "matchConstraints": "Requests that the policy applies to.",
        "paramKind": "Kind of the parameter objects. When unset, params is null.",
        "validations": "Expressions that must be true for a request to be admitted. Required if there are no auditAnnotations.",
        "variables": "Expressions by name, available to later ones as variables.NAME.",
    },
    "admissionregistration.ValidatingAdmissionPolicyStatus": {
        "": "Result of type checking of a policy.",
        "typeChecking": "Warnings of the type check. Set once the check is complete.",
    },
    "admissionregistration.TypeChecking": {
        "": "Result of the type check of the expressions of a policy.",
        "expressionWarnings": "Warnings, at most one for each expression.",
    },
    "admissionregistration.ExpressionWarning": {
        "": "Warning about an expression.",
        "fieldRef": "Path of the expression, such as spec.validations[0].expression.",
        "warning": "Text of the warning, for each type that the expression was checked with.",
    },
    "admissionregistration.ParamKind": {
        "": "Kind of the parameter objects of a policy.",
        "apiVersion": "API group and version of the parameter objects, as GROUP/VERSION.",
        "kind": "Kind of the parameter objects.",
    },
    "admissionregistration.ParamRef": {
        "": "Parameter objects of a binding. Exactly one of name and selector must be set.",
        "name": "Name of the parameter object.",
        "namespace": "Namespace of the parameter objects. Default: the namespace of the object in the request.",
        "parameterNotFoundAction": "Result if no parameter object exists: Allow, or Deny to apply the failurePolicy.",
        "selector": "Label selector of the parameter objects. The policy is evaluated with each of them.",
    },
    "admissionregistration.MatchResources": {
        "": "Requests that a policy applies to.",
        "excludeResourceRules": "Requests by operation and resource that never match. Takes precedence over resourceRules.",
        "matchPolicy": "Exact (only the versions that rules name) or Equivalent (any version, the default).",
        "namespaceSelector": "Label selector of the namespaces of the objects. An empty selector matches all.",
        "objectSelector": "Label selector of the objects, matched against the old and the new object. An empty selector matches all.",
        "resourceRules": _RULES,
    },
    "admissionregistration.NamedRuleWithOperations": {
        "": "Operations, resources and object names of matching requests.",
        "operations": "CREATE, UPDATE, DELETE, CONNECT, or \"*\" for all.",
        "resources": "Resources, such as pods, pods/status, */scale or */*.",
        "scope": "Cluster, Namespaced, or \"*\" (the default) for both.",
    },
    "admissionregistration.MatchCondition": {
        "": "CEL condition of a request.",
        "expression": "CEL expression over object, oldObject, request and authorizer with a boolean result.",
        "name": "Name of the condition, a qualified name that is unique in the list.",
    },
    "admissionregistration.Validation": {
        "": "Expression that must be true for a request to be admitted.",
        "expression": (
            "CEL expression over object, oldObject, request, params, namespaceObject, variables and authorizer with a "
            "boolean result."
        ),
        "message": "Message of the rejection. Required if the expression has line breaks. Default: the expression.",
        "messageExpression": "CEL expression whose result is the message of the rejection. Takes precedence over message.",
        "reason": "Reason of the rejection: Unauthorized, Forbidden, Invalid (the default) or RequestEntityTooLarge.",
    },
    "admissionregistration.AuditAnnotation": {
        "": "Annotation of the audit event of a request.",
        "key": "Key of the annotation, a qualified name. The name of the policy becomes its prefix.",
        "valueExpression": "CEL expression with a string result, the value. No annotation is written for null or an empty string.",
    },
    "admissionregistration.Variable": {
        "": "CEL expression with a name.",
        "expression": "CEL expression, evaluated when the variable is first used.",
        "name": "Name of the variable, a CEL identifier that is unique in the policy.",
    },
    "admissionregistration.ValidatingAdmissionPolicyBinding": {
        "": "Applies an admission policy to requests, with parameters.",
        "spec": "Policy, parameters, requests and actions of the binding.",
    },
    "admissionregistration.ValidatingAdmissionPolicyBindingSpec": {
        "": "Policy, parameters, requests and actions of a binding.",
        "matchResources": "Narrows the requests of the policy. When unset, all requests that match the policy.",
        "paramRef": "Parameter objects passed to the policy as params.",
        "policyName": "Name of the ValidatingAdmissionPolicy.",
        "validationActions": "Actions for failed validations: Deny, Warn and Audit. Deny and Warn exclude each other.",
    },
}
