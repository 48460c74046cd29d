"""Names that flags select from: admission plugins, authorizers and controllers of release 1.23, in the reference's order."""

from typing import Final

#: Admission plugins in running order.
ADMISSION_PLUGINS: Final = (
    "AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists", "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology", "LimitRanger", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "AlwaysPullImages", "ImagePolicyWebhook", "PodSecurity", "PodSecurityPolicy", "PodNodeSelector", "Priority",
    "DefaultTolerationSeconds", "PodTolerationRestriction", "DenyEscalatingExec", "DenyExecOnPrivileged", "EventRateLimit",
    "ExtendedResourceToleration", "PersistentVolumeLabel", "DefaultStorageClass", "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval",
    "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass", "DenyServiceExternalIPs",
    "PodTopologyLabels", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
    "AlwaysDeny",
)

#: Admission plugins that are enabled by default.
DEFAULT_ADMISSION_PLUGINS: Final = frozenset((
    "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
    "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
    "CertificateSubjectRestriction", "DefaultIngressClass", "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook", "ResourceQuota",
))

#: Admission plugins of later releases, enabled by default, and the first release with each.
LATER_ADMISSION_PLUGINS: Final = {"PodTopologyLabels": "1.35", "ValidatingAdmissionPolicy": "1.30"}

#: Admission plugins that are gone, and the first release without each.
FORMER_ADMISSION_PLUGINS: Final = {
    "DenyEscalatingExec": "1.24", "DenyExecOnPrivileged": "1.24", "PersistentVolumeLabel": "1.31", "PodSecurityPolicy": "1.25",
    "SecurityContextDeny": "1.30",
}

#: Admission plugins whose use is warned about.
DEPRECATED_ADMISSION_PLUGINS: Final = frozenset((
    "AlwaysAdmit", "AlwaysDeny", "DenyEscalatingExec", "DenyExecOnPrivileged", "PersistentVolumeLabel", "PodSecurityPolicy",
))

AUTHORIZERS: Final = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")

CONTROLLERS: Final = tuple("attachdetach bootstrapsigner cloud-node-lifecycle clusterrole-aggregation cronjob csrapproving csrcleaner "
    "csrsigning daemonset deployment disruption endpoint endpointslice endpointslicemirroring ephemeral-volume "
    "garbagecollector horizontalpodautoscaling job legacy-service-account-token-cleaner namespace nodeipam "
    "nodelifecycle persistentvolume-binder persistentvolume-expander podgc pv-protection pvc-protection replicaset "
    "replicationcontroller resourceclaim-controller resourcequota root-ca-cert-publisher route service "
    "service-cidr-controller serviceaccount serviceaccount-token statefulset taint-eviction-controller tokencleaner "
    "ttl ttl-after-finished validatingadmissionpolicy-status-controller volumeattributesclass-protection-controller".split())

#: Controllers of later releases, and the first release with each.
LATER_CONTROLLERS: Final = {
    "legacy-service-account-token-cleaner": "1.28",
    "resourceclaim-controller": "1.34",
    "taint-eviction-controller": "1.29",
    "validatingadmissionpolicy-status-controller": "1.30",
    "service-cidr-controller": "1.33",
    "volumeattributesclass-protection-controller": "1.35",
}

#: The first release in which controllers have the names below, and these with the names that they had before, which stay valid.
CONTROLLERS_RENAMED: Final = "1.28"
LATER_CONTROLLER_NAMES: Final = {
    "bootstrap-signer-controller": "bootstrapsigner",
    "certificatesigningrequest-approving-controller": "csrapproving",
    "certificatesigningrequest-cleaner-controller": "csrcleaner",
    "certificatesigningrequest-signing-controller": "csrsigning",
    "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
    "clusterrole-aggregation-controller": "clusterrole-aggregation",
    "cronjob-controller": "cronjob",
    "daemonset-controller": "daemonset",
    "deployment-controller": "deployment",
    "disruption-controller": "disruption",
    "endpoints-controller": "endpoint",
    "endpointslice-controller": "endpointslice",
    "endpointslice-mirroring-controller": "endpointslicemirroring",
    "ephemeral-volume-controller": "ephemeral-volume",
    "garbage-collector-controller": "garbagecollector",
    "horizontal-pod-autoscaler-controller": "horizontalpodautoscaling",
    "job-controller": "job",
    "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
    "namespace-controller": "namespace",
    "node-ipam-controller": "nodeipam",
    "node-lifecycle-controller": "nodelifecycle",
    "node-route-controller": "route",
    "persistentvolume-attach-detach-controller": "attachdetach",
    "persistentvolume-binder-controller": "persistentvolume-binder",
    "persistentvolume-expander-controller": "persistentvolume-expander",
    "persistentvolume-protection-controller": "pv-protection",
    "persistentvolumeclaim-protection-controller": "pvc-protection",
    "pod-garbage-collector-controller": "podgc",
    "replicaset-controller": "replicaset",
    "replicationcontroller-controller": "replicationcontroller",
    "resourcequota-controller": "resourcequota",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "service-lb-controller": "service",
    "serviceaccount-controller": "serviceaccount",
    "serviceaccount-token-controller": "serviceaccount-token",
    "statefulset-controller": "statefulset",
    "token-cleaner-controller": "tokencleaner",
    "ttl-after-finished-controller": "ttl-after-finished",
    "ttl-controller": "ttl",
}

#: Controllers that `*` does not enable.
CONTROLLERS_OFF_BY_DEFAULT: Final = frozenset(("bootstrapsigner", "tokencleaner"))

#: Controllers of the reference that are not implemented.
CONTROLLERS_NOT_BUILT: Final = frozenset(("cloud-node-lifecycle",))

#: Controllers that are implemented.
CONTROLLERS_BUILT: Final = tuple(name for name in CONTROLLERS if name not in CONTROLLERS_NOT_BUILT)
