"""Known values of strings, which documents list behind the feature gate OpenAPIEnums. Clients may send others: validation decides."""

from __future__ import annotations

from typing import Final

#: ``TYPE.MEMBER`` -> the values, sorted.
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
