"""Known values of strings, which documents list behind the feature gate OpenAPIEnums. Clients may send others:
validation decides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from orchd.kinds.release import Release

#: A value in a list of them; values with blanks and the empty one are in quotes.
VALUE: Final = re.compile(r'"[^"]*"|\S+')
#: ``TYPE.MEMBER`` -> the values, sorted; ``TYPE.MEMBER[]`` -> those of the items of a list or map.
VALUES: Final[dict[str, str]] = {
    "apps/v1.DaemonSetUpdateStrategy.type": "OnDelete RollingUpdate",
    "apps/v1.DeploymentStrategy.type": "Recreate RollingUpdate",
    "apps/v1.StatefulSetSpec.podManagementPolicy": "OrderedReady Parallel",
    "apps/v1.StatefulSetUpdateStrategy.type": "OnDelete RollingUpdate",
    "batch/v1.CronJobSpec.concurrencyPolicy": "Allow Forbid Replace",
    "batch/v1.JobCondition.type": "Complete Failed Suspended",
    "certificates/v1.CertificateSigningRequestCondition.type": "Approved Denied Failed",
    "core/v1.Container.imagePullPolicy": "Always IfNotPresent Never",
    "core/v1.Container.terminationMessagePolicy": "FallbackToLogsOnError File",
    "core/v1.ContainerPort.protocol": "SCTP TCP UDP",
    "core/v1.EndpointPort.protocol": "SCTP TCP UDP",
    "core/v1.EphemeralContainer.imagePullPolicy": "Always IfNotPresent Never",
    "core/v1.EphemeralContainer.terminationMessagePolicy": "FallbackToLogsOnError File",
    "core/v1.HTTPGetAction.scheme": "HTTP HTTPS",
    "core/v1.LimitRangeItem.type": "Container PersistentVolumeClaim Pod",
    "core/v1.NamespaceCondition.type": (
        "NamespaceContentRemaining NamespaceDeletionContentFailure NamespaceDeletionDiscoveryFailure "
        "NamespaceDeletionGroupVersionParsingFailure NamespaceFinalizersRemaining"
    ),
    "core/v1.NamespaceStatus.phase": "Active Terminating",
    "core/v1.NodeAddress.type": "ExternalDNS ExternalIP Hostname InternalDNS InternalIP",
    "core/v1.NodeCondition.type": "DiskPressure MemoryPressure NetworkUnavailable PIDPressure Ready",
    "core/v1.NodeSelectorRequirement.operator": "DoesNotExist Exists Gt In Lt NotIn",
    "core/v1.NodeStatus.phase": "Pending Running Terminated",
    "core/v1.PersistentVolumeClaimCondition.type": "FileSystemResizePending Resizing",
    "core/v1.PersistentVolumeClaimStatus.phase": "Bound Lost Pending",
    "core/v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy": "Delete Recycle Retain",
    "core/v1.PersistentVolumeStatus.phase": "Available Bound Failed Pending Released",
    "core/v1.PodCondition.type": "ContainersReady Initialized PodScheduled Ready",
    "core/v1.PodReadinessGate.conditionType": "ContainersReady Initialized PodScheduled Ready",
    "core/v1.PodSpec.dnsPolicy": "ClusterFirst ClusterFirstWithHostNet Default None",
    "core/v1.PodSpec.restartPolicy": "Always Never OnFailure",
    "core/v1.PodStatus.phase": "Failed Pending Running Succeeded Unknown",
    "core/v1.PodStatus.qosClass": "BestEffort Burstable Guaranteed",
    "core/v1.PortStatus.protocol": "SCTP TCP UDP",
    "core/v1.ScopedResourceSelectorRequirement.operator": "DoesNotExist Exists In NotIn",
    "core/v1.ScopedResourceSelectorRequirement.scopeName": (
        "BestEffort CrossNamespacePodAffinity NotBestEffort NotTerminating PriorityClass Terminating"
    ),
    "core/v1.SeccompProfile.type": "Localhost RuntimeDefault Unconfined",
    "core/v1.ServicePort.protocol": "SCTP TCP UDP",
    "core/v1.ServiceSpec.externalTrafficPolicy": "Cluster Local",
    "core/v1.ServiceSpec.sessionAffinity": "ClientIP None",
    "core/v1.ServiceSpec.type": "ClusterIP ExternalName LoadBalancer NodePort",
    "core/v1.Taint.effect": "NoExecute NoSchedule PreferNoSchedule",
    "core/v1.Toleration.effect": "NoExecute NoSchedule PreferNoSchedule",
    "core/v1.Toleration.operator": "Equal Exists",
    "core/v1.TopologySpreadConstraint.whenUnsatisfiable": "DoNotSchedule ScheduleAnyway",
    "discovery/v1.EndpointSlice.addressType": "FQDN IPv4 IPv6",
}
#: Those of later releases that differ; "": the values of the member are not listed.
_LATER: Final[dict[str, str]] = {
    "admissionregistration/v1.MatchResources.matchPolicy": "Equivalent Exact",
    "admissionregistration/v1.MutatingWebhook.failurePolicy": "Fail Ignore",
    "admissionregistration/v1.MutatingWebhook.matchPolicy": "Equivalent Exact",
    "admissionregistration/v1.MutatingWebhook.reinvocationPolicy": "IfNeeded Never",
    "admissionregistration/v1.MutatingWebhook.sideEffects": "None NoneOnDryRun Some Unknown",
    "admissionregistration/v1.NamedRuleWithOperations.scope": "* Cluster Namespaced",
    "admissionregistration/v1.RuleWithOperations.scope": "* Cluster Namespaced",
    "admissionregistration/v1.ValidatingAdmissionPolicySpec.failurePolicy": "Fail Ignore",
    "admissionregistration/v1.ValidatingWebhook.failurePolicy": "Fail Ignore",
    "admissionregistration/v1.ValidatingWebhook.matchPolicy": "Equivalent Exact",
    "admissionregistration/v1.ValidatingWebhook.sideEffects": "None NoneOnDryRun Some Unknown",
    "batch/v1.JobCondition.type": "",
    "batch/v1.JobSpec.completionMode": "Indexed NonIndexed",
    "batch/v1.JobSpec.podReplacementPolicy": "Failed TerminatingOrFailed",
    "batch/v1.PodFailurePolicyOnExitCodesRequirement.operator": "In NotIn",
    "batch/v1.PodFailurePolicyRule.action": "Count FailIndex FailJob Ignore",
    "certificates/v1.CertificateSigningRequestCondition.type": "",
    "core/v1.AppArmorProfile.type": "Localhost RuntimeDefault Unconfined",
    "core/v1.AzureDiskVolumeSource.cachingMode": "None ReadOnly ReadWrite",
    "core/v1.AzureDiskVolumeSource.kind": "Dedicated Managed Shared",
    "core/v1.ContainerStatus.stopSignal": "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL "
    "SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMAX-1 SIGRTMAX-10 "
    "SIGRTMAX-11 SIGRTMAX-12 SIGRTMAX-13 SIGRTMAX-14 SIGRTMAX-2 SIGRTMAX-3 SIGRTMAX-4 SIGRTMAX-5 "
    "SIGRTMAX-6 SIGRTMAX-7 SIGRTMAX-8 SIGRTMAX-9 SIGRTMIN SIGRTMIN+1 SIGRTMIN+10 SIGRTMIN+11 "
    "SIGRTMIN+12 SIGRTMIN+13 SIGRTMIN+14 SIGRTMIN+15 SIGRTMIN+2 SIGRTMIN+3 SIGRTMIN+4 SIGRTMIN+5 "
    "SIGRTMIN+6 SIGRTMIN+7 SIGRTMIN+8 SIGRTMIN+9 SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM "
    "SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ",
    "core/v1.HostPathVolumeSource.type": '"" BlockDevice CharDevice Directory DirectoryOrCreate File '
    "FileOrCreate Socket",
    "core/v1.ImageVolumeSource.pullPolicy": "Always IfNotPresent Never",
    "core/v1.Lifecycle.stopSignal": "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT "
    "SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMAX-1 SIGRTMAX-10 "
    "SIGRTMAX-11 SIGRTMAX-12 SIGRTMAX-13 SIGRTMAX-14 SIGRTMAX-2 SIGRTMAX-3 SIGRTMAX-4 SIGRTMAX-5 "
    "SIGRTMAX-6 SIGRTMAX-7 SIGRTMAX-8 SIGRTMAX-9 SIGRTMIN SIGRTMIN+1 SIGRTMIN+10 SIGRTMIN+11 "
    "SIGRTMIN+12 SIGRTMIN+13 SIGRTMIN+14 SIGRTMIN+15 SIGRTMIN+2 SIGRTMIN+3 SIGRTMIN+4 SIGRTMIN+5 "
    "SIGRTMIN+6 SIGRTMIN+7 SIGRTMIN+8 SIGRTMIN+9 SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM "
    "SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ",
    "core/v1.LimitRangeItem.type": "",
    "core/v1.ModifyVolumeStatus.status": "InProgress Infeasible Pending",
    "core/v1.NamespaceCondition.type": "",
    "core/v1.NodeAddress.type": "",
    "core/v1.NodeCondition.type": "",
    "core/v1.PersistentVolumeClaimCondition.type": "",
    "core/v1.PersistentVolumeClaimSpec.volumeMode": "Block Filesystem",
    "core/v1.PersistentVolumeSpec.volumeMode": "Block Filesystem",
    "core/v1.PodCondition.type": "",
    "core/v1.PodReadinessGate.conditionType": "",
    "core/v1.PodSecurityContext.fsGroupChangePolicy": "Always OnRootMismatch",
    "core/v1.PodSecurityContext.supplementalGroupsPolicy": "Merge Strict",
    "core/v1.PodSpec.preemptionPolicy": "Never PreemptLowerPriority",
    "core/v1.ScopedResourceSelectorRequirement.scopeName": "BestEffort CrossNamespacePodAffinity NotBestEffort "
    "NotTerminating PriorityClass Terminating VolumeAttributesClass",
    "core/v1.SecurityContext.procMount": "Default Unmasked",
    "core/v1.ServiceSpec.internalTrafficPolicy": "Cluster Local",
    "core/v1.ServiceSpec.ipFamilyPolicy": "PreferDualStack RequireDualStack SingleStack",
    "core/v1.Toleration.operator": "Equal Exists Gt Lt",
    "core/v1.TopologySpreadConstraint.nodeAffinityPolicy": "Honor Ignore",
    "core/v1.TopologySpreadConstraint.nodeTaintsPolicy": "Honor Ignore",
    "core/v1.VolumeMount.mountPropagation": "Bidirectional HostToContainer None",
    "discovery/v1.EndpointPort.protocol": "SCTP TCP UDP",
    "networking/v1.HTTPIngressPath.pathType": "Exact ImplementationSpecific Prefix",
    "networking/v1.IngressPortStatus.protocol": "SCTP TCP UDP",
    "networking/v1.NetworkPolicyPort.protocol": "SCTP TCP UDP",
    "policy/v1.PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": "AlwaysAllow IfHealthyBudget",
    "resource/v1.DeviceAllocationConfiguration.source": "FromClaim FromClass",
    "resource/v1.DeviceSubRequest.allocationMode": "All ExactCount",
    "resource/v1.DeviceTaint.effect": "NoExecute NoSchedule None",
    "resource/v1.DeviceToleration.effect": "NoExecute NoSchedule None",
    "resource/v1.DeviceToleration.operator": "Equal Exists",
    "resource/v1.ExactDeviceRequest.allocationMode": "All ExactCount",
    "scheduling/v1.PriorityClass.preemptionPolicy": "Never PreemptLowerPriority",
    "storage/v1.StorageClass.reclaimPolicy": "Delete Recycle Retain",
    "storage/v1.StorageClass.volumeBindingMode": "Immediate WaitForFirstConsumer",
    "admissionregistration/v1.NamedRuleWithOperations.operations[]": "* CONNECT CREATE DELETE UPDATE",
    "admissionregistration/v1.RuleWithOperations.operations[]": "* CONNECT CREATE DELETE UPDATE",
    "admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec.validationActions[]": "Audit Deny Warn",
    "certificates/v1.CertificateSigningRequestSpec.usages[]": 'any "cert sign" "client auth" "code signing" '
    '"content commitment" "crl sign" "data encipherment" "decipher only" "digital signature" "email '
    'protection" "encipher only" "ipsec end system" "ipsec tunnel" "ipsec user" "key agreement" "key '
    'encipherment" "microsoft sgc" "netscape sgc" "ocsp signing" s/mime "server auth" signing timestamping',
    "core/v1.PersistentVolumeClaimSpec.accessModes[]": "ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod",
    "core/v1.PersistentVolumeClaimStatus.accessModes[]": "ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod",
    "core/v1.PersistentVolumeClaimStatus.allocatedResourceStatuses[]": "ControllerResizeInProgress ControllerResizeInfeasible "
    "NodeResizeInProgress NodeResizeInfeasible NodeResizePending",
    "core/v1.PersistentVolumeSpec.accessModes[]": "ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod",
    "core/v1.ResourceQuotaSpec.scopes[]": "BestEffort CrossNamespacePodAffinity NotBestEffort NotTerminating "
    "PriorityClass Terminating VolumeAttributesClass",
    "core/v1.ServiceSpec.ipFamilies[]": '"" IPv4 IPv6',
    "networking/v1.NetworkPolicySpec.policyTypes[]": "Egress Ingress",
    "apiextensions/v1.ValidationRule.reason": "FieldValueDuplicate FieldValueForbidden FieldValueInvalid "
    "FieldValueRequired",
}


def values_of(release: Release) -> Mapping[str, str]:
    """``TYPE.MEMBER`` -> the values in a release, sorted."""
    return release.choose((("", VALUES), ("1.35", {**VALUES, **_LATER})))
