"""Default descriptions of columns by name, templates of a dialect.

The row of a kind has those that release 1.23 gives in its own words (`orchd.kinds.rows.Table`).
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

#: Descriptions by the name of the column.
BY_COLUMN: Final = {
    "Active": "Number of running jobs.",
    "Address": "Addresses of the load balancer.",
    "AddressType": "Type of the addresses: IPv4, IPv6 or FQDN.",
    "AllowVolumeExpansion": "Whether volumes can be expanded.",
    "Allowed Disruptions": "Number of pods that can be evicted now.",
    "AttachRequired": "Whether volumes are attached before they are mounted.",
    "Attached": "Whether the volume is attached.",
    "Attacher": "CSI driver that attaches the volume.",
    "Available": "Number of pods that have been ready for at least minReadySeconds.",
    "Caps": "Capabilities that containers may add.",
    "Class": "Class of the ingress, which selects its controller.",
    "Cluster-IP": "IP address inside the cluster.",
    "CommonEncodingVersion": "API version in which all servers store objects, if they agree.",
    "Completions": "Number of succeeded pods and of desired completions.",
    "Condition": "State of the request: Pending, Approved, Denied, Failed, Issued.",
    "Container-Runtime": "Container runtime and its version.",
    "Containers": "Names of the containers.",
    "Controller": "Controller that owns or implements the object.",
    "Count": "Number of occurrences of the event.",
    "Current": "Current number of pods.",
    "Desired": "Desired number of pods.",
    "DistinguisherMethod": "Method that divides requests into flows.",
    "Duration": "Time for which the job has run.",
    "Endpoints": "Addresses of the endpoints.",
    "Error": "Error of the health check.",
    "External-IP": "IP address outside the cluster.",
    "First Seen": "Time since the first occurrence.",
    "FsGroup": "Strategy for the supplemental group of volumes.",
    "Handler": "Runtime handler on the node.",
    "Hosts": "Host names of the rules.",
    "Images": "Images of the containers.",
    "Internal-IP": "IP address inside the cluster.",
    "Kernel-Version": "Kernel version of the node.",
    "Last Schedule": "Time since a job was last scheduled.",
    "Last Seen": "Time since the last occurrence.",
    "MatchingPrecedence": "Precedence of the schema; the lowest number that matches applies.",
    "Max Unavailable": "Maximum number of unavailable pods.",
    "Message": "Description of the event.",
    "Min Available": "Minimum number of available pods.",
    "MissingPL": "Whether the priority level does not exist.",
    "Modes": "Volume lifecycle modes that the driver supports.",
    "Node": "Node to which the volume is attached.",
    "Node Selector": "Labels of nodes that the pods can run on.",
    "OS-Image": "Operating system of the node.",
    "Object": "Object that the event is about.",
    "PV": "Persistent volume that is attached.",
    "Parameters": "Object with further parameters of the class.",
    "ParentRef": "Object that uses the address.",
    "Pod Labels": "Label selector of the pods.",
    "Pod-Selector": "Labels of the pods to which the policy applies.",
    "PodInfoOnMount": "Whether the driver receives information about the pod on mount.",
    "Port(s)": "Ports of the service.",
    "Ports": "Ports that are served.",
    "PriorityLevel": "Priority level of matching requests.",
    "Priv": "Whether containers may be privileged.",
    "Provisioner": "Provisioner of the volumes.",
    "ReadOnlyRootFs": "Whether the root file system must be read-only.",
    "Ready": "Number of ready pods.",
    "Reason": "Reason in CamelCase.",
    "ReclaimPolicy": "What happens to a volume after its claim is deleted.",
    "RequestedDuration": "Requested validity of the certificate.",
    "Requestor": "User who created the request.",
    "RequiresRepublish": "Whether the driver publishes volumes again periodically.",
    "Revision": "Number of the revision.",
    "Roles": "Roles of the node.",
    "RunAsUser": "Strategy for user IDs.",
    "SELinux": "Strategy for SELinux labels.",
    "Schedule": "Schedule in cron format.",
    "Selector": "Labels of the selected pods.",
    "SignerName": "Requested signer.",
    "Source": "Component that reported the event.",
    "Status": "Current state.",
    "StorageCapacity": "Whether the driver publishes storage capacity.",
    "StorageVersions": "API version in which each server stores objects.",
    "Subobject": "Part of the object that the event is about.",
    "SupGroup": "Strategy for supplemental groups.",
    "Suspend": "Whether scheduling is suspended.",
    "Timezone": "Time zone of the schedule; by default that of the controllers.",
    "TokenRequests": "Audiences of the tokens that the driver receives.",
    "Type": "Type of the object.",
    "Up-to-date": "Number of pods of the current template.",
    "Version": "Version of the node agent.",
    "Webhooks": "Number of webhooks.",
    "VolumeBindingMode": "When volumes are bound.",
    "Volumes": "Permitted volume types.",
}


def describe(column: str) -> str:
    """The default description of a column as a template, "" for a column without one."""
    if column == "Name":
        return NAME
    return CREATED if column in ("Age", "Created At") else BY_COLUMN.get(column, "")
