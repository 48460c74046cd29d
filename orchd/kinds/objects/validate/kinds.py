"""Which rules a kind has: data that `dispatch` reads.

Groups are named without the dialect's domain. Rules are functions of `module` unless they name another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Rules:
    """`create` and `update` name functions of `module`; `subresources` those for updates through a subresource.

    `name` is the form of names. `own_metadata` says that the kind's rules look at the metadata, `stored` that there is an
    object at all.
    """

    module: str
    create: str = ""
    update: str = ""
    subresources: Mapping[str, str] = field(default_factory=dict)
    name: str = "subdomain"
    own_metadata: bool = True
    stored: bool = True


_META: Final = "batch.update_meta_only"

KINDS: Final[dict[str, Rules]] = {
    "/Pod": Rules(
        "core.pods", "create", "core.podupdates.update",
        {
            "status": "core.podupdates.update_status", "ephemeralcontainers": "core.podupdates.update_ephemeral",
            "resize": "core.podupdates.update",
        },
    ),
    "/PodTemplate": Rules("core.other_kinds", "create_pod_template", "update_pod_template"),
    "/Binding": Rules("core.other_kinds", "create_binding", stored=False),
    "/Namespace": Rules(
        "core.other_kinds", "create_namespace", "update_namespace",
        {"status": "update_namespace_status", "finalize": "finalize_namespace"}, name="label",
    ),
    "/ServiceAccount": Rules("core.other_kinds", "create_service_account", "update_service_account"),
    "/Service": Rules("core.services", "create", "update", {"status": "update_status"}, name="1035"),
    "/Endpoints": Rules("core.endpoints", "create", "update"),
    "/Event": Rules("core.events", "create", "update", own_metadata=False),
    "/Secret": Rules("core.secrets", "create", "update"),
    "/ConfigMap": Rules("core.secrets", "create_config_map", "update_config_map"),
    "/LimitRange": Rules("core.limits", "create_range", "update_range"),
    "/ResourceQuota": Rules("core.limits", "create_quota", "update_quota", {"status": "update_quota_status"}),
    "/Node": Rules("core.nodes", "create", "update", {"status": "update_status"}),
    "/PersistentVolume": Rules("core.persistentvolumes", "create", "update", {"status": "update_status"}),
    "/PersistentVolumeClaim": Rules("core.claims", "create", "update", {"status": "update_status"}),
    "/ReplicationController": Rules(
        "apps", "create_replication_controller", "update_replication_controller", {"status": "update_replica_set_status"},
    ),
    "apps/Deployment": Rules("apps", "create_deployment", "update_deployment", {"status": "update_deployment_status"}),
    "apps/ReplicaSet": Rules("apps", "create_replica_set", "update_replica_set", {"status": "update_replica_set_status"}),
    "apps/DaemonSet": Rules("apps", "create_daemon_set", "update_daemon_set", {"status": "update_daemon_set_status"}),
    "apps/StatefulSet": Rules(
        "apps", "create_stateful_set", "update_stateful_set", {"status": "update_stateful_set_status"},
    ),
    "apps/ControllerRevision": Rules("apps", "create_controller_revision", "update_controller_revision"),
    "batch/Job": Rules("batch", "create_job", "update_job", {"status": "update_job_status"}),
    "batch/CronJob": Rules("batch", "create_cron_job", "update_cron_job"),
    "autoscaling/HorizontalPodAutoscaler": Rules("autoscaling", "create", "update", {"status": "update_status"}),
    "autoscaling/Scale": Rules("autoscaling", "scale", "update_scale", stored=False),
    "policy/PodDisruptionBudget": Rules(
        "policy", "create_budget", "update_budget", {"status": "update_budget_status"}, own_metadata=False,
    ),
    "policy/v1beta1/PodDisruptionBudget": Rules(
        "policy", "create_budget", "update_budget", {"status": "update_budget_conditions"}, own_metadata=False,
    ),
    "policy/PodSecurityPolicy": Rules("securitypolicies", "create", "update"),
    "networking/NetworkPolicy": Rules("networking", "create_policy", "update_policy", {"status": _META}),
    "networking/Ingress": Rules("networking", "create_ingress", "update_ingress", {"status": "update_ingress_status"}),
    "networking/IngressClass": Rules("networking", "create_class", "update_class"),
    "rbac.authorization/Role": Rules("rbac", "create_role", "update_role", name="path"),
    "rbac.authorization/ClusterRole": Rules("rbac", "create_cluster_role", "update_cluster_role", name="path"),
    "rbac.authorization/RoleBinding": Rules("rbac", "create_binding", "update_binding", name="path"),
    "rbac.authorization/ClusterRoleBinding": Rules(
        "rbac", "create_cluster_binding", "update_cluster_binding", name="path",
    ),
    "storage/StorageClass": Rules("storage", "create_class", "update_class"),
    "storage/VolumeAttachment": Rules(
        "storage", "create_attachment", "update_attachment", {"status": "update_attachment"},
    ),
    "storage/CSIDriver": Rules("storage", "create_driver", "update_driver"),
    "storage/CSINode": Rules("storage", "create_csi_node", "update_csi_node"),
    "storage/CSIStorageCapacity": Rules("storage", "create_capacity", "update_capacity"),
    "scheduling/PriorityClass": Rules("single_kind_groups", "create_priority_class", "update_priority_class"),
    "coordination/Lease": Rules("single_kind_groups", "create_lease", "update_lease"),
    "node/RuntimeClass": Rules("single_kind_groups", "create_runtime_class", "update_runtime_class"),
    "discovery/EndpointSlice": Rules("single_kind_groups", "create_slice", "update_slice"),
    "events/v1beta1/Event": Rules("core.events", "create", "update", own_metadata=False),
    "events/Event": Rules("core.events", "create_strict", "update", own_metadata=False),
    "flowcontrol.apiserver/FlowSchema": Rules(
        "flowcontrol", "create_schema", "update_schema", {"status": "update_status"},
    ),
    "flowcontrol.apiserver/PriorityLevelConfiguration": Rules(
        "flowcontrol", "create_level", "update_level", {"status": "update_status"},
    ),
    "certificates/CertificateSigningRequest": Rules(
        "certificates", "create", "update", {"approval": "update_approval", "status": "update_status"}, name="path",
    ),
    "admissionregistration/ValidatingWebhookConfiguration": Rules("admissionregistration", "create", "update"),
    "admissionregistration/MutatingWebhookConfiguration": Rules("admissionregistration", "create", "update"),
    "apiregistration/APIService": Rules("apiregistration", "create", "update", {"status": "update_status"}, name="path"),
    "apiextensions/CustomResourceDefinition": Rules("apiextensions", "create", "update", {"status": "update_status"}),
    "authorization/SubjectAccessReview": Rules("reviews", "access_review", stored=False),
    "authorization/SelfSubjectAccessReview": Rules("reviews", "self_access_review", stored=False),
    "authorization/LocalSubjectAccessReview": Rules("reviews", "local_access_review", stored=False),
}
