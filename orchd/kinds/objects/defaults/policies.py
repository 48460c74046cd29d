"""Default rules of the groups networking, RBAC, storage, admission registration, flow control, API extensions."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.defaults.rules import Rule, fill_members, within
from orchd.kinds.objects.settings import ObjectSettings

_WEBHOOK: Final = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_WEBHOOK_V1BETA1: Final = {
    **_WEBHOOK,
    "failurePolicy": "Ignore",
    "matchPolicy": "Exact",
    "sideEffects": "Unknown",
    "timeoutSeconds": 30,
}
_QUEUES: Final = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
_SERVICE_PORT: Final = {"port": 443}
_ENDPOINT_PORT: Final = {"name": "", "protocol": "TCP"}

CONSTANTS: Final[dict[str, dict[str, Any]]] = {
    "authentication/v1.TokenRequestSpec": {"expirationSeconds": 3600},
    "admissionregistration/v1.MatchResources": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    },
    "admissionregistration/v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration/v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration/v1.ServiceReference": _SERVICE_PORT,
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration/v1.ValidatingWebhook": _WEBHOOK,
    "admissionregistration/v1beta1.MutatingWebhook": {**_WEBHOOK_V1BETA1, "reinvocationPolicy": "Never"},
    "admissionregistration/v1beta1.RuleWithOperations": {"scope": "*"},
    "admissionregistration/v1beta1.ServiceReference": _SERVICE_PORT,
    "admissionregistration/v1beta1.ValidatingWebhook": _WEBHOOK_V1BETA1,
    "apiextensions/v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions/v1.ServiceReference": _SERVICE_PORT,
    "apiextensions/v1beta1.CustomResourceDefinitionSpec": {
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": True,
        "scope": "Namespaced",
    },
    "apiextensions/v1beta1.ServiceReference": _SERVICE_PORT,
    "apiregistration/v1.ServiceReference": _SERVICE_PORT,
    "discovery/v1.EndpointPort": _ENDPOINT_PORT,
    "discovery/v1beta1.EndpointPort": _ENDPOINT_PORT,
    "flowcontrol/v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol/v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    "networking/v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking/v1.NetworkPolicyPort": {"protocol": "TCP"},
    "policy/v1beta1.PodSecurityPolicySpec": {"allowPrivilegeEscalation": True},
    "scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "storage/v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "seLinuxMount": False,
    },
    "storage/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}


def _zeros(**members: int) -> Rule:
    """Fill in members for which zero means unset as well."""

    def rule(value: Object, settings: ObjectSettings) -> Object:
        missing = {name: number for name, number in members.items() if not value.get(name)}
        return {**value, **missing} if missing else value

    return rule


def _webhook_v1beta1(value: Object, settings: ObjectSettings) -> Object:
    """An empty list of review versions means the only one that the first webhooks knew."""
    return value if value.get("admissionReviewVersions") else {**value, "admissionReviewVersions": ["v1beta1"]}


def _binding(value: Object, settings: ObjectSettings) -> Object:
    group = settings.dialect("rbac.authorization.{abbr}.io")
    return within(value, "roleRef", lambda role: fill_members(role, apiGroup=group))


def _subject(value: Object, settings: ObjectSettings) -> Object:
    if value.get("kind") in ("User", "Group"):
        return fill_members(value, apiGroup=settings.dialect("rbac.authorization.{abbr}.io"))
    return value


def _network_policy_spec(value: Object, settings: ObjectSettings) -> Object:
    if value.get("policyTypes"):
        return value
    return {**value, "policyTypes": ["Ingress", "Egress"] if value.get("egress") else ["Ingress"]}


def _definition(value: Object, settings: ObjectSettings) -> Object:
    spec = fields.spec(value)
    names = spec.get("names") or {}
    kind = names.get("kind")
    if kind:
        full = fill_members(names, singular=kind.lower(), listKind=kind + "List")
        if full is not names:
            spec = {**spec, "names": full}
            value = {**value, "spec": spec}
    status = fields.status(value)
    if not status.get("storedVersions"):
        stored = next((v["name"] for v in spec.get("versions") or () if v.get("storage")), None)
        if stored is not None:
            value = {**value, "status": {**status, "storedVersions": [stored]}}
    return value


def _definition_v1beta1(value: Object, settings: ObjectSettings) -> Object:
    """Synchronize version with the first of versions."""
    spec = dict(fields.spec(value))
    version, versions = spec.get("version"), spec.get("versions")
    if version and not versions:
        spec["versions"] = [{"name": version, "served": True, "storage": True}]
    elif versions and not version:
        spec["version"] = versions[0].get("name") or ""
    if not spec.get("scope"):
        spec["scope"] = "Namespaced"
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") == "Webhook" and not conversion.get("conversionReviewVersions"):
        spec["conversion"] = {**conversion, "conversionReviewVersions": ["v1beta1"]}
    return _definition({**value, "spec": spec}, settings)


def _endpoint_v1beta1(value: Object, settings: ObjectSettings) -> Object:
    """In v1beta1, which has topology labels, nodeName is part of the topology."""
    node = value.get("nodeName")
    hostname = settings.dialect("{long}.io/hostname")
    topology = value.get("topology") or {}
    if node is None or hostname in topology:
        return value
    return {**value, "topology": {**topology, hostname: node}}


def _priority_level(value: Object, settings: ObjectSettings) -> Object:
    """An exempt level has the member `exempt`."""
    return {**value, "exempt": {}} if value.get("type") == "Exempt" and value.get("exempt") is None else value


RULES: Final[dict[str, Rule]] = {
    "admissionregistration/v1beta1.MutatingWebhook": _webhook_v1beta1,
    "admissionregistration/v1beta1.ValidatingWebhook": _webhook_v1beta1,
    "apiextensions/v1.CustomResourceDefinition": _definition,
    "apiextensions/v1beta1.CustomResourceDefinition": _definition_v1beta1,
    "discovery/v1beta1.Endpoint": _endpoint_v1beta1,
    "flowcontrol/v1beta1.FlowSchemaSpec": _zeros(matchingPrecedence=1000),
    "flowcontrol/v1beta1.LimitedPriorityLevelConfiguration": _zeros(assuredConcurrencyShares=30),
    "flowcontrol/v1beta1.QueuingConfiguration": _zeros(**_QUEUES),
    "flowcontrol/v1beta2.FlowSchemaSpec": _zeros(matchingPrecedence=1000),
    "flowcontrol/v1beta2.LimitedPriorityLevelConfiguration": _zeros(assuredConcurrencyShares=30),
    "flowcontrol/v1beta2.QueuingConfiguration": _zeros(**_QUEUES),
    "flowcontrol/v1.FlowSchemaSpec": _zeros(matchingPrecedence=1000),
    "flowcontrol/v1.PriorityLevelConfigurationSpec": _priority_level,
    "flowcontrol/v1.QueuingConfiguration": _zeros(**_QUEUES),
    "networking/v1.NetworkPolicySpec": _network_policy_spec,
    "rbac/v1.ClusterRoleBinding": _binding,
    "rbac/v1.RoleBinding": _binding,
    "rbac/v1.Subject": _subject,
}
