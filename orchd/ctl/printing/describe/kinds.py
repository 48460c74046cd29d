"""Descriptions by kind: one function per kind that has fields worth more than their names."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import Final

from orchd.ctl.printing.describe import cluster, network, policies, storage, workloads
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


async def _config_map(sheet: Sheet, obj: Object, related: Related) -> None:
    """Keys as they are, and texts with all their lines."""
    sheet.head(obj)
    sheet.line("\nData\n====")
    for key, text in sorted((obj.get("data") or {}).items()):
        sheet.line(f"{key}:\n----\n{text}\n")
    sheet.line("\nBinaryData\n====")
    for key, text in sorted((obj.get("binaryData") or {}).items()):
        sheet.line(f"{key}: {len(b64decode(text))} bytes")
    sheet.line()


async def _secret(sheet: Sheet, obj: Object, related: Related) -> None:
    """Sizes of values; of values only the tokens of service accounts."""
    sheet.head(obj)
    sheet.line(f"\nType:\t{obj.get('type', '')}\n\nData\n====")
    token = obj.get("type") == related.dialect("{long}.io/service-account-token")
    for key, text in sorted((obj.get("data") or {}).items()):
        value = b64decode(text)
        sheet.row(key, value.decode("utf-8", "replace") if token and key == "token" else f"{len(value)} bytes")


#: Adds what is to be said about an object, but its Events.
Section = Callable[[Sheet, Object, Related], Awaitable[None]]
_SECTIONS: Final[dict[str, dict[str, Section]]] = {
    "": {
        "ConfigMap": _config_map, "Endpoints": network.endpoints, "LimitRange": cluster.limit_range,
        "Namespace": cluster.namespace, "Node": cluster.node, "PersistentVolume": storage.persistent_volume,
        "PersistentVolumeClaim": storage.persistent_volume_claim, "Pod": workloads.pod,
        "ReplicationController": workloads.replica_set, "ResourceQuota": cluster.resource_quota, "Secret": _secret,
        "Service": network.service, "ServiceAccount": policies.service_account,
    },
    "apps": {
        "DaemonSet": workloads.daemon_set, "Deployment": workloads.deployment, "ReplicaSet": workloads.replica_set,
        "StatefulSet": workloads.stateful_set,
    },
    "autoscaling": {"HorizontalPodAutoscaler": policies.autoscaler},
    "batch": {"CronJob": workloads.cron_job, "Job": workloads.job},
    "certificates.{abbr}.io": {"CertificateSigningRequest": cluster.signing_request},
    "discovery.{abbr}.io": {"EndpointSlice": network.endpoint_slice},
    "networking.{abbr}.io": {
        "IPAddress": network.ip_address, "Ingress": network.ingress, "IngressClass": network.ingress_class,
        "NetworkPolicy": network.network_policy, "ServiceCIDR": network.service_cidr,
    },
    "policy": {"PodDisruptionBudget": policies.disruption_budget},
    "rbac.authorization.{abbr}.io": {
        "ClusterRole": policies.role, "ClusterRoleBinding": policies.role_binding, "Role": policies.role,
        "RoleBinding": policies.role_binding,
    },
    "scheduling.{abbr}.io": {"PriorityClass": cluster.priority_class},
    "storage.{abbr}.io": {
        "CSINode": storage.csi_node, "StorageClass": storage.storage_class,
        "VolumeAttributesClass": storage.volume_attributes_class,
    },
}  # fmt: skip
#: Kinds whose Events are not shown.
WITHOUT_EVENTS: Final = frozenset(
    (
        "ClusterRole",
        "ClusterRoleBinding",
        "LimitRange",
        "Namespace",
        "NetworkPolicy",
        "ResourceQuota",
        "Role",
        "RoleBinding",
        "Secret",
    )
)


def section_of(group: str, kind: str, dialect: Dialect) -> Section | None:
    """The description of a kind; None if its fields are listed as they are."""
    return next((kinds.get(kind) for name, kinds in _SECTIONS.items() if dialect(name) == group), None)
