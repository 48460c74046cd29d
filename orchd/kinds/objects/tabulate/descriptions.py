"""What each column of a table says about itself, where release 1.23 is known to say it in these words.

Keys are (group template, resource); a text is a template. Columns that are not here are described by `ours`.
"""

from __future__ import annotations

from typing import Final

#: The column Name, and every column that shows when an object was created.
NAME: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may "
    "allow a client to request the generation of an appropriate name automatically. Name is primarily intended for "
    "creation idempotence and configuration definition. Cannot be updated. More info: "
    "http://{long}.io/docs/user-guide/identifiers#names"
)
CREATED: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
    "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It "
    "is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More "
    "info: https://git.{abbr}.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

DESCRIPTIONS: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("", "configmaps"): {
        "Data": (
            "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or "
            "'.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must "
            "not overlap with the keys in the BinaryData field, this is enforced during validation process."
        ),
    },
    ("", "endpoints"): {
        "Endpoints": (
            "The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to "
            "the IPs they share. A single address with multiple ports, some of which are ready and some of which "
            "are not (because they come from different containers) will result in the address being displayed in "
            "different subsets for the different ports. No address will appear in both Addresses and "
            "NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service."
        ),
    },
    ("", "events"): {
        "Last Seen": "The time at which the most recent occurrence of this event was recorded.",
        "Type": "Type of this event (Normal, Warning), new types could be added in the future",
        "Reason": (
            "This should be a short, machine understandable string that gives the reason for the transition into "
            "the object's current status."
        ),
        "Object": "The object that this event is about.",
        "Subobject": (
            "If referring to a piece of an object instead of an entire object, this string should contain a valid "
            "JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the "
            "object reference is to a container within a pod, this would take on a value like: "
            '"spec.containers{name}" (where "name" refers to the name of the container that triggered the event) '
            'or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This '
            "syntax is chosen only to have some well-defined way of referencing a part of an object."
        ),
        "Source": "The component reporting this event. Should be a short machine understandable string.",
        "Message": "A human-readable description of the status of this operation.",
        "First Seen": "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        "Count": "The number of times this event has occurred.",
    },
    ("", "persistentvolumeclaims"): {
        "Status": "Phase represents the current phase of PersistentVolumeClaim.",
        "Volume": "VolumeName is the binding reference to the PersistentVolume backing this claim.",
        "Capacity": "Represents the actual resources of the underlying volume.",
        "Access Modes": (
            "AccessModes contains the actual access modes the volume backing the PVC has. More info: "
            "https://{long}.io/docs/concepts/storage/persistent-volumes#access-modes-1"
        ),
        "StorageClass": "StorageClass of the pvc",
        "VolumeMode": (
            "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when "
            "not included in claim spec."
        ),
    },
    ("", "persistentvolumes"): {
        "Capacity": (
            "A description of the persistent volume's resources and capacity. More info: "
            "https://{long}.io/docs/concepts/storage/persistent-volumes#capacity"
        ),
        "Access Modes": (
            "AccessModes contains all ways the volume can be mounted. More info: "
            "https://{long}.io/docs/concepts/storage/persistent-volumes#access-modes"
        ),
        "Reclaim Policy": (
            "What happens to a persistent volume when released from its claim. Valid options are Retain (default "
            "for manually created PersistentVolumes), Delete (default for dynamically provisioned "
            "PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin "
            "underlying this PersistentVolume. More info: "
            "https://{long}.io/docs/concepts/storage/persistent-volumes#reclaiming"
        ),
        "Status": (
            "Phase indicates if a volume is available, bound to a claim, or released by a claim. More info: "
            "https://{long}.io/docs/concepts/storage/persistent-volumes#phase"
        ),
        "Claim": (
            "ClaimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. "
            "Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. "
            "More info: https://{long}.io/docs/concepts/storage/persistent-volumes#binding"
        ),
        "StorageClass": "StorageClass of the pv",
        "Reason": (
            "Reason is a brief CamelCase string that describes any failure and is meant for machine parsing and "
            "tidy display in the CLI."
        ),
        "VolumeMode": (
            "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw "
            "block state. Value of Filesystem is implied when not included in spec."
        ),
    },
    ("", "pods"): {
        "Ready": "The aggregate readiness state of this pod for accepting traffic.",
        "Status": "The aggregate status of the containers in this pod.",
        "Restarts": (
            "The number of times the containers in this pod have been restarted and when the last container in "
            "this pod has restarted."
        ),
        "IP": "IP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
        "Node": (
            "NodeName is a request to schedule this pod onto a specific node. If it is non-empty, the scheduler "
            "simply schedules this pod onto that node, assuming that it fits resource requirements."
        ),
        "Nominated Node": (
            "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be "
            "scheduled right away as preemption victims receive their graceful termination periods. This field "
            "does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod "
            "elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on "
            "this node to a higher priority pod that is created after preemption. As a result, this field may be "
            "different than PodSpec.nodeName when the pod is scheduled."
        ),
        "Readiness Gates": (
            "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its "
            'containers are ready AND all conditions specified in the readiness gates have status equal to "True" '
            "More info: https://git.{abbr}.io/enhancements/keps/sig-network/580-pod-readiness-gates"
        ),
    },
    ("", "resourcequotas"): {
        "Request": "Request represents a minimum amount of cpu/memory that a container may consume.",
        "Limit": (
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on "
            "the node."
        ),
    },
    ("", "secrets"): {
        "Type": (
            "Used to facilitate programmatic handling of secret data. More info: "
            "https://{long}.io/docs/concepts/configuration/secret/#secret-types"
        ),
        "Data": (
            "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The "
            "serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly "
            "non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4"
        ),
    },
    ("", "serviceaccounts"): {
        "Secrets": (
            "Secrets is the list of secrets allowed to be used by pods running using this ServiceAccount. More "
            "info: https://{long}.io/docs/concepts/configuration/secret"
        ),
    },
    ("admissionregistration.{abbr}.io", "mutatingwebhookconfigurations"): {
        "Webhooks": "Webhooks indicates the number of webhooks registered in this configuration",
    },
    ("apiregistration.{abbr}.io", "apiservices"): {
        "Service": "The reference to the service that hosts this API endpoint.",
        "Available": "Whether this service is available.",
    },
    ("apps", "deployments"): {
        "Ready": "Number of the pod with ready state",
        "Up-to-date": (
            "Total number of non-terminated pods targeted by this deployment that have the desired "
            "template spec."
        ),
        "Available": "Total number of available pods (ready for at least minReadySeconds) targeted by this deployment.",
        "Containers": "Names of each container in the template.",
        "Images": "Images referenced by each container in the template.",
        "Selector": (
            "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones "
            "affected by this deployment."
        ),
    },
    ("apps", "statefulsets"): {
        "Ready": "Number of the pod with ready state",
        "Containers": "Names of each container in the template.",
        "Images": "Images referenced by each container in the template.",
    },
    ("autoscaling", "horizontalpodautoscalers"): {
        "Reference": (
            "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics "
            "should be collected, as well as to actually change the replica count."
        ),
        "Targets": (
            "metrics contains the specifications for which to use to calculate the desired replica count (the "
            "maximum replica count across all metrics will be used).  The desired replica count is calculated "
            "multiplying the ratio between the target value and the current value by the current number of pods.  "
            "Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual "
            "metric source types for more information about how each type of metric must respond."
        ),
        "MinPods": (
            "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It "
            "defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is "
            "enabled and at least one Object or External metric is configured.  Scaling is active as long as at "
            "least one metric value is available."
        ),
        "MaxPods": (
            "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It "
            "cannot be less that minReplicas."
        ),
        "Replicas": (
            "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the "
            "autoscaler."
        ),
    },
    ("coordination.{abbr}.io", "leases"): {
        "Holder": "holderIdentity contains the identity of the holder of a current lease.",
    },
    ("flowcontrol.apiserver.{abbr}.io", "prioritylevelconfigurations"): {
        "Type": (
            "`type` indicates whether this priority level is subject to limitation on request execution.  A value "
            'of `"Exempt"` means that requests of this priority level are not subject to a limit (and thus are '
            "never queued) and do not detract from the capacity made available to other priority levels.  A value "
            'of `"Limited"` means that (a) requests of this priority level _are_ subject to limits and (b) some of '
            "the server's limited capacity is made available exclusively to this priority level. Required."
        ),
        "AssuredConcurrencyShares": (
            "`assuredConcurrencyShares` (ACS) configures the execution limit, which is a limit on the number of "
            "requests of this priority level that may be exeucting at a given time.  ACS must be a positive "
            "number. The server's concurrency limit (SCL) is divided among the concurrency-controlled priority "
            "levels in proportion to their assured concurrency shares. This produces the assured concurrency value "
            "(ACV) "
        ),
        "Queues": (
            "`queues` is the number of queues for this priority level. The queues exist independently at each "
            "apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and "
            "thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default "
            "value of 64."
        ),
        "HandSize": (
            "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  "
            "When enqueuing a request at this priority level the request's flow identifier (a string pair) is "
            "hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified "
            "here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger "
            "than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of "
            "the queues).  See the user-facing documentation for more extensive guidance on setting this field.  "
            "This field has a default value of 8."
        ),
        "QueueLengthLimit": (
            "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this "
            "priority level at a time; excess requests are rejected.  This value must be positive.  If not "
            "specified, it will be defaulted to 50."
        ),
    },
    ("rbac.authorization.{abbr}.io", "clusterrolebindings"): {
        "Role": (
            "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, "
            "the Authorizer must return an error."
        ),
        "Users": "Users in the clusterRoleBinding",
        "Groups": "Groups in the clusterRoleBinding",
        "ServiceAccounts": "ServiceAccounts in the clusterRoleBinding",
    },
    ("rbac.authorization.{abbr}.io", "rolebindings"): {
        "Role": (
            "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If "
            "the RoleRef cannot be resolved, the Authorizer must return an error."
        ),
        "Users": "Users in the roleBinding",
        "Groups": "Groups in the roleBinding",
        "ServiceAccounts": "ServiceAccounts in the roleBinding",
    },
    ("scheduling.{abbr}.io", "priorityclasses"): {
        "Value": (
            "The value of this priority class. This is the actual priority that pods receive when they have the "
            "name of this class in their pod spec."
        ),
        "Global-Default": (
            "globalDefault specifies whether this PriorityClass should be considered as the default priority for "
            "pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. "
            "However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the "
            "smallest value of such global default PriorityClasses will be used as the default priority."
        ),
    },
    ("storage.{abbr}.io", "csinodes"): {
        "Drivers": "Drivers indicates the number of CSI drivers registered on the node",
    },
}

