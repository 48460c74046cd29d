"""Go values of the reference's internal types, as ``%#v`` prints them in messages.

`STRUCTS` has the fields of the types that messages contain, in their order. A pointer is printed as an address, which
cannot be reproduced; every pointer has the same one here.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.gotext.values import GoText, interface, quote
from orchd.kinds.quantities import BINARY, DECIMAL, QUANTITY, amount

_POINTER: Final = "(0xc000000000)"

#: Type -> fields ``Name:type``; the JSON name is the name with a small first letter unless given as ``Name=json``.
STRUCTS: Final[dict[str, str]] = {
    "v1.LabelSelector": "MatchLabels:map[string]string MatchExpressions:[]v1.LabelSelectorRequirement",
    "v1.LabelSelectorRequirement": "Key:string Operator:string Values:[]string",
    "v1.OwnerReference": (
        "APIVersion=apiVersion:string Kind:string Name:string UID=uid:string Controller:*bool BlockOwnerDeletion:*bool"
    ),
    "core.Toleration": "Key:string Operator:string Value:string Effect:string TolerationSeconds:*int64",
    "core.Taint": "Key:string Value:string Effect:string TimeAdded:<nil>",
    "core.NodeAddress": "Type:string Address:string",
    "core.PodIP": "IP=ip:string",
    "core.ScopeSelector": "MatchExpressions:[]core.ScopedResourceSelectorRequirement",
    "core.ScopedResourceSelectorRequirement": "ScopeName:string Operator:string Values:[]string",
    "core.VolumeNodeAffinity": "Required:*core.NodeSelector",
    "core.Lifecycle": "PostStart:*core.LifecycleHandler PreStop:*core.LifecycleHandler",
    "core.Probe": (
        "ProbeHandler=:core.ProbeHandler InitialDelaySeconds:int32 TimeoutSeconds:int32 PeriodSeconds:int32 "
        "SuccessThreshold:int32 FailureThreshold:int32 TerminationGracePeriodSeconds:*int64"
    ),
    "core.ProbeHandler": (
        "Exec:*core.ExecAction HTTPGet=httpGet:*core.HTTPGetAction TCPSocket=tcpSocket:*core.TCPSocketAction "
        "GRPC=grpc:*core.GRPCAction"
    ),
    "core.SecurityContext": (
        "Capabilities:*core.Capabilities Privileged:*bool SELinuxOptions=seLinuxOptions:*core.SELinuxOptions "
        "WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool "
        "ReadOnlyRootFilesystem:*bool AllowPrivilegeEscalation:*bool ProcMount:*core.ProcMountType "
        "SeccompProfile:*core.SeccompProfile"
    ),
    "core.SeccompProfile": "Type:string LocalhostProfile:*string",
    "core.ServicePort": (
        "Name:string Protocol:string AppProtocol:*string Port:int32 TargetPort:intstr.IntOrString NodePort:int32"
    ),
    "apps.DeploymentStrategy": "Type:string RollingUpdate:*apps.RollingUpdateDeployment",
    "apps.DaemonSetUpdateStrategy": "Type:string RollingUpdate:*apps.RollingUpdateDaemonSet",
    "apps.StatefulSetUpdateStrategy": "Type:string RollingUpdate:*apps.RollingUpdateStatefulSetStrategy",
    "apps.RollingUpdateStatefulSetStrategy": "Partition:int32",
    "policy.PodDisruptionBudgetSpec": (
        "MinAvailable:*intstr.IntOrString Selector:*v1.LabelSelector MaxUnavailable:*intstr.IntOrString"
    ),
    "rbac.RoleRef": "APIGroup=apiGroup:string Kind:string Name:string",
    "storage.CSINodeDriver": (
        "Name:string NodeID=nodeID:string TopologyKeys:[]string Allocatable:*storage.VolumeNodeResources"
    ),
    "storage.VolumeAttachmentSpec": "Attacher:string Source:storage.VolumeAttachmentSource NodeName:string",
    "storage.VolumeAttachmentSource": "PersistentVolumeName:*string InlineVolumeSpec:*core.PersistentVolumeSpec",
    "flowcontrol.FlowDistinguisherMethod": "Type:string",
    "flowcontrol.PriorityLevelConfigurationSpec": (
        "Type:string Limited:*flowcontrol.LimitedPriorityLevelConfiguration"
    ),
    "flowcontrol.FlowSchemaSpec": (
        "PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference MatchingPrecedence:int32 "
        "DistinguisherMethod:*flowcontrol.FlowDistinguisherMethod Rules:[]flowcontrol.PolicyRulesWithSubjects"
    ),
    "flowcontrol.PriorityLevelConfigurationReference": "Name:string",
    "flowcontrol.PolicyRulesWithSubjects": (
        "Subjects:[]flowcontrol.Subject ResourceRules:[]flowcontrol.ResourcePolicyRule "
        "NonResourceRules:[]flowcontrol.NonResourcePolicyRule"
    ),
    "flowcontrol.Subject": (
        "Kind:string User:*flowcontrol.UserSubject Group:*flowcontrol.GroupSubject "
        "ServiceAccount:*flowcontrol.ServiceAccountSubject"
    ),
    "flowcontrol.ResourcePolicyRule": (
        "Verbs:[]string APIGroups=apiGroups:[]string Resources:[]string ClusterScope:bool Namespaces:[]string"
    ),
    "flowcontrol.NonResourcePolicyRule": "Verbs:[]string NonResourceURLs=nonResourceURLs:[]string",
    "authorization.NonResourceAttributes": "Path:string Verb:string",
    "networking.IngressRule": "Host:string IngressRuleValue=:networking.IngressRuleValue",
    "networking.IngressRuleValue": "HTTP=http:*networking.HTTPIngressRuleValue",
    "apiextensions.JSONSchemaProps": (
        "ID=id:string Schema=$schema:string Ref=$ref:*string Description:string Type:string Nullable:bool "
        "Format:string Title:string Default:*apiextensions.JSON Maximum:*float64 ExclusiveMaximum:bool "
        "Minimum:*float64 ExclusiveMinimum:bool MaxLength:*int64 MinLength:*int64 Pattern:string "
        "MaxItems:*int64 MinItems:*int64 UniqueItems:bool MultipleOf:*float64 Enum:[]apiextensions.JSON "
        "MaxProperties:*int64 MinProperties:*int64 Required:[]string "
        "Items:*apiextensions.JSONSchemaPropsOrArray AllOf:[]apiextensions.JSONSchemaProps "
        "OneOf:[]apiextensions.JSONSchemaProps AnyOf:[]apiextensions.JSONSchemaProps "
        "Not:*apiextensions.JSONSchemaProps Properties:map[string]apiextensions.JSONSchemaProps "
        "AdditionalProperties:*apiextensions.JSONSchemaPropsOrBool "
        "PatternProperties:map[string]apiextensions.JSONSchemaProps "
        "Dependencies:apiextensions.JSONSchemaDependencies(nil) "
        "AdditionalItems:*apiextensions.JSONSchemaPropsOrBool "
        "Definitions:apiextensions.JSONSchemaDefinitions(nil) "
        "ExternalDocs:*apiextensions.ExternalDocumentation Example:*apiextensions.JSON "
        "XPreserveUnknownFields:*bool XEmbeddedResource:bool XIntOrString:bool XListMapKeys:[]string "
        "XListType:*string XMapType:*string XValidations:apiextensions.ValidationRules(nil)"
    ),
    "apiextensions.CustomResourceDefinitionVersion": (
        "Name:string Served:bool Storage:bool Deprecated:bool DeprecationWarning:*string "
        "Schema:*apiextensions.CustomResourceValidation Subresources:*apiextensions.CustomResourceSubresources "
        "AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition"
    ),
    "v1.ObjectMeta": (
        "Name:string GenerateName:string Namespace:string SelfLink:string UID=uid:string ResourceVersion:string "
        "Generation:int64 CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC) DeletionTimestamp:<nil> "
        "DeletionGracePeriodSeconds:*int64 Labels:map[string]string Annotations:map[string]string "
        "OwnerReferences:[]v1.OwnerReference Finalizers:[]string ClusterName:string ManagedFields:[]v1.ManagedFieldsEntry"
    ),
}


def dump(type_name: str, value: Any) -> GoText:
    """`value` as a Go value of a type named in `STRUCTS`, or of a slice, map or pointer of one."""
    return GoText(_dump(type_name, value))


def _dump(type_name: str, value: Any) -> str:
    if type_name.startswith("*"):
        return f"(*{type_name[1:]})" + ("(nil)" if value is None else _POINTER)
    if type_name.startswith("[]"):
        if value is None:
            return f"{type_name}(nil)"
        return type_name + "{" + ", ".join(_dump(type_name[2:], v) for v in value) + "}"
    if type_name.startswith("map[string]"):
        if not value:
            return f"{type_name}(nil)"
        inner = type_name[len("map[string]") :]
        return type_name + "{" + ", ".join(f"{quote(k)}:{_dump(inner, value[k])}" for k in sorted(value)) + "}"
    if type_name in ("int32", "int64"):
        return str(value or 0)
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "intstr.IntOrString":
        kind, number_, text = (1, 0, value) if isinstance(value, str) else (0, value or 0, "")
        return f"intstr.IntOrString{{Type:{kind}, IntVal:{number_}, StrVal:{quote(text)}}}"
    if type_name == "resource.Quantity":
        return go_quantity(str(value))
    if type_name == "core.ResourceList":
        return "core.ResourceList" + _dump("map[string]resource.Quantity", value).removeprefix(
            "map[string]resource.Quantity"
        )
    if type_name.startswith(("<nil>", "time.")) or type_name.endswith("(nil)"):
        return type_name
    if type_name == "apiextensions.JSON":
        return interface(value)
    fields = STRUCTS.get(type_name)
    if fields is None:
        return f"{type_name}{{{interface(value)}}}" if isinstance(value, (dict, list)) else quote(value or "")
    return type_name + "{" + ", ".join(_member(field, value or {}) for field in _fields(fields)) + "}"


def _fields(spelled: str) -> list[str]:
    """The fields of a table line; a time literal contains spaces."""
    out: list[str] = []
    for word in spelled.split(" "):
        if ":" in word:
            out.append(word)
        else:
            out[-1] += " " + word
    return out


def _member(field: str, value: dict[str, Any]) -> str:
    name, _, type_name = field.partition(":")
    name, given, json_name = name.partition("=")
    if given and not json_name:
        return f"{name}:{_dump(type_name, value)}"
    return f"{name}:{_dump(type_name, value.get(json_name or name[0].lower() + name[1:]))}"


def quantity(text: str) -> GoText:
    return dump("resource.Quantity", text)


def go_quantity(text: str, *, short: bool = False) -> str:
    """A quantity as ``%#v`` prints its struct, which depends on how it was written; this is a guess from canonical text.

    ``500m`` was written so or, with `short`, as ``0.5``; ``1k`` was written as 1000.
    """
    value, scale = amount(text), 0
    while value.denominator != 1 and scale > -9:
        value, scale = value * 10, scale - 1
    match = QUANTITY.match(text)
    suffix = "" if match is None else match.group(5) or ""
    exponent = "" if match is None else match.group(4) or ""
    wanted = int(exponent[1:]) if exponent else 0 if suffix in BINARY or suffix == "k" else DECIMAL[suffix]
    while scale > wanted and not short:
        value, scale = value * 10, scale - 1
    if wanted > scale == 0:
        value, scale = value / 10**wanted, wanted
    style = "BinarySI" if suffix in BINARY else "DecimalExponent" if exponent else "DecimalSI"
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{value.numerator}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{text}", Format:"{style}"}}'
    )
