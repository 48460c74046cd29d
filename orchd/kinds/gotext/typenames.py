"""Names of the Go types of fields in decoding errors; facts about the named value types of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from orchd.dialect import DIALECTS
from orchd.kinds.ir import Type

#: package, or group -> named value type -> the fields declared with it; ``*`` before a name: it is the type of the
#: elements. The types of a group are those of each of its versions; ``vN`` is the version.
_NAMED: Final[dict[str, dict[str, str]]] = {
    "admission": {
        "types.UID": "AdmissionRequest.uid AdmissionResponse.uid",
        "vN.Operation": "AdmissionRequest.operation",
        "vN.PatchType": "AdmissionResponse.patchType",
    },
    "admissionregistration/v1": {
        "*v1.OperationType": "RuleWithOperations.operations",
        "*v1.ValidationAction": "ValidatingAdmissionPolicyBindingSpec.validationActions",
        "v1.FailurePolicyType": (
            "MutatingWebhook.failurePolicy ValidatingWebhook.failurePolicy ValidatingAdmissionPolicySpec.failurePolicy"
        ),
        "v1.MatchPolicyType": "MatchResources.matchPolicy MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy",
        "v1.ParameterNotFoundActionType": "ParamRef.parameterNotFoundAction",
        "v1.StatusReason": "Validation.reason",
        "v1.ReinvocationPolicyType": "MutatingWebhook.reinvocationPolicy",
        "v1.ScopeType": "Rule.scope",
        "v1.SideEffectClass": "MutatingWebhook.sideEffects ValidatingWebhook.sideEffects",
    },
    "admissionregistration/v1beta1": {
        "*v1beta1.OperationType": "RuleWithOperations.operations",
        "v1beta1.FailurePolicyType": "MutatingWebhook.failurePolicy ValidatingWebhook.failurePolicy",
        "v1beta1.MatchPolicyType": "MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy",
        "v1beta1.ReinvocationPolicyType": "MutatingWebhook.reinvocationPolicy",
        "v1beta1.ScopeType": "Rule.scope",
        "v1beta1.SideEffectClass": "MutatingWebhook.sideEffects ValidatingWebhook.sideEffects",
    },
    "apiextensions/v1": {
        "v1.JSONSchemaDefinitions": "JSONSchemaProps.definitions",
        "v1.JSONSchemaDependencies": "JSONSchemaProps.dependencies",
        "v1.ValidationRules": "JSONSchemaProps.x-{long}-validations",
        "types.UID": "ConversionRequest.uid ConversionResponse.uid",
        "v1.ConditionStatus": "CustomResourceDefinitionCondition.status",
        "v1.ConversionStrategyType": "CustomResourceConversion.strategy",
        "v1.CustomResourceDefinitionConditionType": "CustomResourceDefinitionCondition.type",
        "v1.JSONSchemaURL": "JSONSchemaProps.$schema",
        "v1.ResourceScope": "CustomResourceDefinitionSpec.scope",
        "v1.FieldValueErrorReason": "ValidationRule.reason",
    },
    "apiextensions/v1beta1": {"types.UID": "ConversionRequest.uid ConversionResponse.uid"},
    "apiregistration/v1": {
        "v1.APIServiceConditionType": "APIServiceCondition.type",
        "v1.ConditionStatus": "APIServiceCondition.status",
    },
    "apps/v1": {
        "v1.ConditionStatus": (
            "DaemonSetCondition.status DeploymentCondition.status ReplicaSetCondition.status "
            "StatefulSetCondition.status"
        ),
        "v1.DaemonSetConditionType": "DaemonSetCondition.type",
        "v1.DaemonSetUpdateStrategyType": "DaemonSetUpdateStrategy.type",
        "v1.DeploymentConditionType": "DeploymentCondition.type",
        "v1.DeploymentStrategyType": "DeploymentStrategy.type",
        "v1.PersistentVolumeClaimRetentionPolicyType": (
            "StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted "
            "StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled"
        ),
        "v1.PodManagementPolicyType": "StatefulSetSpec.podManagementPolicy",
        "v1.ReplicaSetConditionType": "ReplicaSetCondition.type",
        "v1.StatefulSetConditionType": "StatefulSetCondition.type",
        "v1.StatefulSetUpdateStrategyType": "StatefulSetUpdateStrategy.type",
    },
    "audit/v1": {
        "*v1.Stage": "Policy.omitStages PolicyRule.omitStages",
        "types.UID": "Event.auditID ObjectReference.uid",
        "v1.Level": "Event.level PolicyRule.level",
        "v1.Stage": "Event.stage",
    },
    "authentication": {"*vN.ExtraValue": "UserInfo.extra", "types.UID": "BoundObjectReference.uid"},
    "authorization": {"*vN.ExtraValue": "SubjectAccessReviewSpec.extra"},
    "autoscaling": {
        "v1.ConditionStatus": "HorizontalPodAutoscalerCondition.status",
        "v1.ResourceName": (
            "ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name "
            "ResourceMetricStatus.name"
        ),
        "vN.HPAScalingPolicyType": "HPAScalingPolicy.type",
        "vN.HorizontalPodAutoscalerConditionType": "HorizontalPodAutoscalerCondition.type",
        "vN.MetricSourceType": "MetricSpec.type MetricStatus.type",
        "vN.MetricTargetType": "MetricTarget.type",
        "vN.ScalingPolicySelect": "HPAScalingRules.selectPolicy",
    },
    "batch/v1": {
        "*types.UID": "UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded",
        "v1.CompletionMode": "JobSpec.completionMode",
        "v1.ConcurrencyPolicy": "CronJobSpec.concurrencyPolicy",
        "v1.ConditionStatus": "JobCondition.status PodFailurePolicyOnPodConditionsPattern.status",
        "v1.JobConditionType": "JobCondition.type",
        "v1.PodConditionType": "PodFailurePolicyOnPodConditionsPattern.type",
        "v1.PodFailurePolicyAction": "PodFailurePolicyRule.action",
        "v1.PodFailurePolicyOnExitCodesOperator": "PodFailurePolicyOnExitCodesRequirement.operator",
        "v1.PodReplacementPolicy": "JobSpec.podReplacementPolicy",
    },
    "batch/v1beta1": {"v1beta1.ConcurrencyPolicy": "CronJobSpec.concurrencyPolicy"},
    "certificates/v1": {
        "*v1.ExtraValue": "CertificateSigningRequestSpec.extra",
        "*v1.KeyUsage": "CertificateSigningRequestSpec.usages",
        "v1.ConditionStatus": "CertificateSigningRequestCondition.status",
        "v1.RequestConditionType": "CertificateSigningRequestCondition.type",
    },
    "coordination/v1": {"v1.CoordinatedLeaseStrategy": "LeaseSpec.strategy"},
    "core/v1": {
        "*v1.Capability": "Capabilities.add Capabilities.drop",
        "*v1.FinalizerName": "NamespaceSpec.finalizers",
        "*v1.IPFamily": "ServiceSpec.ipFamilies",
        "*v1.PersistentVolumeAccessMode": (
            "PersistentVolumeClaimSpec.accessModes PersistentVolumeClaimStatus.accessModes "
            "PersistentVolumeSpec.accessModes"
        ),
        "*v1.ResourceQuotaScope": "ResourceQuotaSpec.scopes",
        "*v1.UniqueVolumeName": "NodeStatus.volumesInUse",
        "types.UID": "ConfigMapNodeConfigSource.uid ObjectReference.uid Preconditions.uid",
        "v1.AzureDataDiskCachingMode": "AzureDiskVolumeSource.cachingMode",
        "v1.AzureDataDiskKind": "AzureDiskVolumeSource.kind",
        "v1.ComponentConditionType": "ComponentCondition.type",
        "v1.ConditionStatus": (
            "ComponentCondition.status NamespaceCondition.status NodeCondition.status "
            "PersistentVolumeClaimCondition.status PodCondition.status ReplicationControllerCondition.status"
        ),
        "v1.DNSPolicy": "PodSpec.dnsPolicy",
        "v1.HostPathType": "HostPathVolumeSource.type",
        "v1.IPFamilyPolicyType": "ServiceSpec.ipFamilyPolicy",
        "v1.LimitType": "LimitRangeItem.type",
        "v1.MountPropagationMode": "VolumeMount.mountPropagation",
        "v1.NamespaceConditionType": "NamespaceCondition.type",
        "v1.NamespacePhase": "NamespaceStatus.phase",
        "v1.NodeAddressType": "NodeAddress.type",
        "v1.NodeConditionType": "NodeCondition.type",
        "v1.NodePhase": "NodeStatus.phase",
        "v1.NodeSelectorOperator": "NodeSelectorRequirement.operator",
        "v1.OSName": "PodOS.name",
        "v1.PersistentVolumeClaimConditionType": "PersistentVolumeClaimCondition.type",
        "v1.PersistentVolumeClaimPhase": "PersistentVolumeClaimStatus.phase",
        "v1.PersistentVolumeClaimResizeStatus": "PersistentVolumeClaimStatus.resizeStatus",
        "v1.PersistentVolumeMode": "PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode",
        "v1.PersistentVolumePhase": "PersistentVolumeStatus.phase",
        "v1.PersistentVolumeReclaimPolicy": "PersistentVolumeSpec.persistentVolumeReclaimPolicy",
        "v1.PodConditionType": "PodCondition.type PodReadinessGate.conditionType",
        "v1.PodFSGroupChangePolicy": "PodSecurityContext.fsGroupChangePolicy",
        "v1.PodPhase": "PodStatus.phase",
        "v1.PodQOSClass": "PodStatus.qosClass",
        "v1.PreemptionPolicy": "PodSpec.preemptionPolicy",
        "v1.ProcMountType": "SecurityContext.procMount",
        "v1.Protocol": "ContainerPort.protocol EndpointPort.protocol PortStatus.protocol ServicePort.protocol",
        "v1.PullPolicy": (
            "Container.imagePullPolicy EphemeralContainerCommon.imagePullPolicy ImageVolumeSource.pullPolicy"
        ),
        "v1.ReplicationControllerConditionType": "ReplicationControllerCondition.type",
        "v1.ResourceList": (
            "LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.max "
            "LimitRangeItem.maxLimitRequestRatio LimitRangeItem.min NodeResources.Capacity "
            "NodeStatus.allocatable NodeStatus.capacity PersistentVolumeClaimStatus.allocatedResources "
            "PersistentVolumeClaimStatus.capacity PersistentVolumeSpec.capacity PodSpec.overhead "
            "ResourceQuotaSpec.hard ResourceQuotaStatus.hard ResourceQuotaStatus.used "
            "ResourceRequirements.limits ResourceRequirements.requests VolumeResourceRequirements.limits "
            "VolumeResourceRequirements.requests ContainerStatus.allocatedResources PodStatus.allocatedResources"
        ),
        "v1.ResourceQuotaScope": "ScopedResourceSelectorRequirement.scopeName",
        "v1.RestartPolicy": "PodSpec.restartPolicy",
        "v1.ScopeSelectorOperator": "ScopedResourceSelectorRequirement.operator",
        "v1.SeccompProfileType": "SeccompProfile.type",
        "v1.SecretType": "Secret.type",
        "v1.ServiceAffinity": "ServiceSpec.sessionAffinity",
        "v1.ServiceExternalTrafficPolicyType": "ServiceSpec.externalTrafficPolicy",
        "v1.ServiceInternalTrafficPolicyType": "ServiceSpec.internalTrafficPolicy",
        "v1.ServiceType": "ServiceSpec.type",
        "v1.StorageMedium": "EmptyDirVolumeSource.medium",
        "v1.TaintEffect": "Taint.effect Toleration.effect",
        "v1.TerminationMessagePolicy": (
            "Container.terminationMessagePolicy EphemeralContainerCommon.terminationMessagePolicy"
        ),
        "v1.TolerationOperator": "Toleration.operator",
        "v1.URIScheme": "HTTPGetAction.scheme",
        "v1.UniqueVolumeName": "AttachedVolume.name",
        "v1.UnsatisfiableConstraintAction": "TopologySpreadConstraint.whenUnsatisfiable",
        "map[v1.ResourceName]v1.ClaimResourceStatus": "PersistentVolumeClaimStatus.allocatedResourceStatuses",
        "v1.AppArmorProfileType": "AppArmorProfile.type",
        "v1.ContainerRestartPolicy": "Container.restartPolicy EphemeralContainerCommon.restartPolicy",
        "v1.ContainerRestartRuleAction": "ContainerRestartRule.action",
        "v1.ContainerRestartRuleOnExitCodesOperator": "ContainerRestartRuleOnExitCodes.operator",
        "v1.LoadBalancerIPMode": "LoadBalancerIngress.ipMode",
        "v1.NodeInclusionPolicy": (
            "TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy"
        ),
        "v1.PersistentVolumeClaimModifyVolumeStatus": "ModifyVolumeStatus.status",
        "v1.PodResizeStatus": "PodStatus.resize",
        "v1.PodSELinuxChangePolicy": "PodSecurityContext.seLinuxChangePolicy",
        "v1.RecursiveReadOnlyMode": "VolumeMount.recursiveReadOnly VolumeMountStatus.recursiveReadOnly",
        "v1.ResourceHealthStatus": "ResourceHealth.health",
        "v1.ResourceID": "ResourceHealth.resourceID",
        "v1.ResourceName": "ContainerResizePolicy.resourceName ResourceStatus.name",
        "v1.ResourceResizeRestartPolicy": "ContainerResizePolicy.restartPolicy",
        "v1.Signal": "Lifecycle.stopSignal ContainerStatus.stopSignal",
        "v1.SupplementalGroupsPolicy": "PodSecurityContext.supplementalGroupsPolicy",
    },
    "discovery": {"vN.AddressType": "EndpointSlice.addressType", "v1.Protocol": "EndpointPort.protocol"},
    "flowcontrol": {
        "vN.ConditionStatus": "FlowSchemaCondition.status PriorityLevelConfigurationCondition.status",
        "vN.FlowDistinguisherMethodType": "FlowDistinguisherMethod.type",
        "vN.FlowSchemaConditionType": "FlowSchemaCondition.type",
        "vN.LimitResponseType": "LimitResponse.type",
        "vN.PriorityLevelConfigurationConditionType": "PriorityLevelConfigurationCondition.type",
        "vN.PriorityLevelEnablement": "PriorityLevelConfigurationSpec.type",
        "vN.SubjectKind": "Subject.kind",
    },
    "meta/v1": {
        "types.UID": "ObjectMeta.uid OwnerReference.uid Preconditions.uid StatusDetails.uid",
        "v1.CauseType": "StatusCause.reason",
        "v1.ConditionStatus": "Condition.status TableRowCondition.status",
        "v1.DeletionPropagation": "DeleteOptions.propagationPolicy",
        "v1.IncludeObjectPolicy": "TableOptions.includeObject",
        "v1.LabelSelectorOperator": "LabelSelectorRequirement.operator",
        "v1.ManagedFieldsOperationType": "ManagedFieldsEntry.operation",
        "v1.ResourceVersionMatch": "ListOptions.resourceVersionMatch",
        "v1.RowConditionType": "TableRowCondition.type",
        "v1.StatusReason": "Status.reason",
        "v1.Verbs": "APIResource.verbs",
        "v1.FieldSelectorOperator": "FieldSelectorRequirement.operator",
    },
    "networking/v1": {
        "*v1.PolicyType": "NetworkPolicySpec.policyTypes",
        "v1.PathType": "HTTPIngressPath.pathType",
        "v1.Protocol": "NetworkPolicyPort.protocol IngressPortStatus.protocol",
    },
    "node": {"v1.ResourceList": "Overhead.podFixed"},
    "policy/v1": {"v1.UnhealthyPodEvictionPolicyType": "PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy"},
    "policy/v1beta1": {
        "*v1.Capability": (
            "PodSecurityPolicySpec.allowedCapabilities PodSecurityPolicySpec.defaultAddCapabilities "
            "PodSecurityPolicySpec.requiredDropCapabilities"
        ),
        "*v1.ProcMountType": "PodSecurityPolicySpec.allowedProcMountTypes",
        "*v1beta1.FSType": "PodSecurityPolicySpec.volumes",
        "v1beta1.FSGroupStrategyType": "FSGroupStrategyOptions.rule",
        "v1beta1.RunAsGroupStrategy": "RunAsGroupStrategyOptions.rule",
        "v1beta1.RunAsUserStrategy": "RunAsUserStrategyOptions.rule",
        "v1beta1.SELinuxStrategy": "SELinuxStrategyOptions.rule",
        "v1beta1.SupplementalGroupsStrategyType": "SupplementalGroupsStrategyOptions.rule",
    },
    "resource/v1": {
        "map[v1.QualifiedName]resource.Quantity": (
            "CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity"
        ),
        "map[v1.QualifiedName]v1.DeviceAttribute": "Device.attributes",
        "map[v1.QualifiedName]v1.DeviceCapacity": "Device.capacity",
        "types.UID": "ResourceClaimConsumerReference.uid DeviceRequestAllocationResult.shareID",
        "v1.AllocationConfigSource": "DeviceAllocationConfiguration.source",
        "v1.DeviceAllocationMode": "ExactDeviceRequest.allocationMode DeviceSubRequest.allocationMode",
        "v1.DeviceTaintEffect": "DeviceTaint.effect DeviceToleration.effect",
        "v1.DeviceTolerationOperator": "DeviceToleration.operator",
        "v1.FullyQualifiedName": "DeviceConstraint.matchAttribute DeviceConstraint.distinctAttribute",
    },
    "scheduler/v1beta2": {
        "v1beta2.PodTopologySpreadConstraintsDefaulting": "PodTopologySpreadArgs.defaultingType",
        "v1beta2.ScoringStrategyType": "ScoringStrategy.type",
    },
    "scheduler/v1beta3": {
        "v1beta3.PodTopologySpreadConstraintsDefaulting": "PodTopologySpreadArgs.defaultingType",
        "v1beta3.ScoringStrategyType": "ScoringStrategy.type",
    },
    "scheduling/v1": {"v1.PreemptionPolicy": "PriorityClass.preemptionPolicy"},
    "storage": {
        "*vN.VolumeLifecycleMode": "CSIDriverSpec.volumeLifecycleModes",
        "vN.FSGroupPolicy": "CSIDriverSpec.fsGroupPolicy",
        "v1.PersistentVolumeReclaimPolicy": "StorageClass.reclaimPolicy",
        "vN.VolumeBindingMode": "StorageClass.volumeBindingMode",
    },
}
#: Named types that fields have from a release on, in the place of those of `_NAMED`.
_RENAMED: Final[dict[str, tuple[str, str]]] = {
    "v1.IPFamilyPolicyType": ("1.26", "v1.IPFamilyPolicy"),
    "v1.ServiceExternalTrafficPolicyType": ("1.26", "v1.ServiceExternalTrafficPolicy"),
    "v1.ServiceInternalTrafficPolicyType": ("1.26", "v1.ServiceInternalTrafficPolicy"),
}
#: The release from which on the path of a field in errors has the names of inlined structs.
_EMBEDDED_SINCE: Final = "1.35"
#: Go names of types that are no structs, where they differ.
SCALARS: Final = {
    "bytes": "[]uint8",
    "number": "float64",
    "int64ns": "time.Duration",
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "duration": "v1.Duration",
    "raw": "runtime.RawExtension",
    "fieldsv1": "v1.FieldsV1",
    "any": "v1.JSON",
}


@cache
def aliases(package: str) -> dict[str, str]:
    """The named value types of the fields of a package, by ``Type.field``, whose names may differ between dialects."""
    group, _, version = package.partition("/")
    named = _NAMED.get(package) or _NAMED.get(group, {})
    return {
        dialect(field): name.replace("vN.", f"{version}.")
        for name, fields in named.items()
        for field in fields.split()
        for dialect in DIALECTS.values()
    }


def alias(type: Type, field: str) -> str:
    """The named value type of a field of a built-in struct, "" if it has none."""
    package, _, short = type.name.rpartition(".")
    name = aliases(package).get(f"{short}.{field}", "")
    if not name:
        return next((alias(each.type, field) for each in type.members if each.inline and field in each.type.fields), "")
    since, later = _RENAMED.get(name, ("", name))
    return later if type.release is not None and type.release.includes(since) else name


def embedded(type: Type, field: str) -> Iterator[str]:
    """The names of the inlined structs through which a built-in struct has `field`, as its path in errors has them, the
    inner first."""
    if type.release is None or not type.release.includes(_EMBEDDED_SINCE):
        return
    for member in type.members:
        if member.inline and field in member.type.fields:
            yield from embedded(member.type, field)
            yield member.type.name.rpartition(".")[2]


def struct(type: Type) -> str:
    """The name of a struct: ``v1.PodSpec`` for ``core/v1.PodSpec``."""
    return type.name.rpartition("/")[2]


def format_type(type: Type, alias: str = "") -> str:
    """The name of a type in errors: ``[]v1.Container``, ``map[string]string``, ``v1.PullPolicy``."""
    if alias and not alias.startswith("*"):
        return alias
    if type.kind == "list":
        return "[]" + format_type(type.element, alias[1:])
    if type.kind == "map":
        return "map[string]" + format_type(type.element, alias[1:])
    return struct(type) if type.kind == "struct" else SCALARS.get(type.kind, type.kind)


def elements(alias: str) -> str:
    """The alias of the elements of a list or map by its own alias."""
    return alias.rpartition("]")[2] if alias.startswith("map[") else alias[1:] if alias.startswith("*") else ""


def split(type: Type, alias: str) -> tuple[str, str]:
    """The name of a list or map, and the alias of its elements."""
    return format_type(type, alias), elements(alias)