#: Descriptions of ours by the name of the column.
OURS: Final = {
    "Active": "How many jobs are running.",
    "Address": "The addresses of the load balancer.",
    "AddressType": "The family of the addresses.",
    "AllowVolumeExpansion": "May volumes grow?",
    "Allowed Disruptions": "How many pods may be evicted now.",
    "AttachRequired": "Must volumes be attached before they are mounted?",
    "Attached": "Is it attached?",
    "Attacher": "The driver that attaches.",
    "Available": "How many pods have been ready for long enough.",
    "Caps": "Capabilities that may be added.",
    "Class": "The class, which names the controller.",
    "Cluster-IP": "The address inside the cluster.",
    "CommonEncodingVersion": "The version in which all servers store.",
    "Completions": "How many pods have succeeded, of how many.",
    "Condition": "What has been decided and done.",
    "Container-Runtime": "The container runtime and its release.",
    "Containers": "Names of the containers.",
    "Controller": "The controller that this belongs to.",
    "Count": "How often this happened.",
    "Current": "How many pods there are.",
    "Desired": "How many pods there should be.",
    "DistinguisherMethod": "How flows are told apart.",
    "Duration": "How long the job has run or ran.",
    "Endpoints": "The addresses of the endpoints.",
    "Error": "What went wrong.",
    "External-IP": "The address outside the cluster.",
    "First Seen": "When this happened first.",
    "FsGroup": "The rule for the group of volumes.",
    "Handler": "The runtime handler on the node.",
    "Hosts": "The hosts that are routed.",
    "Images": "Images of the containers.",
    "Internal-IP": "The address inside the cluster.",
    "Kernel-Version": "The kernel.",
    "Last Schedule": "When a job was last started.",
    "Last Seen": "When this happened last.",
    "MatchingPrecedence": "Schemas of lower numbers are tried first.",
    "Max Unavailable": "How many pods may be unavailable.",
    "Message": "What happened.",
    "Min Available": "How many pods must stay available.",
    "MissingPL": "Does the priority level not exist?",
    "Modes": "Life cycles of volumes that the driver supports.",
    "Node": "The node that it is attached to.",
    "Node Selector": "Labels of the nodes that may run the pods.",
    "OS-Image": "The operating system.",
    "Object": "The object that this is about.",
    "PV": "The volume that is attached.",
    "Parameters": "The object with further parameters.",
    "Pod Labels": "Labels of the pods that are made of this.",
    "Pod-Selector": "Labels of the pods that this is for.",
    "PodInfoOnMount": "Is the driver told about the pod?",
    "Port(s)": "The ports that are served.",
    "Ports": "The ports that are served.",
    "PriorityLevel": "The priority level of requests that match.",
    "Priv": "May containers be privileged?",
    "Provisioner": "Who provides the volumes.",
    "ReadOnlyRootFs": "Must the root file system be read-only?",
    "Ready": "How many pods are ready.",
    "Reason": "Why, in one word.",
    "ReclaimPolicy": "What happens to a volume that is released.",
    "RequestedDuration": "For how long the certificate is asked to be valid.",
    "Requestor": "Who asked for the certificate.",
    "RequiresRepublish": "Are volumes published again from time to time?",
    "Revision": "The number of this revision.",
    "Roles": "What the node is for.",
    "RunAsUser": "The rule for user IDs.",
    "SELinux": "The rule for SELinux labels.",
    "Schedule": "When jobs are started, in cron form.",
    "Selector": "Labels of the pods that belong to this.",
    "SignerName": "Who is asked to sign.",
    "Source": "Who reports this.",
    "Status": "The state that it is in.",
    "StorageCapacity": "Does the driver publish its capacity?",
    "StorageVersions": "The version in which each server stores.",
    "Subobject": "The part of the object that this is about.",
    "SupGroup": "The rule for supplemental groups.",
    "Suspend": "Are no further jobs started?",
    "TokenRequests": "Audiences of the tokens that the driver gets.",
    "Type": "Of which type this is.",
    "Up-to-date": "How many pods are of the current template.",
    "Version": "The release of the node agent.",
    "Webhooks": "How many webhooks there are.",
    "VolumeBindingMode": "When a volume is chosen.",
    "Volumes": "Types of volumes that may be used.",
}


def describe(group: str, resource: str, column: str) -> str:
    """The description of a column as a template; `group` is a template too."""
    if column == "Name":
        return NAME
    known = DESCRIPTIONS.get((group, resource), {}).get(column)
    if known is not None:
        return known
    return CREATED if column in ("Age", "Created At") else OURS.get(column, "")
