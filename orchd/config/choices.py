"""Words that flags choose from: admission plugins, authorizers, controllers of release 1.23, in the reference's order."""

from typing import Final

#: Admission plugins in running order.
ADMISSION_PLUGINS: Final = (
    "AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists", "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology", "LimitRanger", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "AlwaysPullImages", "ImagePolicyWebhook", "PodSecurity", "PodSecurityPolicy", "PodNodeSelector", "Priority",
    "DefaultTolerationSeconds", "PodTolerationRestriction", "EventRateLimit", "ExtendedResourceToleration",
    "PersistentVolumeLabel", "DefaultStorageClass", "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval",
    "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass", "DenyServiceExternalIPs",
    "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ResourceQuota", "AlwaysDeny",
)

#: Those that run unless they are turned off.
DEFAULT_ADMISSION_PLUGINS: Final = frozenset((
    "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
    "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
    "CertificateSubjectRestriction", "DefaultIngressClass", "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook", "ResourceQuota",
))

AUTHORIZERS: Final = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")

CONTROLLERS: Final = (
    "attachdetach", "bootstrapsigner", "cloud-node-lifecycle", "clusterrole-aggregation", "cronjob", "csrapproving",
    "csrcleaner", "csrsigning", "daemonset", "deployment", "disruption", "endpoint", "endpointslice",
    "endpointslicemirroring", "ephemeral-volume", "garbagecollector", "horizontalpodautoscaling", "job",
    "namespace", "nodeipam", "nodelifecycle", "persistentvolume-binder", "persistentvolume-expander", "podgc",
    "pv-protection", "pvc-protection", "replicaset", "replicationcontroller", "resourcequota",
    "root-ca-cert-publisher", "route", "service", "serviceaccount", "serviceaccount-token", "statefulset",
    "tokencleaner", "ttl", "ttl-after-finished",
)

#: Controllers that `*` does not start.
CONTROLLERS_OFF_BY_DEFAULT: Final = frozenset(("bootstrapsigner", "tokencleaner"))

#: Controllers that exist here.
CONTROLLERS_BUILT: Final = (
    "clusterrole-aggregation", "cronjob", "daemonset", "deployment", "disruption", "endpoint", "endpointslice",
    "endpointslicemirroring", "garbagecollector", "horizontalpodautoscaling", "job", "namespace", "podgc",
    "replicaset", "replicationcontroller", "resourcequota", "root-ca-cert-publisher", "serviceaccount", "serviceaccount-token",
    "statefulset", "ttl-after-finished",
)
