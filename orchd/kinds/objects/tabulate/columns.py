"""Which columns each built-in kind has, and which function fills them; facts of release 1.23.

A column is ``Name``, with ``|name`` for a format, ``|integer``, ``|boolean`` or ``|date`` for a type that is not
string, and ``|wide`` where it is shown only on request (priority 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchd.kinds.objects.tabulate import core, network, pods, policies, storage, workloads
from orchd.kinds.objects.tabulate.text import Cells, Json, Printing

Printer = Callable[[Json, Printing], Cells]

#: (group template, resource) -> printer and columns; every version of a resource has the same.
PRINTERS: Final[dict[tuple[str, str], tuple[Printer, tuple[str, ...]]]] = {
    ("", "componentstatuses"): (core.component_status, ("Name|name", "Status", "Message", "Error")),
    ("", "configmaps"): (core.config_map, ("Name|name", "Data", "Age")),
    ("", "endpoints"): (network.endpoints, ("Name|name", "Endpoints", "Age")),
    ("", "events"): (
        core.event,
        (
            "Last Seen", "Type", "Reason", "Object", "Subobject|wide", "Source|wide", "Message", "First Seen|wide",
            "Count|wide", "Name|name|wide",
        ),
    ),
    ("", "limitranges"): (policies.created, ("Name|name", "Created At|date")),
    ("", "namespaces"): (core.namespace, ("Name|name", "Status", "Age")),
    ("", "nodes"): (
        core.node,
        (
            "Name|name", "Status", "Roles", "Age", "Version", "Internal-IP|wide", "External-IP|wide",
            "OS-Image|wide", "Kernel-Version|wide", "Container-Runtime|wide",
        ),
    ),
    ("", "persistentvolumeclaims"): (
        storage.claim,
        (
            "Name|name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "Age", "VolumeMode|wide",
        ),
    ),
    ("", "persistentvolumes"): (
        storage.volume,
        (
            "Name|name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass", "Reason",
            "Age", "VolumeMode|wide",
        ),
    ),
    ("", "pods"): (
        pods.cells,
        (
            "Name|name", "Ready", "Status", "Restarts", "Age", "IP|wide", "Node|wide", "Nominated Node|wide",
            "Readiness Gates|wide",
        ),
    ),
    ("", "podtemplates"): (workloads.pod_template, ("Name|name", "Containers", "Images", "Pod Labels")),
    ("", "replicationcontrollers"): (
        workloads.replication_controller,
        (
            "Name|name", "Desired|integer", "Current|integer", "Ready|integer", "Age", "Containers|wide",
            "Images|wide", "Selector|wide",
        ),
    ),
    ("", "resourcequotas"): (core.resource_quota, ("Name|name", "Age", "Request", "Limit")),
    ("", "secrets"): (core.secret, ("Name|name", "Type", "Data", "Age")),
    ("", "serviceaccounts"): (core.service_account, ("Name|name", "Secrets", "Age")),
    ("", "services"): (
        network.service,
        (
            "Name|name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector|wide",
        ),
    ),
    ("admissionregistration.{abbr}.io", "mutatingwebhookconfigurations"): (
        policies.webhook_configuration, ("Name|name", "Webhooks|integer", "Age"),
    ),
    ("admissionregistration.{abbr}.io", "validatingwebhookconfigurations"): (
        policies.webhook_configuration, ("Name|name", "Webhooks|integer", "Age"),
    ),
    ("apiextensions.{abbr}.io", "customresourcedefinitions"): (policies.created, ("Name|name", "Created At|date")),
    ("apiregistration.{abbr}.io", "apiservices"): (
        policies.api_service, ("Name|name", "Service", "Available", "Age"),
    ),
    ("apps", "controllerrevisions"): (workloads.controller_revision, ("Name|name", "Controller", "Revision", "Age")),
    ("apps", "daemonsets"): (
        workloads.daemon_set,
        (
            "Name|name", "Desired|integer", "Current|integer", "Ready|integer", "Up-to-date|integer",
            "Available|integer", "Node Selector", "Age", "Containers|wide", "Images|wide", "Selector|wide",
        ),
    ),
    ("apps", "deployments"): (
        workloads.deployment,
        (
            "Name|name", "Ready", "Up-to-date", "Available", "Age", "Containers|wide", "Images|wide",
            "Selector|wide",
        ),
    ),
    ("apps", "replicasets"): (
        workloads.replica_set,
        (
            "Name|name", "Desired|integer", "Current|integer", "Ready|integer", "Age", "Containers|wide",
            "Images|wide", "Selector|wide",
        ),
    ),
    ("apps", "statefulsets"): (
        workloads.stateful_set,
        (
            "Name|name", "Ready", "Age", "Containers|wide", "Images|wide",
        ),
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        workloads.autoscaler,
        (
            "Name|name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age",
        ),
    ),
    ("batch", "cronjobs"): (
        workloads.cron_job,
        (
            "Name|name", "Schedule", "Suspend|boolean", "Active|integer", "Last Schedule", "Age",
            "Containers|wide", "Images|wide", "Selector|wide",
        ),
    ),
    ("batch", "jobs"): (
        workloads.job,
        (
            "Name|name", "Completions", "Duration", "Age", "Containers|wide", "Images|wide", "Selector|wide",
        ),
    ),
    ("certificates.{abbr}.io", "certificatesigningrequests"): (
        policies.signing_request,
        (
            "Name|name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition",
        ),
    ),
    ("coordination.{abbr}.io", "leases"): (policies.lease, ("Name|name", "Holder", "Age")),
    ("discovery.{abbr}.io", "endpointslices"): (
        network.endpoint_slice, ("Name|name", "AddressType", "Ports", "Endpoints", "Age"),
    ),
    ("events.{abbr}.io", "events"): (
        core.event,
        (
            "Last Seen", "Type", "Reason", "Object", "Subobject|wide", "Source|wide", "Message", "First Seen|wide",
            "Count|wide", "Name|name|wide",
        ),
    ),
    ("flowcontrol.apiserver.{abbr}.io", "flowschemas"): (
        policies.flow_schema,
        (
            "Name|name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL",
        ),
    ),
    ("flowcontrol.apiserver.{abbr}.io", "prioritylevelconfigurations"): (
        policies.priority_level,
        (
            "Name|name", "Type", "AssuredConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age",
        ),
    ),
    ("internal.apiserver.{abbr}.io", "storageversions"): (
        policies.storage_version,
        (
            "Name|name", "CommonEncodingVersion", "StorageVersions", "Age",
        ),
    ),
    ("networking.{abbr}.io", "ingressclasses"): (
        network.ingress_class, ("Name|name", "Controller", "Parameters", "Age"),
    ),
    ("networking.{abbr}.io", "ingresses"): (
        network.ingress, ("Name|name", "Class", "Hosts", "Address", "Ports", "Age"),
    ),
    ("networking.{abbr}.io", "networkpolicies"): (network.network_policy, ("Name|name", "Pod-Selector", "Age")),
    ("node.{abbr}.io", "runtimeclasses"): (policies.runtime_class, ("Name|name", "Handler", "Age")),
    ("policy", "poddisruptionbudgets"): (
        workloads.disruption_budget,
        (
            "Name|name", "Min Available", "Max Unavailable", "Allowed Disruptions|integer", "Age",
        ),
    ),
    ("policy", "podsecuritypolicies"): (
        policies.pod_security_policy,
        (
            "Name|name", "Priv", "Caps", "SELinux", "RunAsUser", "FsGroup", "SupGroup", "ReadOnlyRootFs",
            "Volumes",
        ),
    ),
    ("rbac.authorization.{abbr}.io", "clusterrolebindings"): (
        policies.role_binding,
        (
            "Name|name", "Role", "Age", "Users|wide", "Groups|wide", "ServiceAccounts|wide",
        ),
    ),
    ("rbac.authorization.{abbr}.io", "clusterroles"): (policies.created, ("Name|name", "Created At|date")),
    ("rbac.authorization.{abbr}.io", "rolebindings"): (
        policies.role_binding,
        (
            "Name|name", "Role", "Age", "Users|wide", "Groups|wide", "ServiceAccounts|wide",
        ),
    ),
    ("rbac.authorization.{abbr}.io", "roles"): (policies.created, ("Name|name", "Created At|date")),
    ("scheduling.{abbr}.io", "priorityclasses"): (
        policies.priority_class,
        (
            "Name|name", "Value|integer", "Global-Default|boolean", "Age",
        ),
    ),
    ("storage.{abbr}.io", "csidrivers"): (
        storage.driver,
        (
            "Name|name", "AttachRequired|boolean", "PodInfoOnMount|boolean", "StorageCapacity|boolean",
            "TokenRequests", "RequiresRepublish|boolean", "Modes", "Age",
        ),
    ),
    ("storage.{abbr}.io", "csinodes"): (storage.node, ("Name|name", "Drivers|integer", "Age")),
    ("storage.{abbr}.io", "csistoragecapacities"): (policies.created, ("Name|name", "Created At|date")),
    ("storage.{abbr}.io", "storageclasses"): (
        storage.storage_class,
        (
            "Name|name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age",
        ),
    ),
    ("storage.{abbr}.io", "volumeattachments"): (
        storage.attachment,
        (
            "Name|name", "Attacher|name", "PV", "Node", "Attached|boolean", "Age",
        ),
    ),
}

#: Columns of kinds that have no printer.
DEFAULT: Final = (policies.created, ("Name|name", "Created At|date"))
