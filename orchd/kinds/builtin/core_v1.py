"""core/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import (
    CONDITION,
    UNSUPPORTED_FIELD,
    Deprecation,
    FieldSelectors,
    KindRow,
    Lines,
    Quota,
    Row,
    Subresource,
    Table,
    Types,
    Validation,
    object_types,
    scale_subresource,
)

GROUP: Final = ""
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.core.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "AvoidPods EphemeralContainerCommon NodeProxyOptions NodeResources PersistentVolumeSource PodAttachOptions "
        "PodExecOptions PodLogOptions PodPortForwardOptions PodProxyOptions PodSignature PodStatusResult Preconditions "
        "PreferAvoidPodsEntry ProbeHandler RangeAllocation SerializedReference ServiceProxyOptions VolumeSource"
    ).split()
)
ATOMIC: Final[frozenset[str]] = frozenset(
    (
        "ConfigMapKeySelector EndpointAddress EndpointPort FileKeySelector LocalObjectReference NodeSelector "
        "NodeSelectorTerm ObjectFieldSelector ObjectReference ResourceFieldSelector ScopeSelector SecretKeySelector "
        "SecretReference TopologySelectorTerm TypedLocalObjectReference"
    ).split()
)

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="Binding",
        plural="bindings",
        namespaced=True,
        verbs=("create",),
        served_by="binding",
        validation=Validation(create="validate.core.other_kinds.create_binding"),
    ),
    KindRow(
        kind="ComponentStatus",
        plural="componentstatuses",
        short_names=("cs",),
        verbs=("get", "list"),
        served_by="component statuses",
        deprecated=Deprecation(since="v1.19"),
        table=Table("tabulate.core.component_status", ("Name|name", "Status", "Message", "Error")),
    ),
    KindRow(
        kind="ConfigMap",
        plural="configmaps",
        namespaced=True,
        short_names=("cm",),
        key="configmaps",
        table=Table(
            "tabulate.core.config_map",
            ("Name|name", "Data", "Age"),
            {
                "Data": (
                    "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', "
                    "'_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys "
                    "stored in Data must not overlap with the keys in the BinaryData field, this is enforced "
                    "during validation process."
                )
            },
        ),
        quota=Quota(counted_as="configmaps"),
        validation=Validation(
            create="validate.core.secrets.create_config_map", update="validate.core.secrets.update_config_map"
        ),
    ),
    KindRow(
        kind="Endpoints",
        plural="endpoints",
        namespaced=True,
        short_names=("ep",),
        key="services/endpoints",
        table=Table(
            "tabulate.network.endpoints",
            ("Name|name", "Endpoints", "Age"),
            {
                "Endpoints": (
                    "The set of all endpoints is the union of all subsets. Addresses are placed into subsets "
                    "according to the IPs they share. A single address with multiple ports, some of which are "
                    "ready and some of which are not (because they come from different containers) will result in "
                    "the address being displayed in different subsets for the different ports. No address will "
                    "appear in both Addresses and NotReadyAddresses in the same subset. Sets of addresses and "
                    "ports that comprise a service."
                )
            },
        ),
        validation=Validation(create="validate.core.endpoints.create", update="validate.core.endpoints.update"),
        creates_on_update=True,
        changes=(
            (
                "1.33",
                {
                    "deprecated": Deprecation(
                        since="v1.33", replacement="discovery.{abbr}.io/v1", replacement_kind="EndpointSlice"
                    )
                },
            ), ("1.33", {"warnings": "validate.later_warnings.endpoints"}),),
    ),
    KindRow(
        kind="Event",
        plural="events",
        namespaced=True,
        short_names=("ev",),
        key="events",
        storage_version="v1",
        table=Table(
            "tabulate.core.event",
            (
                "Last Seen",
                "Type",
                "Reason",
                "Object",
                "Subobject|wide",
                "Source|wide",
                "Message",
                "First Seen|wide",
                "Count|wide",
                "Name|name|wide",
            ),
            {
                "Last Seen": "The time at which the most recent occurrence of this event was recorded.",
                "Type": "Type of this event (Normal, Warning), new types could be added in the future",
                "Reason": (
                    "This should be a short, machine understandable string that gives the reason for the "
                    "transition into the object's current status."
                ),
                "Object": "The object that this event is about.",
                "Subobject": (
                    "If referring to a piece of an object instead of an entire object, this string should contain "
                    "a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For "
                    "example, if the object reference is to a container within a pod, this would take on a value "
                    'like: "spec.containers{name}" (where "name" refers to the name of the container that '
                    'triggered the event) or if no container name is specified "spec.containers[2]" (container '
                    "with index 2 in this pod). This syntax is chosen only to have some well-defined way of "
                    "referencing a part of an object."
                ),
                "Source": "The component reporting this event. Should be a short machine understandable string.",
                "Message": "A human-readable description of the status of this operation.",
                "First Seen": (
                    "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)"
                ),
                "Count": "The number of times this event has occurred.",
            },
        ),
        fields=FieldSelectors(
            names=tuple("involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
                "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "
                "reportingComponent source type".split()),
            values="field_values.event",
            unsupported=UNSUPPORTED_FIELD,
        ),
        cached=False,
        strategy="EventStrategy",
        validation=Validation(
            create="validate.core.events.create", update="validate.core.events.update", own_metadata=False
        ),
        creates_on_update=True,
        collected=False,
    ),
    KindRow(
        kind="LimitRange",
        plural="limitranges",
        namespaced=True,
        short_names=("limits",),
        key="limitranges",
        validation=Validation(create="validate.core.limits.create_range", update="validate.core.limits.update_range"),
        creates_on_update=True,
        creates_unnamed=True,
    ),
    KindRow(
        kind="Namespace",
        plural="namespaces",
        short_names=("ns",),
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        key="namespaces",
        table=Table("tabulate.core.namespace", ("Name|name", "Status", "Age")),
        fields=FieldSelectors(
            names=("status.phase",), values="field_values.namespace", namespace=False, unsupported=UNSUPPORTED_FIELD
        ),
        strategy="NamespaceStrategy",
        validation=Validation(
            create="validate.core.other_kinds.create_namespace",
            update="validate.core.other_kinds.update_namespace",
        ),
        subresources=(
            Subresource(name="finalize", verbs=("update",), update="validate.core.other_kinds.finalize_namespace"),
            Subresource(name="status", update="validate.core.other_kinds.update_namespace_status"),
        ),
    ),
    KindRow(
        kind="Node",
        changes=(("1.33", {"warnings": "validate.later_warnings.node"}),),
        plural="nodes",
        short_names=("no",),
        key="minions",
        table=Table(
            "tabulate.core.node",
            tuple("Name|name Status Roles Age Version Internal-IP|wide External-IP|wide OS-Image|wide "
                "Kernel-Version|wide Container-Runtime|wide".split()),
        ),
        fields=FieldSelectors(
            names=("spec.unschedulable",), values="field_values.node", namespace=False, unsupported=UNSUPPORTED_FIELD
        ),
        validation=Validation(create="validate.core.nodes.create", update="validate.core.nodes.update"),
        clears_status=False,
        subresources=(
            Subresource(
                name="proxy",
                kind="NodeProxyOptions",
                verbs=("create", "delete", "get", "patch", "update"),
                served_by="node proxy",
            ),
            Subresource(name="status", update="validate.core.nodes.update_status"),
        ),
    ),
    KindRow(
        kind="PersistentVolumeClaim",
        changes=(("1.33", {"warnings": "validate.later_warnings.claim"}),),
        plural="persistentvolumeclaims",
        namespaced=True,
        short_names=("pvc",),
        key="persistentvolumeclaims",
        table=Table(
            "tabulate.storage.claim",
            (
                "Name|name",
                "Status",
                "Volume",
                "Capacity",
                "Access Modes",
                "StorageClass",
                "VolumeAttributesClass|since=1.31",
                "Age",
                "VolumeMode|wide",
            ),
            {
                "VolumeAttributesClass": "Class of the attributes of the claim's volume",
                "Status": "Phase represents the current phase of PersistentVolumeClaim.",
                "Volume": "VolumeName is the binding reference to the PersistentVolume backing this claim.",
                "Capacity": "Represents the actual resources of the underlying volume.",
                "Access Modes": (
                    "AccessModes contains the actual access modes the volume backing the PVC has. More info: "
                    "https://{long}.io/docs/concepts/storage/persistent-volumes#access-modes-1"
                ),
                "StorageClass": "StorageClass of the pvc",
                "VolumeMode": (
                    "volumeMode defines what type of volume is required by the claim. Value of Filesystem is "
                    "implied when not included in claim spec."
                ),
            },
        ),
        quota=Quota(usage="quota.usage.claim_usage", concerns="quota.usage.concerns_claim", on_update=True),
        strategy="ClaimStrategy",
        validation=Validation(create="validate.core.claims.create", update="validate.core.claims.update"),
        returns_deleted=True,
        subresources=(Subresource(name="status", update="validate.core.claims.update_status"),),
    ),
    KindRow(
        kind="PersistentVolume",
        changes=(("1.33", {"warnings": "validate.later_warnings.persistent_volume"}),),
        plural="persistentvolumes",
        short_names=("pv",),
        key="persistentvolumes",
        table=Table(
            "tabulate.storage.volume",
            (
                "Name|name",
                "Capacity",
                "Access Modes",
                "Reclaim Policy",
                "Status",
                "Claim",
                "StorageClass",
                "VolumeAttributesClass|since=1.31",
                "Reason",
                "Age",
                "VolumeMode|wide",
            ),
            {
                "VolumeAttributesClass": "Class of the volume's attributes",
                "Capacity": (
                    "A description of the persistent volume's resources and capacity. More info: "
                    "https://{long}.io/docs/concepts/storage/persistent-volumes#capacity"
                ),
                "Access Modes": (
                    "AccessModes contains all ways the volume can be mounted. More info: "
                    "https://{long}.io/docs/concepts/storage/persistent-volumes#access-modes"
                ),
                "Reclaim Policy": (
                    "What happens to a persistent volume when released from its claim. Valid options are Retain "
                    "(default for manually created PersistentVolumes), Delete (default for dynamically provisioned "
                    "PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin "
                    "underlying this PersistentVolume. More info: "
                    "https://{long}.io/docs/concepts/storage/persistent-volumes#reclaiming"
                ),
                "Status": (
                    "Phase indicates if a volume is available, bound to a claim, or released by a claim. More "
                    "info: https://{long}.io/docs/concepts/storage/persistent-volumes#phase"
                ),
                "Claim": (
                    "ClaimRef is part of a bi-directional binding between PersistentVolume and "
                    "PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the "
                    "authoritative bind between PV and PVC. More info: "
                    "https://{long}.io/docs/concepts/storage/persistent-volumes#binding"
                ),
                "StorageClass": "StorageClass of the pv",
                "Reason": (
                    "Reason is a brief CamelCase string that describes any failure and is meant for machine "
                    "parsing and tidy display in the CLI."
                ),
                "VolumeMode": (
                    "volumeMode defines if a volume is intended to be used with a formatted filesystem or to "
                    "remain in raw block state. Value of Filesystem is implied when not included in spec."
                ),
            },
        ),
        strategy="VolumeStrategy",
        validation=Validation(
            create="validate.core.persistentvolumes.create", update="validate.core.persistentvolumes.update"
        ),
        returns_deleted=True,
        subresources=(Subresource(name="status", update="validate.core.persistentvolumes.update_status"),),
    ),
    KindRow(
        kind="Pod",
        plural="pods",
        namespaced=True,
        short_names=("po",),
        categories=("all",),
        key="pods",
        changes=(("1.33", {"generation": ("spec",)}),),
        table=Table(
            "tabulate.pods.cells",
            (
                "Name|name",
                "Ready",
                "Status",
                "Restarts",
                "Age",
                "IP|wide",
                "Node|wide",
                "Nominated Node|wide",
                "Readiness Gates|wide",
            ),
            {
                "Ready": "The aggregate readiness state of this pod for accepting traffic.",
                "Status": "The aggregate status of the containers in this pod.",
                "Restarts": (
                    "The number of times the containers in this pod have been restarted and when the last "
                    "container in this pod has restarted."
                ),
                "IP": (
                    "IP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated."
                ),
                "Node": (
                    "NodeName is a request to schedule this pod onto a specific node. If it is non-empty, the "
                    "scheduler simply schedules this pod onto that node, assuming that it fits resource requirements."
                ),
                "Nominated Node": (
                    "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be "
                    "scheduled right away as preemption victims receive their graceful termination periods. This "
                    "field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to "
                    "place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to "
                    "give the resources on this node to a higher priority pod that is created after preemption. As "
                    "a result, this field may be different than PodSpec.nodeName when the pod is scheduled."
                ),
                "Readiness Gates": (
                    "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when "
                    "all its containers are ready AND all conditions specified in the readiness gates have status "
                    'equal to "True" More info: '
                    "https://git.{abbr}.io/enhancements/keps/sig-network/580-pod-readiness-gates"
                ),
            },
            printers=(("1.29", "tabulate.pods.cells_with_sidecars"),),
        ),
        fields=FieldSelectors(
            names=(
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
                # Of release 1.28.
                "spec.hostNetwork",
            ),
            aliases={"spec.host": "spec.nodeName"},
            values="field_values.pod",
            unsupported=UNSUPPORTED_FIELD,
        ),
        quota=Quota(usage="quota.usage.pod_usage", concerns="quota.usage.concerns_pod", subresources=("resize",)),
        strategy="PodStrategy",
        validation=Validation(create="validate.core.pods.create", update="validate.core.podupdates.update"),
        warnings="validate.warnings.pod",
        pod_template=(),
        returns_deleted=True,
        subresources=(
            Subresource(name="attach", kind="PodAttachOptions", verbs=("create", "get"), served_by="attach"),
            Subresource(name="binding", kind="Binding", verbs=("create",), served_by="pod binding"),
            Subresource(name="ephemeralcontainers", update="validate.core.podupdates.update_ephemeral", resets=()),
            Subresource(
                name="eviction", kind="Eviction", verbs=("create",), group="policy", version="v1", served_by="eviction"
            ),
            Subresource(name="exec", kind="PodExecOptions", verbs=("create", "get"), served_by="exec"),
            Subresource(name="log", verbs=("get",), served_by="log"),
            Subresource(
                name="portforward", kind="PodPortForwardOptions", verbs=("create", "get"), served_by="port forward"
            ),
            Subresource(
                name="proxy",
                kind="PodProxyOptions",
                verbs=("create", "delete", "get", "patch", "update"),
                served_by="pod proxy",
            ),
            Subresource(name="resize", update="validate.core.podresize.update", resets=(), since="1.33"),
            Subresource(
                name="status",
                update="validate.core.podupdates.update_status",
                resets=("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
            ),
        ),
    ),
    KindRow(
        kind="PodTemplate",
        plural="podtemplates",
        namespaced=True,
        key="podtemplates",
        table=Table("tabulate.workloads.pod_template", ("Name|name", "Containers", "Images", "Pod Labels")),
        validation=Validation(
            create="validate.core.other_kinds.create_pod_template",
            update="validate.core.other_kinds.update_pod_template",
        ),
        warnings="validate.warnings.template",
        pod_template=("template",),
        generation=("template",),
        returns_deleted=True,
    ),
    KindRow(
        kind="ReplicationController",
        plural="replicationcontrollers",
        namespaced=True,
        short_names=("rc",),
        categories=("all",),
        key="controllers",
        table=Table(
            "tabulate.workloads.replication_controller",
            tuple("Name|name Desired|integer Current|integer Ready|integer Age Containers|wide Images|wide "
                "Selector|wide".split()),
        ),
        fields=FieldSelectors(
            names=("status.replicas",), values="field_values.replication_controller", unsupported=UNSUPPORTED_FIELD
        ),
        quota=Quota(counted_as="replicationcontrollers"),
        validation=Validation(
            create="validate.apps.create_replication_controller", update="validate.apps.update_replication_controller"
        ),
        warnings="validate.warnings.replication_controller",
        changes=(("1.25", {"warnings": "validate.warnings.workload"}),),
        pod_template=("spec", "template"),
        generation=("spec",),
        orphans=True,
        subresources=(
            scale_subresource("autoscaling", "replicationcontrollers/scale", selector="map", until="1.28"),
            scale_subresource("", "replicationcontrollers", selector="map", since="1.28"),
            Subresource(name="status", update="validate.apps.update_replica_set_status"),
        ),
    ),
    KindRow(
        kind="ResourceQuota",
        plural="resourcequotas",
        namespaced=True,
        short_names=("quota",),
        key="resourcequotas",
        table=Table(
            "tabulate.core.resource_quota",
            ("Name|name", "Age|until=1.32", "Request", "Limit", "Age|since=1.32"),
            {
                "Request": "Request represents a minimum amount of cpu/memory that a container may consume.",
                "Limit": (
                    "Limits control the maximum amount of cpu/memory that a container may use independent of "
                    "contention on the node."
                ),
            },
        ),
        quota=Quota(counted_as="resourcequotas"),
        validation=Validation(create="validate.core.limits.create_quota", update="validate.core.limits.update_quota"),
        returns_deleted=True,
        subresources=(Subresource(name="status", update="validate.core.limits.update_quota_status"),),
    ),
    KindRow(
        kind="Secret",
        changes=(("1.33", {"warnings": "validate.later_warnings.secret"}),),
        plural="secrets",
        namespaced=True,
        key="secrets",
        table=Table(
            "tabulate.core.secret",
            ("Name|name", "Type", "Data", "Age"),
            {
                "Type": (
                    "Used to facilitate programmatic handling of secret data. More info: "
                    "https://{long}.io/docs/concepts/configuration/secret/#secret-types"
                ),
                "Data": (
                    "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or "
                    "'.'. The serialized form of the secret data is a base64 encoded string, representing the "
                    "arbitrary (possibly non-string) data value here. Described in "
                    "https://tools.ietf.org/html/rfc4648#section-4"
                ),
            },
        ),
        fields=FieldSelectors(names=("type",), values="field_values.secret", unsupported=UNSUPPORTED_FIELD),
        quota=Quota(counted_as="secrets"),
        validation=Validation(create="validate.core.secrets.create", update="validate.core.secrets.update"),
    ),
    KindRow(
        kind="ServiceAccount",
        changes=(("1.32", {"warnings": "validate.later_warnings.service_account"}),),
        plural="serviceaccounts",
        namespaced=True,
        short_names=("sa",),
        key="serviceaccounts",
        table=Table(
            "tabulate.core.service_account",
            ("Name|name", "Secrets|until=1.32", "Age"),
            {
                "Secrets": (
                    "Secrets is the list of secrets allowed to be used by pods running using this ServiceAccount. "
                    "More info: https://{long}.io/docs/concepts/configuration/secret"
                )
            },
        ),
        strategy="ServiceAccountStrategy",
        validation=Validation(
            create="validate.core.other_kinds.create_service_account",
            update="validate.core.other_kinds.update_service_account",
        ),
        returns_deleted=True,
        subresources=(
            Subresource(
                name="token",
                kind="TokenRequest",
                verbs=("create",),
                group="authentication.{abbr}.io",
                version="v1",
                served_by="token request",
            ),
        ),
    ),
    KindRow(
        kind="Service",
        changes=(
            (
                "1.31",
                {
                    "fields": FieldSelectors(
                        names=("spec.clusterIP", "spec.type"),
                        values="field_values.service",
                        unsupported=UNSUPPORTED_FIELD,
                    )
                },
            ),
            ("1.33", {"warnings": "validate.later_warnings.service"}),
        ),
        plural="services",
        namespaced=True,
        short_names=("svc",),
        categories=("all",),
        key="services/specs",
        table=Table(
            "tabulate.network.service",
            ("Name|name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector|wide"),
        ),
        # Later releases than the reference have these fields, and their node agents ask for them. The error is still the old one.
        fields=FieldSelectors(names=("spec.clusterIP", "spec.type"), values="field_values.service"),
        quota=Quota(usage="quota.usage.service_usage", concerns="quota.usage.concerns_service", on_update=True),
        strategy="ServiceStrategy",
        validation=Validation(
            create="validate.core.services.create", update="validate.core.services.update"
        ),
        creates_on_update=True,
        returns_deleted=True,
        subresources=(
            Subresource(
                name="proxy",
                kind="ServiceProxyOptions",
                verbs=("create", "delete", "get", "patch", "update"),
                served_by="service proxy",
            ),
            Subresource(name="status", update="validate.core.services.update_status", creates=True),
        ),
    ),
)

_CONTAINER: Final[Lines] = (
    ("name", 1, "string", "required"),
    ("image", 2, "string", "omit"),
    ("command", 3, "[]string", "omit list=atomic@1.35"),
    ("args", 4, "[]string", "omit list=atomic@1.35"),
    ("workingDir", 5, "string", "omit"),
    ("ports", 6, "[]ContainerPort", "omit merge=containerPort keys=containerPort,protocol"),
    ("envFrom", 19, "[]EnvFromSource", "omit list=atomic@1.35"),
    ("env", 7, "[]EnvVar", "omit merge=name keys=name@1.35"),
    ("resources", 8, "ResourceRequirements", "omit"),
    ("resizePolicy", 23, "[]ContainerResizePolicy", "omit list=atomic since=1.27"),
    ("restartPolicy", 24, "string", "omit ptr since=1.28"),
    ("restartPolicyRules", 25, "[]ContainerRestartRule", "omit list=atomic since=1.34"),
    ("volumeMounts", 9, "[]VolumeMount", "omit merge=mountPath keys=mountPath@1.35"),
    ("volumeDevices", 21, "[]VolumeDevice", "omit merge=devicePath keys=devicePath@1.35"),
    ("livenessProbe", 10, "Probe", "omit ptr"),
    ("readinessProbe", 11, "Probe", "omit ptr"),
    ("startupProbe", 22, "Probe", "omit ptr"),
    ("lifecycle", 12, "Lifecycle", "omit ptr"),
    ("terminationMessagePath", 13, "string", "omit"),
    ("terminationMessagePolicy", 20, "string", "omit enum=FallbackToLogsOnError|File"),
    ("imagePullPolicy", 14, "string", "omit enum=Always|IfNotPresent|Never"),
    ("securityContext", 15, "SecurityContext", "omit ptr"),
    ("stdin", 16, "bool", "omit"),
    ("stdinOnce", 17, "bool", "omit"),
    ("tty", 18, "bool", "omit"),
)

TYPES: Final[Types] = {
    **object_types("LimitRange", status=""),
    **object_types(
        "Namespace Node PersistentVolume PersistentVolumeClaim Pod ReplicationController ResourceQuota Service",
    ),
    "AWSElasticBlockStoreVolumeSource": (
        ("volumeID", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("partition", 3, "int32", "omit"),
        ("readOnly", 4, "bool", "omit"),
    ),
    "Affinity": (
        ("nodeAffinity", 1, "NodeAffinity", "omit ptr"),
        ("podAffinity", 2, "PodAffinity", "omit ptr"),
        ("podAntiAffinity", 3, "PodAntiAffinity", "omit ptr"),
    ),
    "AppArmorProfile": (
        ("type", 1, "string", "required enum=Localhost|RuntimeDefault|Unconfined"),
        ("localhostProfile", 2, "string", "omit ptr"),
    ),
    "AttachedVolume": (("name", 1, "string", "required"), ("devicePath", 2, "string", "required")),
    "AvoidPods": (("preferAvoidPods", 1, "[]PreferAvoidPodsEntry", "omit list=atomic@1.35"),),
    "AzureDiskVolumeSource": (
        ("diskName", 1, "string", "required"),
        ("diskURI", 2, "string", "required"),
        ("cachingMode", 3, "string", 'omit ptr default="ReadWrite"@1.35 enum=None|ReadOnly|ReadWrite@1.35'),
        ("fsType", 4, "string", 'omit ptr default="ext4"@1.35'),
        ("readOnly", 5, "bool", "omit ptr default=false@1.35"),
        ("kind", 6, "string", 'omit ptr default="Shared"@1.35 enum=Dedicated|Managed|Shared@1.35'),
    ),
    "AzureFilePersistentVolumeSource": (
        ("secretName", 1, "string", "required"),
        ("shareName", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
        ("secretNamespace", 4, "string", "ptr"),
    ),
    "AzureFileVolumeSource": (
        ("secretName", 1, "string", "required"),
        ("shareName", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
    ),
    "Binding": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("target", 2, "ObjectReference", "required")),
    "CSIPersistentVolumeSource": (
        ("driver", 1, "string", "required"),
        ("volumeHandle", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
        ("fsType", 4, "string", "omit"),
        ("volumeAttributes", 5, "{}string", "omit"),
        ("controllerPublishSecretRef", 6, "SecretReference", "omit ptr"),
        ("nodeStageSecretRef", 7, "SecretReference", "omit ptr"),
        ("nodePublishSecretRef", 8, "SecretReference", "omit ptr"),
        ("controllerExpandSecretRef", 9, "SecretReference", "omit ptr"),
        ("nodeExpandSecretRef", 10, "SecretReference", "omit ptr since=1.25"),
    ),
    "CSIVolumeSource": (
        ("driver", 1, "string", "required"),
        ("readOnly", 2, "bool", "omit ptr"),
        ("fsType", 3, "string", "omit ptr"),
        ("volumeAttributes", 4, "{}string", "omit"),
        ("nodePublishSecretRef", 5, "LocalObjectReference", "omit ptr"),
    ),
    "Capabilities": (("add", 1, "[]string", "omit list=atomic@1.35"), ("drop", 2, "[]string", "omit list=atomic@1.35")),
    "CephFSPersistentVolumeSource": (
        ("monitors", 1, "[]string", "required list=atomic@1.35"),
        ("path", 2, "string", "omit"),
        ("user", 3, "string", "omit"),
        ("secretFile", 4, "string", "omit"),
        ("secretRef", 5, "SecretReference", "omit ptr"),
        ("readOnly", 6, "bool", "omit"),
    ),
    "CephFSVolumeSource": (
        ("monitors", 1, "[]string", "required list=atomic@1.35"),
        ("path", 2, "string", "omit"),
        ("user", 3, "string", "omit"),
        ("secretFile", 4, "string", "omit"),
        ("secretRef", 5, "LocalObjectReference", "omit ptr"),
        ("readOnly", 6, "bool", "omit"),
    ),
    "CinderPersistentVolumeSource": (
        ("volumeID", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("readOnly", 3, "bool", "omit"),
        ("secretRef", 4, "SecretReference", "omit ptr"),
    ),
    "CinderVolumeSource": (
        ("volumeID", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("readOnly", 3, "bool", "omit"),
        ("secretRef", 4, "LocalObjectReference", "omit ptr"),
    ),
    "ClientIPConfig": (("timeoutSeconds", 1, "int32", "omit ptr"),),
    "ClusterTrustBundleProjection": (
        ("name", 1, "string", "omit ptr"),
        ("signerName", 2, "string", "omit ptr"),
        ("labelSelector", 3, "meta/v1.LabelSelector", "omit ptr"),
        ("optional", 5, "bool", "omit ptr"),
        ("path", 4, "string", "required"),
    ),
    "ComponentCondition": (
        ("type", 1, "string", "required"),
        ("status", 2, "string", "required"),
        ("message", 3, "string", "omit"),
        ("error", 4, "string", "omit"),
    ),
    "ComponentStatus": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("conditions", 2, "[]ComponentCondition", "omit merge=type keys=type@1.35"),
    ),
    "ConfigMap": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("immutable", 4, "bool", "omit ptr"),
        ("data", 2, "{}string", "omit"),
        ("binaryData", 3, "{}bytes", "omit"),
    ),
    "ConfigMapEnvSource": (("", 1, "LocalObjectReference", "inline"), ("optional", 2, "bool", "omit ptr")),
    "ConfigMapKeySelector": (
        ("", 1, "LocalObjectReference", "inline"),
        ("key", 2, "string", "required"),
        ("optional", 3, "bool", "omit ptr"),
    ),
    "ConfigMapNodeConfigSource": (
        ("namespace", 1, "string", "required"),
        ("name", 2, "string", "required"),
        ("uid", 3, "string", "omit"),
        ("resourceVersion", 4, "string", "omit"),
        ("{short}letConfigKey", 5, "string", "required"),
    ),
    "ConfigMapProjection": (
        ("", 1, "LocalObjectReference", "inline"),
        ("items", 2, "[]KeyToPath", "omit list=atomic@1.35"),
        ("optional", 4, "bool", "omit ptr"),
    ),
    "ConfigMapVolumeSource": (
        ("", 1, "LocalObjectReference", "inline"),
        ("items", 2, "[]KeyToPath", "omit list=atomic@1.35"),
        ("defaultMode", 3, "int32", "omit ptr"),
        ("optional", 4, "bool", "omit ptr"),
    ),
    "Container": _CONTAINER,
    "ContainerExtendedResourceRequest": (
        ("containerName", 1, "string", "required"),
        ("resourceName", 2, "string", "required"),
        ("requestName", 3, "string", "required"),
    ),
    "ContainerImage": (("names", 1, "[]string", "list=atomic@1.35"), ("sizeBytes", 2, "int64", "omit")),
    "ContainerPort": (
        ("name", 1, "string", "omit"),
        ("hostPort", 2, "int32", "omit"),
        ("containerPort", 3, "int32", "required"),
        ("protocol", 4, "string", 'omit default="TCP" enum=SCTP|TCP|UDP'),
        ("hostIP", 5, "string", "omit"),
    ),
    "ContainerResizePolicy": (("resourceName", 1, "string", "required"), ("restartPolicy", 2, "string", "required")),
    "ContainerRestartRule": (
        ("action", 1, "string", "required omit"),
        ("exitCodes", 2, "ContainerRestartRuleOnExitCodes", "omit ptr"),
    ),
    "ContainerRestartRuleOnExitCodes": (
        ("operator", 1, "string", "required omit"),
        ("values", 2, "[]int32", "omit set"),
    ),
    "ContainerState": (
        ("waiting", 1, "ContainerStateWaiting", "omit ptr"),
        ("running", 2, "ContainerStateRunning", "omit ptr"),
        ("terminated", 3, "ContainerStateTerminated", "omit ptr"),
    ),
    "ContainerStateRunning": (("startedAt", 1, "time", "omit"),),
    "ContainerStateTerminated": (
        ("exitCode", 1, "int32", "required"),
        ("signal", 2, "int32", "omit"),
        ("reason", 3, "string", "omit"),
        ("message", 4, "string", "omit"),
        ("startedAt", 5, "time", "omit"),
        ("finishedAt", 6, "time", "omit"),
        ("containerID", 7, "string", "omit"),
    ),
    "ContainerStateWaiting": (("reason", 1, "string", "omit"), ("message", 2, "string", "omit")),
    "ContainerStatus": (
        ("name", 1, "string", "required"),
        ("state", 2, "ContainerState", "omit"),
        ("lastState", 3, "ContainerState", "omit"),
        ("ready", 4, "bool", "required"),
        ("restartCount", 5, "int32", "required"),
        ("image", 6, "string", "required"),
        ("imageID", 7, "string", "required"),
        ("containerID", 8, "string", "omit"),
        ("started", 9, "bool", "omit ptr"),
        ("allocatedResources", 10, "{}quantity", "omit since=1.27"),
        ("resources", 11, "ResourceRequirements", "omit ptr since=1.27"),
        ("volumeMounts", 12, "[]VolumeMountStatus", "omit merge=mountPath keys=mountPath since=1.30"),
        ("user", 13, "ContainerUser", "omit ptr since=1.31"),
        ("allocatedResourcesStatus", 14, "[]ResourceStatus", "omit merge=name keys=name since=1.31"),
        ("stopSignal", 15, "string", "omit ptr enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ since=1.33"),
    ),
    "ContainerUser": (("linux", 1, "LinuxContainerUser", "omit ptr"),),
    "DaemonEndpoint": (("Port", 1, "int32", "required"),),
    "DownwardAPIProjection": (("items", 1, "[]DownwardAPIVolumeFile", "omit list=atomic@1.35"),),
    "DownwardAPIVolumeFile": (
        ("path", 1, "string", "required"),
        ("fieldRef", 2, "ObjectFieldSelector", "omit ptr"),
        ("resourceFieldRef", 3, "ResourceFieldSelector", "omit ptr"),
        ("mode", 4, "int32", "omit ptr"),
    ),
    "DownwardAPIVolumeSource": (
        ("items", 1, "[]DownwardAPIVolumeFile", "omit list=atomic@1.35"),
        ("defaultMode", 2, "int32", "omit ptr"),
    ),
    "EmptyDirVolumeSource": (("medium", 1, "string", "omit"), ("sizeLimit", 2, "quantity", "omit ptr")),
    "EndpointAddress": (
        ("ip", 1, "string", "required"),
        ("hostname", 3, "string", "omit"),
        ("nodeName", 4, "string", "omit ptr"),
        ("targetRef", 2, "ObjectReference", "omit ptr"),
    ),
    "EndpointPort": (
        ("name", 1, "string", "omit"),
        ("port", 2, "int32", "required"),
        ("protocol", 3, "string", "omit enum=SCTP|TCP|UDP"),
        ("appProtocol", 4, "string", "omit ptr"),
    ),
    "EndpointSubset": (
        ("addresses", 1, "[]EndpointAddress", "omit list=atomic@1.35"),
        ("notReadyAddresses", 2, "[]EndpointAddress", "omit list=atomic@1.35"),
        ("ports", 3, "[]EndpointPort", "omit list=atomic@1.35"),
    ),
    "Endpoints": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("subsets", 2, "[]EndpointSubset", "omit list=atomic@1.35"),
    ),
    "EnvFromSource": (
        ("prefix", 1, "string", "omit"),
        ("configMapRef", 2, "ConfigMapEnvSource", "omit ptr"),
        ("secretRef", 3, "SecretEnvSource", "omit ptr"),
    ),
    "EnvVar": (
        ("name", 1, "string", "required"),
        ("value", 2, "string", "omit"),
        ("valueFrom", 3, "EnvVarSource", "omit ptr"),
    ),
    "EnvVarSource": (
        ("fieldRef", 1, "ObjectFieldSelector", "omit ptr"),
        ("resourceFieldRef", 2, "ResourceFieldSelector", "omit ptr"),
        ("configMapKeyRef", 3, "ConfigMapKeySelector", "omit ptr"),
        ("secretKeyRef", 4, "SecretKeySelector", "omit ptr"),
        ("fileKeyRef", 5, "FileKeySelector", "omit ptr since=1.34"),
    ),
    "EphemeralContainer": (("", 1, "EphemeralContainerCommon", "inline"), ("targetContainerName", 2, "string", "omit")),
    "EphemeralContainerCommon": tuple(
        (name, number, kind, f"{words}@1.35" if "enum=" in words else words) for name, number, kind, words in _CONTAINER
    ),
    "EphemeralVolumeSource": (("volumeClaimTemplate", 1, "PersistentVolumeClaimTemplate", "omit ptr"),),
    "Event": (
        ("metadata", 1, "meta/v1.ObjectMeta", "required"),
        ("involvedObject", 2, "ObjectReference", "required"),
        ("reason", 3, "string", "omit"),
        ("message", 4, "string", "omit"),
        ("source", 5, "EventSource", "omit"),
        ("firstTimestamp", 6, "time", "omit"),
        ("lastTimestamp", 7, "time", "omit"),
        ("count", 8, "int32", "omit"),
        ("type", 9, "string", "omit"),
        ("eventTime", 10, "microtime", "omit"),
        ("series", 11, "EventSeries", "omit ptr"),
        ("action", 12, "string", "omit"),
        ("related", 13, "ObjectReference", "omit ptr"),
        ("reportingComponent", 14, "string", ""),
        ("reportingInstance", 15, "string", ""),
    ),
    "EventSeries": (("count", 1, "int32", "omit"), ("lastObservedTime", 2, "microtime", "omit")),
    "EventSource": (("component", 1, "string", "omit"), ("host", 2, "string", "omit")),
    "ExecAction": (("command", 1, "[]string", "omit list=atomic@1.35"),),
    "FCVolumeSource": (
        ("targetWWNs", 1, "[]string", "omit list=atomic@1.35"),
        ("lun", 2, "int32", "omit ptr"),
        ("fsType", 3, "string", "omit"),
        ("readOnly", 4, "bool", "omit"),
        ("wwids", 5, "[]string", "omit list=atomic@1.35"),
    ),
    "FileKeySelector": (
        ("volumeName", 1, "string", "required"),
        ("path", 2, "string", "required"),
        ("key", 3, "string", "required"),
        ("optional", 4, "bool", "omit ptr default=false"),
    ),
    "FlexPersistentVolumeSource": (
        ("driver", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("secretRef", 3, "SecretReference", "omit ptr"),
        ("readOnly", 4, "bool", "omit"),
        ("options", 5, "{}string", "omit"),
    ),
    "FlexVolumeSource": (
        ("driver", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("secretRef", 3, "LocalObjectReference", "omit ptr"),
        ("readOnly", 4, "bool", "omit"),
        ("options", 5, "{}string", "omit"),
    ),
    "FlockerVolumeSource": (("datasetName", 1, "string", "omit"), ("datasetUUID", 2, "string", "omit")),
    "GCEPersistentDiskVolumeSource": (
        ("pdName", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("partition", 3, "int32", "omit"),
        ("readOnly", 4, "bool", "omit"),
    ),
    "GRPCAction": (("port", 1, "int32", "required"), ("service", 2, "string", 'ptr default=""')),
    "GitRepoVolumeSource": (
        ("repository", 1, "string", "required"),
        ("revision", 2, "string", "omit"),
        ("directory", 3, "string", "omit"),
    ),
    "GlusterfsPersistentVolumeSource": (
        ("endpoints", 1, "string", "required"),
        ("path", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
        ("endpointsNamespace", 4, "string", "omit ptr"),
    ),
    "GlusterfsVolumeSource": (
        ("endpoints", 1, "string", "required"),
        ("path", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
    ),
    "HTTPGetAction": (
        ("path", 1, "string", "omit"),
        ("port", 2, "int-or-string", "required"),
        ("host", 3, "string", "omit"),
        ("scheme", 4, "string", "omit enum=HTTP|HTTPS"),
        ("httpHeaders", 5, "[]HTTPHeader", "omit list=atomic@1.35"),
    ),
    "HTTPHeader": (("name", 1, "string", "required"), ("value", 2, "string", "required")),
    "HostAlias": (
        ("ip", 1, "string", "omit until=1.35"),
        ("ip", 1, "string", "required since=1.35"),
        ("hostnames", 2, "[]string", "omit list=atomic@1.35"),
    ),
    "HostIP": (("ip", 1, "string", "required"),),
    "HostPathVolumeSource": (
        ("path", 1, "string", "required"),
        ("type", 2, "string", "omit ptr enum=|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket@1.35"),
    ),
    "ISCSIPersistentVolumeSource": (
        ("targetPortal", 1, "string", "required"),
        ("iqn", 2, "string", "required"),
        ("lun", 3, "int32", "required"),
        ("iscsiInterface", 4, "string", 'omit default="default"@1.35'),
        ("fsType", 5, "string", "omit"),
        ("readOnly", 6, "bool", "omit"),
        ("portals", 7, "[]string", "omit list=atomic@1.35"),
        ("chapAuthDiscovery", 8, "bool", "omit"),
        ("chapAuthSession", 11, "bool", "omit"),
        ("secretRef", 10, "SecretReference", "omit ptr"),
        ("initiatorName", 12, "string", "omit ptr"),
    ),
    "ISCSIVolumeSource": (
        ("targetPortal", 1, "string", "required"),
        ("iqn", 2, "string", "required"),
        ("lun", 3, "int32", "required"),
        ("iscsiInterface", 4, "string", 'omit default="default"@1.35'),
        ("fsType", 5, "string", "omit"),
        ("readOnly", 6, "bool", "omit"),
        ("portals", 7, "[]string", "omit list=atomic@1.35"),
        ("chapAuthDiscovery", 8, "bool", "omit"),
        ("chapAuthSession", 11, "bool", "omit"),
        ("secretRef", 10, "LocalObjectReference", "omit ptr"),
        ("initiatorName", 12, "string", "omit ptr"),
    ),
    "ImageVolumeSource": (
        ("reference", 1, "string", "omit"),
        ("pullPolicy", 2, "string", "omit enum=Always|IfNotPresent|Never"),
    ),
    "KeyToPath": (
        ("key", 1, "string", "required"),
        ("path", 2, "string", "required"),
        ("mode", 3, "int32", "omit ptr"),
    ),
    "Lifecycle": (
        ("postStart", 1, "LifecycleHandler", "omit ptr"),
        ("preStop", 2, "LifecycleHandler", "omit ptr"),
        ("stopSignal", 3, "string", "omit ptr enum=SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ since=1.33"),
    ),
    "LifecycleHandler": (
        ("exec", 1, "ExecAction", "omit ptr"),
        ("httpGet", 2, "HTTPGetAction", "omit ptr"),
        ("tcpSocket", 3, "TCPSocketAction", "omit ptr"),
        ("sleep", 4, "SleepAction", "omit ptr since=1.29"),
    ),
    "LimitRangeItem": (
        ("type", 1, "string", "required enum=Container|PersistentVolumeClaim|Pod enum=@1.35"),
        ("max", 2, "{}quantity", "omit"),
        ("min", 3, "{}quantity", "omit"),
        ("default", 4, "{}quantity", "omit"),
        ("defaultRequest", 5, "{}quantity", "omit"),
        ("maxLimitRequestRatio", 6, "{}quantity", "omit"),
    ),
    "LimitRangeSpec": (("limits", 1, "[]LimitRangeItem", "required list=atomic@1.35"),),
    "LinuxContainerUser": (
        ("uid", 1, "int64", "required"),
        ("gid", 2, "int64", "required"),
        ("supplementalGroups", 3, "[]int64", "omit list=atomic"),
    ),
    "LoadBalancerIngress": (
        ("ip", 1, "string", "omit"),
        ("hostname", 2, "string", "omit"),
        ("ipMode", 3, "string", "omit ptr since=1.29"),
        ("ports", 4, "[]PortStatus", "omit list=atomic"),
    ),
    "LoadBalancerStatus": (("ingress", 1, "[]LoadBalancerIngress", "omit list=atomic@1.35"),),
    "LocalObjectReference": (("name", 1, "string", 'omit default=""@1.35'),),
    "LocalVolumeSource": (("path", 1, "string", "required"), ("fsType", 2, "string", "omit ptr")),
    "ModifyVolumeStatus": (
        ("targetVolumeAttributesClassName", 1, "string", "omit"),
        ("status", 2, "string", "required enum=InProgress|Infeasible|Pending"),
    ),
    "NFSVolumeSource": (
        ("server", 1, "string", "required"),
        ("path", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
    ),
    "NamespaceCondition": (
        ("type", 1, "string", "required enum=NamespaceContentRemaining|NamespaceDeletionContentFailure|NamespaceDeletionDiscoveryFailure|NamespaceDeletionGroupVersionParsingFailure|NamespaceFinalizersRemaining enum=@1.35"),
        ("status", 2, "string", "required"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "omit"),
        ("message", 6, "string", "omit"),
    ),
    "NamespaceSpec": (("finalizers", 1, "[]string", "omit list=atomic@1.35"),),
    "NamespaceStatus": (
        ("phase", 1, "string", "omit enum=Active|Terminating"),
        ("conditions", 2, "[]NamespaceCondition", "omit merge=type keys=type@1.35"),
    ),
    "NodeAddress": (
        ("type", 1, "string", "required enum=ExternalDNS|ExternalIP|Hostname|InternalDNS|InternalIP enum=@1.35"),
        ("address", 2, "string", "required"),
    ),
    "NodeAffinity": (
        ("requiredDuringSchedulingIgnoredDuringExecution", 1, "NodeSelector", "omit ptr"),
        ("preferredDuringSchedulingIgnoredDuringExecution", 2, "[]PreferredSchedulingTerm", "omit list=atomic@1.35"),
    ),
    "NodeCondition": (
        ("type", 1, "string", "required enum=DiskPressure|MemoryPressure|NetworkUnavailable|PIDPressure|Ready enum=@1.35"),
        ("status", 2, "string", "required"),
        ("lastHeartbeatTime", 3, "time", "omit"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "omit"),
        ("message", 6, "string", "omit"),
    ),
    "NodeConfigSource": (("configMap", 2, "ConfigMapNodeConfigSource", "omit ptr"),),
    "NodeConfigStatus": (
        ("assigned", 1, "NodeConfigSource", "omit ptr"),
        ("active", 2, "NodeConfigSource", "omit ptr"),
        ("lastKnownGood", 3, "NodeConfigSource", "omit ptr"),
        ("error", 4, "string", "omit"),
    ),
    "NodeDaemonEndpoints": (("{short}letEndpoint", 1, "DaemonEndpoint", "omit"),),
    "NodeFeatures": (("supplementalGroupsPolicy", 1, "bool", "omit ptr"),),
    "NodeProxyOptions": (("path", 1, "string", "omit"),),
    "NodeResources": (("Capacity", 1, "{}quantity", "required"),),
    "NodeRuntimeHandler": (("name", 1, "string", ""), ("features", 2, "NodeRuntimeHandlerFeatures", "omit ptr")),
    "NodeRuntimeHandlerFeatures": (
        ("recursiveReadOnlyMounts", 1, "bool", "omit ptr"),
        ("userNamespaces", 2, "bool", "omit ptr since=1.31"),
    ),
    "NodeSelector": (("nodeSelectorTerms", 1, "[]NodeSelectorTerm", "required list=atomic@1.35"),),
    "NodeSelectorRequirement": (
        ("key", 1, "string", "required"),
        ("operator", 2, "string", "required enum=DoesNotExist|Exists|Gt|In|Lt|NotIn"),
        ("values", 3, "[]string", "omit list=atomic@1.35"),
    ),
    "NodeSelectorTerm": (
        ("matchExpressions", 1, "[]NodeSelectorRequirement", "omit list=atomic@1.35"),
        ("matchFields", 2, "[]NodeSelectorRequirement", "omit list=atomic@1.35"),
    ),
    "NodeSpec": (
        ("podCIDR", 1, "string", "omit"),
        ("podCIDRs", 7, "[]string", "omit merge set@1.35"),
        ("providerID", 3, "string", "omit"),
        ("unschedulable", 4, "bool", "omit"),
        ("taints", 5, "[]Taint", "omit list=atomic@1.35"),
        ("configSource", 6, "NodeConfigSource", "omit ptr"),
        ("externalID", 2, "string", "omit"),
    ),
    "NodeStatus": (
        ("capacity", 1, "{}quantity", "omit"),
        ("allocatable", 2, "{}quantity", "omit"),
        ("phase", 3, "string", "omit enum=Pending|Running|Terminated"),
        ("conditions", 4, "[]NodeCondition", "omit merge=type keys=type@1.35"),
        ("addresses", 5, "[]NodeAddress", "omit merge=type keys=type@1.35"),
        ("daemonEndpoints", 6, "NodeDaemonEndpoints", "omit"),
        ("nodeInfo", 7, "NodeSystemInfo", "omit"),
        ("images", 8, "[]ContainerImage", "omit list=atomic@1.35"),
        ("volumesInUse", 9, "[]string", "omit list=atomic@1.35"),
        ("volumesAttached", 10, "[]AttachedVolume", "omit list=atomic@1.35"),
        ("config", 11, "NodeConfigStatus", "omit ptr"),
        ("runtimeHandlers", 12, "[]NodeRuntimeHandler", "omit list=atomic since=1.30"),
        ("features", 13, "NodeFeatures", "omit ptr since=1.31"),
        ("declaredFeatures", 14, "[]string", "omit list=atomic since=1.35"),
    ),
    "NodeSwapStatus": (("capacity", 1, "int64", "omit ptr"),),
    "NodeSystemInfo": (
        ("machineID", 1, "string", "required"),
        ("systemUUID", 2, "string", "required"),
        ("bootID", 3, "string", "required"),
        ("kernelVersion", 4, "string", "required"),
        ("osImage", 5, "string", "required"),
        ("containerRuntimeVersion", 6, "string", "required"),
        ("{short}letVersion", 7, "string", "required"),
        ("{short}ProxyVersion", 8, "string", "required"),
        ("operatingSystem", 9, "string", "required"),
        ("architecture", 10, "string", "required"),
        ("swap", 11, "NodeSwapStatus", "omit ptr since=1.33"),
    ),
    "ObjectFieldSelector": (("apiVersion", 1, "string", "omit"), ("fieldPath", 2, "string", "required")),
    "ObjectReference": (
        ("kind", 1, "string", "omit"),
        ("namespace", 2, "string", "omit"),
        ("name", 3, "string", "omit"),
        ("uid", 4, "string", "omit"),
        ("apiVersion", 5, "string", "omit"),
        ("resourceVersion", 6, "string", "omit"),
        ("fieldPath", 7, "string", "omit"),
    ),
    "PersistentVolumeClaimCondition": (
        ("type", 1, "string", "required enum=FileSystemResizePending|Resizing enum=@1.35"),
        ("status", 2, "string", "required"),
        ("lastProbeTime", 3, "time", "omit"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "omit"),
        ("message", 6, "string", "omit"),
    ),
    "PersistentVolumeClaimSpec": (
        ("accessModes", 1, "[]string", "omit enum=ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod@1.35 list=atomic@1.35"),
        ("selector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("resources", 2, "ResourceRequirements", "omit until=1.35"),
        ("resources", 2, "VolumeResourceRequirements", "omit since=1.35"),
        ("volumeName", 3, "string", "omit"),
        ("storageClassName", 5, "string", "omit ptr"),
        ("volumeMode", 6, "string", "omit ptr enum=Block|Filesystem@1.35"),
        ("dataSource", 7, "TypedLocalObjectReference", "omit ptr"),
        ("dataSourceRef", 8, "TypedLocalObjectReference", "omit ptr until=1.35"),
        ("dataSourceRef", 8, "TypedObjectReference", "omit ptr since=1.35"),
        ("volumeAttributesClassName", 9, "string", "omit ptr since=1.29"),
    ),
    "PersistentVolumeClaimStatus": (
        ("phase", 1, "string", "omit enum=Bound|Lost|Pending"),
        ("accessModes", 2, "[]string", "omit enum=ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod@1.35 list=atomic@1.35"),
        ("capacity", 3, "{}quantity", "omit"),
        ("conditions", 4, "[]PersistentVolumeClaimCondition", "omit merge=type keys=type@1.35"),
        ("allocatedResources", 5, "{}quantity", "omit"),
        ("resizeStatus", 6, "string", "omit ptr until=1.35"),
        ("allocatedResourceStatuses", 7, "{}string", "omit granular since=1.28"),
        ("currentVolumeAttributesClassName", 8, "string", "omit ptr since=1.29"),
        ("modifyVolumeStatus", 9, "ModifyVolumeStatus", "omit ptr since=1.29"),
    ),
    "PersistentVolumeClaimTemplate": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "PersistentVolumeClaimSpec", "required"),
    ),
    "PersistentVolumeClaimVolumeSource": (("claimName", 1, "string", "required"), ("readOnly", 2, "bool", "omit")),
    "PersistentVolumeSource": (
        ("gcePersistentDisk", 1, "GCEPersistentDiskVolumeSource", "omit ptr"),
        ("awsElasticBlockStore", 2, "AWSElasticBlockStoreVolumeSource", "omit ptr"),
        ("hostPath", 3, "HostPathVolumeSource", "omit ptr"),
        ("glusterfs", 4, "GlusterfsPersistentVolumeSource", "omit ptr"),
        ("nfs", 5, "NFSVolumeSource", "omit ptr"),
        ("rbd", 6, "RBDPersistentVolumeSource", "omit ptr"),
        ("iscsi", 7, "ISCSIPersistentVolumeSource", "omit ptr"),
        ("cinder", 8, "CinderPersistentVolumeSource", "omit ptr"),
        ("cephfs", 9, "CephFSPersistentVolumeSource", "omit ptr"),
        ("fc", 10, "FCVolumeSource", "omit ptr"),
        ("flocker", 11, "FlockerVolumeSource", "omit ptr"),
        ("flexVolume", 12, "FlexPersistentVolumeSource", "omit ptr"),
        ("azureFile", 13, "AzureFilePersistentVolumeSource", "omit ptr"),
        ("vsphereVolume", 14, "VsphereVirtualDiskVolumeSource", "omit ptr"),
        ("quobyte", 15, "QuobyteVolumeSource", "omit ptr"),
        ("azureDisk", 16, "AzureDiskVolumeSource", "omit ptr"),
        ("photonPersistentDisk", 17, "PhotonPersistentDiskVolumeSource", "omit ptr"),
        ("portworxVolume", 18, "PortworxVolumeSource", "omit ptr"),
        ("scaleIO", 19, "ScaleIOPersistentVolumeSource", "omit ptr"),
        ("local", 20, "LocalVolumeSource", "omit ptr"),
        ("storageos", 21, "StorageOSPersistentVolumeSource", "omit ptr"),
        ("csi", 22, "CSIPersistentVolumeSource", "omit ptr"),
    ),
    "PersistentVolumeSpec": (
        ("capacity", 1, "{}quantity", "omit"),
        ("", 2, "PersistentVolumeSource", "inline"),
        ("accessModes", 3, "[]string", "omit enum=ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod@1.35 list=atomic@1.35"),
        ("claimRef", 4, "ObjectReference", "omit ptr granular@1.35"),
        ("persistentVolumeReclaimPolicy", 5, "string", "omit enum=Delete|Recycle|Retain"),
        ("storageClassName", 6, "string", "omit"),
        ("mountOptions", 7, "[]string", "omit list=atomic@1.35"),
        ("volumeMode", 8, "string", "omit ptr enum=Block|Filesystem@1.35"),
        ("nodeAffinity", 9, "VolumeNodeAffinity", "omit ptr"),
        ("volumeAttributesClassName", 10, "string", "omit ptr since=1.29"),
    ),
    "PersistentVolumeStatus": (
        ("phase", 1, "string", "omit enum=Available|Bound|Failed|Pending|Released"),
        ("message", 2, "string", "omit"),
        ("reason", 3, "string", "omit"),
        ("lastPhaseTransitionTime", 4, "time", "omit ptr since=1.28"),
    ),
    "PhotonPersistentDiskVolumeSource": (("pdID", 1, "string", "required"), ("fsType", 2, "string", "omit")),
    "PodAffinity": (
        ("requiredDuringSchedulingIgnoredDuringExecution", 1, "[]PodAffinityTerm", "omit list=atomic@1.35"),
        ("preferredDuringSchedulingIgnoredDuringExecution", 2, "[]WeightedPodAffinityTerm", "omit list=atomic@1.35"),
    ),
    "PodAffinityTerm": (
        ("labelSelector", 1, "meta/v1.LabelSelector", "omit ptr"),
        ("namespaces", 2, "[]string", "omit list=atomic@1.35"),
        ("topologyKey", 3, "string", "required"),
        ("namespaceSelector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("matchLabelKeys", 5, "[]string", "omit list=atomic since=1.29"),
        ("mismatchLabelKeys", 6, "[]string", "omit list=atomic since=1.29"),
    ),
    "PodAntiAffinity": (
        ("requiredDuringSchedulingIgnoredDuringExecution", 1, "[]PodAffinityTerm", "omit list=atomic@1.35"),
        ("preferredDuringSchedulingIgnoredDuringExecution", 2, "[]WeightedPodAffinityTerm", "omit list=atomic@1.35"),
    ),
    "PodAttachOptions": (
        ("stdin", 1, "bool", "omit"),
        ("stdout", 2, "bool", "omit"),
        ("stderr", 3, "bool", "omit"),
        ("tty", 4, "bool", "omit"),
        ("container", 5, "string", "omit"),
    ),
    "PodCertificateProjection": (
        ("signerName", 1, "string", "required omit"),
        ("keyType", 2, "string", "required omit"),
        ("maxExpirationSeconds", 3, "int32", "omit ptr"),
        ("credentialBundlePath", 4, "string", "omit"),
        ("keyPath", 5, "string", "omit"),
        ("certificateChainPath", 6, "string", "omit"),
        ("userAnnotations", 7, "{}string", "omit since=1.35"),
    ),
    "PodCondition": (
        ("type", 1, "string", "required enum=ContainersReady|Initialized|PodScheduled|Ready enum=@1.35"),
        ("observedGeneration", 7, "int64", "omit since=1.33"),
        ("status", 2, "string", "required"),
        ("lastProbeTime", 3, "time", "omit"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "omit"),
        ("message", 6, "string", "omit"),
    ),
    "PodDNSConfig": (
        ("nameservers", 1, "[]string", "omit list=atomic@1.35"),
        ("searches", 2, "[]string", "omit list=atomic@1.35"),
        ("options", 3, "[]PodDNSConfigOption", "omit list=atomic@1.35"),
    ),
    "PodDNSConfigOption": (("name", 1, "string", "omit"), ("value", 2, "string", "omit ptr")),
    "PodExecOptions": (
        ("stdin", 1, "bool", "omit"),
        ("stdout", 2, "bool", "omit"),
        ("stderr", 3, "bool", "omit"),
        ("tty", 4, "bool", "omit"),
        ("container", 5, "string", "omit"),
        ("command", 6, "[]string", "required list=atomic@1.35"),
    ),
    "PodExtendedResourceClaimStatus": (
        ("requestMappings", 1, "[]ContainerExtendedResourceRequest", "required list=atomic"),
        ("resourceClaimName", 2, "string", "required"),
    ),
    "PodIP": (("ip", 1, "string", "omit until=1.35"), ("ip", 1, "string", "required since=1.35")),
    "PodLogOptions": (
        ("container", 1, "string", "omit"),
        ("follow", 2, "bool", "omit"),
        ("previous", 3, "bool", "omit"),
        ("sinceSeconds", 4, "int64", "omit ptr"),
        ("sinceTime", 5, "time", "omit ptr"),
        ("timestamps", 6, "bool", "omit"),
        ("tailLines", 7, "int64", "omit ptr"),
        ("limitBytes", 8, "int64", "omit ptr"),
        ("insecureSkipTLSVerifyBackend", 9, "bool", "omit"),
        ("stream", 10, "string", "omit ptr since=1.32"),
    ),
    "PodOS": (("name", 1, "string", "required"),),
    "PodPortForwardOptions": (("ports", 1, "[]int32", "omit list=atomic@1.35"),),
    "PodProxyOptions": (("path", 1, "string", "omit"),),
    "PodReadinessGate": (
        ("conditionType", 1, "string", "required enum=ContainersReady|Initialized|PodScheduled|Ready enum=@1.35"),
    ),
    "PodResourceClaim": (
        ("name", 1, "string", "required"),
        ("resourceClaimName", 3, "string", "omit ptr since=1.31"),
        ("resourceClaimTemplateName", 4, "string", "omit ptr since=1.31"),
    ),
    "PodResourceClaimStatus": (("name", 1, "string", "required"), ("resourceClaimName", 2, "string", "omit ptr")),
    "PodSchedulingGate": (("name", 1, "string", "required"),),
    "PodSecurityContext": (
        ("seLinuxOptions", 1, "SELinuxOptions", "omit ptr"),
        ("windowsOptions", 8, "WindowsSecurityContextOptions", "omit ptr"),
        ("runAsUser", 2, "int64", "omit ptr"),
        ("runAsGroup", 6, "int64", "omit ptr"),
        ("runAsNonRoot", 3, "bool", "omit ptr"),
        ("supplementalGroups", 4, "[]int64", "omit list=atomic@1.35"),
        ("supplementalGroupsPolicy", 12, "string", "omit ptr enum=Merge|Strict since=1.31"),
        ("fsGroup", 5, "int64", "omit ptr"),
        ("sysctls", 7, "[]Sysctl", "omit list=atomic@1.35"),
        ("fsGroupChangePolicy", 9, "string", "omit ptr enum=Always|OnRootMismatch@1.35"),
        ("seccompProfile", 10, "SeccompProfile", "omit ptr"),
        ("appArmorProfile", 11, "AppArmorProfile", "omit ptr since=1.30"),
        ("seLinuxChangePolicy", 13, "string", "omit ptr since=1.32"),
    ),
    "PodSignature": (("podController", 1, "meta/v1.OwnerReference", "omit ptr"),),
    "PodSpec": (
        ("volumes", 1, "[]Volume", "omit merge=name retainKeys keys=name@1.35"),
        ("initContainers", 20, "[]Container", "omit merge=name keys=name@1.35"),
        ("containers", 2, "[]Container", "required merge=name keys=name@1.35"),
        ("ephemeralContainers", 34, "[]EphemeralContainer", "omit merge=name keys=name@1.35"),
        ("restartPolicy", 3, "string", "omit enum=Always|Never|OnFailure"),
        ("terminationGracePeriodSeconds", 4, "int64", "omit ptr"),
        ("activeDeadlineSeconds", 5, "int64", "omit ptr"),
        ("dnsPolicy", 6, "string", "omit enum=ClusterFirst|ClusterFirstWithHostNet|Default|None"),
        ("nodeSelector", 7, "{}string", "omit atomic"),
        ("serviceAccountName", 8, "string", "omit"),
        ("serviceAccount", 9, "string", "omit"),
        ("automountServiceAccountToken", 21, "bool", "omit ptr"),
        ("nodeName", 10, "string", "omit"),
        ("hostNetwork", 11, "bool", "omit"),
        ("hostPID", 12, "bool", "omit"),
        ("hostIPC", 13, "bool", "omit"),
        ("shareProcessNamespace", 27, "bool", "omit ptr"),
        ("securityContext", 14, "PodSecurityContext", "omit ptr"),
        ("imagePullSecrets", 15, "[]LocalObjectReference", "omit merge=name keys=name@1.35"),
        ("hostname", 16, "string", "omit"),
        ("subdomain", 17, "string", "omit"),
        ("affinity", 18, "Affinity", "omit ptr"),
        ("schedulerName", 19, "string", "omit"),
        ("tolerations", 22, "[]Toleration", "omit list=atomic@1.35"),
        ("hostAliases", 23, "[]HostAlias", "omit merge=ip keys=ip@1.35"),
        ("priorityClassName", 24, "string", "omit"),
        ("priority", 25, "int32", "omit ptr"),
        ("dnsConfig", 26, "PodDNSConfig", "omit ptr"),
        ("readinessGates", 28, "[]PodReadinessGate", "omit list=atomic@1.35"),
        ("runtimeClassName", 29, "string", "omit ptr"),
        ("enableServiceLinks", 30, "bool", "omit ptr"),
        ("preemptionPolicy", 31, "string", "omit ptr enum=Never|PreemptLowerPriority@1.35"),
        ("overhead", 32, "{}quantity", "omit"),
        ("topologySpreadConstraints", 33, "[]TopologySpreadConstraint", "omit merge=topologyKey keys=topologyKey,whenUnsatisfiable"),
        ("setHostnameAsFQDN", 35, "bool", "omit ptr"),
        ("os", 36, "PodOS", "omit ptr"),
        ("hostUsers", 37, "bool", "omit ptr since=1.25"),
        ("schedulingGates", 38, "[]PodSchedulingGate", "omit merge=name keys=name since=1.26"),
        ("resourceClaims", 39, "[]PodResourceClaim", "omit merge=name retainKeys keys=name since=1.26"),
        ("resources", 40, "ResourceRequirements", "omit ptr since=1.32"),
        ("hostnameOverride", 41, "string", "omit ptr since=1.34"),
        ("workloadRef", 42, "WorkloadReference", "omit ptr since=1.35"),
    ),
    "PodStatus": (
        ("observedGeneration", 17, "int64", "omit since=1.33"),
        ("phase", 1, "string", "omit enum=Failed|Pending|Running|Succeeded|Unknown"),
        ("conditions", 2, "[]PodCondition", "omit merge=type keys=type@1.35"),
        ("message", 3, "string", "omit"),
        ("reason", 4, "string", "omit"),
        ("nominatedNodeName", 11, "string", "omit"),
        ("hostIP", 5, "string", "omit"),
        ("hostIPs", 16, "[]HostIP", "omit merge=ip list=atomic since=1.28"),
        ("podIP", 6, "string", "omit"),
        ("podIPs", 12, "[]PodIP", "omit merge=ip keys=ip@1.35"),
        ("startTime", 7, "time", "omit ptr"),
        ("initContainerStatuses", 10, "[]ContainerStatus", "omit list=atomic@1.35"),
        ("containerStatuses", 8, "[]ContainerStatus", "omit list=atomic@1.35"),
        ("qosClass", 9, "string", "omit enum=BestEffort|Burstable|Guaranteed"),
        ("ephemeralContainerStatuses", 13, "[]ContainerStatus", "omit list=atomic@1.35"),
        ("resize", 14, "string", "omit since=1.27"),
        ("resourceClaimStatuses", 15, "[]PodResourceClaimStatus", "omit merge=name retainKeys keys=name since=1.28"),
        ("extendedResourceClaimStatus", 18, "PodExtendedResourceClaimStatus", "omit ptr since=1.34"),
        ("allocatedResources", 19, "{}quantity", "omit since=1.35"),
        ("resources", 20, "ResourceRequirements", "omit ptr since=1.35"),
    ),
    "PodStatusResult": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("status", 2, "PodStatus", "omit")),
    "PodTemplate": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("template", 2, "PodTemplateSpec", "omit")),
    "PodTemplateSpec": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("spec", 2, "PodSpec", "omit")),
    "PortStatus": (
        ("port", 1, "int32", "required"),
        ("protocol", 2, "string", "required enum=SCTP|TCP|UDP"),
        ("error", 3, "string", "omit ptr"),
    ),
    "PortworxVolumeSource": (
        ("volumeID", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("readOnly", 3, "bool", "omit"),
    ),
    "Preconditions": (("uid", 1, "string", "omit ptr"),),
    "PreferAvoidPodsEntry": (
        ("podSignature", 1, "PodSignature", "required"),
        ("evictionTime", 2, "time", "omit"),
        ("reason", 3, "string", "omit"),
        ("message", 4, "string", "omit"),
    ),
    "PreferredSchedulingTerm": (("weight", 1, "int32", "required"), ("preference", 2, "NodeSelectorTerm", "required")),
    "Probe": (
        ("", 1, "ProbeHandler", "inline"),
        ("initialDelaySeconds", 2, "int32", "omit"),
        ("timeoutSeconds", 3, "int32", "omit"),
        ("periodSeconds", 4, "int32", "omit"),
        ("successThreshold", 5, "int32", "omit"),
        ("failureThreshold", 6, "int32", "omit"),
        ("terminationGracePeriodSeconds", 7, "int64", "omit ptr"),
    ),
    "ProbeHandler": (
        ("exec", 1, "ExecAction", "omit ptr"),
        ("httpGet", 2, "HTTPGetAction", "omit ptr"),
        ("tcpSocket", 3, "TCPSocketAction", "omit ptr"),
        ("grpc", 4, "GRPCAction", "omit ptr"),
    ),
    "ProjectedVolumeSource": (
        ("sources", 1, "[]VolumeProjection", "list=atomic@1.35"),
        ("defaultMode", 2, "int32", "omit ptr"),
    ),
    "QuobyteVolumeSource": (
        ("registry", 1, "string", "required"),
        ("volume", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
        ("user", 4, "string", "omit"),
        ("group", 5, "string", "omit"),
        ("tenant", 6, "string", "omit"),
    ),
    "RBDPersistentVolumeSource": (
        ("monitors", 1, "[]string", "required list=atomic@1.35"),
        ("image", 2, "string", "required"),
        ("fsType", 3, "string", "omit"),
        ("pool", 4, "string", 'omit default="rbd"@1.35'),
        ("user", 5, "string", 'omit default="admin"@1.35'),
        ("keyring", 6, "string", 'omit default="/etc/ceph/keyring"@1.35'),
        ("secretRef", 7, "SecretReference", "omit ptr"),
        ("readOnly", 8, "bool", "omit"),
    ),
    "RBDVolumeSource": (
        ("monitors", 1, "[]string", "required list=atomic@1.35"),
        ("image", 2, "string", "required"),
        ("fsType", 3, "string", "omit"),
        ("pool", 4, "string", 'omit default="rbd"@1.35'),
        ("user", 5, "string", 'omit default="admin"@1.35'),
        ("keyring", 6, "string", 'omit default="/etc/ceph/keyring"@1.35'),
        ("secretRef", 7, "LocalObjectReference", "omit ptr"),
        ("readOnly", 8, "bool", "omit"),
    ),
    "RangeAllocation": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("range", 2, "string", "required"),
        ("data", 3, "bytes", "required"),
    ),
    "ReplicationControllerCondition": CONDITION,
    "ReplicationControllerSpec": (
        ("replicas", 1, "int32", "omit ptr default=1@1.35"),
        ("minReadySeconds", 4, "int32", "omit default=0@1.35"),
        ("selector", 2, "{}string", "omit atomic"),
        ("template", 3, "PodTemplateSpec", "omit ptr"),
    ),
    "ReplicationControllerStatus": (
        ("replicas", 1, "int32", "required"),
        ("fullyLabeledReplicas", 2, "int32", "omit"),
        ("readyReplicas", 4, "int32", "omit"),
        ("availableReplicas", 5, "int32", "omit"),
        ("observedGeneration", 3, "int64", "omit"),
        ("conditions", 6, "[]ReplicationControllerCondition", "omit merge=type keys=type@1.35"),
    ),
    "ResourceClaim": (("name", 1, "string", "required"), ("request", 2, "string", "omit since=1.31")),
    "ResourceFieldSelector": (
        ("containerName", 1, "string", "omit"),
        ("resource", 2, "string", "required"),
        ("divisor", 3, "quantity", "omit"),
    ),
    "ResourceHealth": (("resourceID", 1, "string", "required"), ("health", 2, "string", "omit")),
    "ResourceQuotaSpec": (
        ("hard", 1, "{}quantity", "omit"),
        ("scopes", 2, "[]string", "omit enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass@1.35 list=atomic@1.35"),
        ("scopeSelector", 3, "ScopeSelector", "omit ptr"),
    ),
    "ResourceQuotaStatus": (("hard", 1, "{}quantity", "omit"), ("used", 2, "{}quantity", "omit")),
    "ResourceRequirements": (
        ("limits", 1, "{}quantity", "omit"),
        ("requests", 2, "{}quantity", "omit"),
        ("claims", 3, "[]ResourceClaim", "omit keys=name since=1.26"),
    ),
    "ResourceStatus": (("name", 1, "string", "required"), ("resources", 2, "[]ResourceHealth", "omit keys=resourceID")),
    "SELinuxOptions": (
        ("user", 1, "string", "omit"),
        ("role", 2, "string", "omit"),
        ("type", 3, "string", "omit"),
        ("level", 4, "string", "omit"),
    ),
    "ScaleIOPersistentVolumeSource": (
        ("gateway", 1, "string", "required"),
        ("system", 2, "string", "required"),
        ("secretRef", 3, "SecretReference", "required ptr"),
        ("sslEnabled", 4, "bool", "omit"),
        ("protectionDomain", 5, "string", "omit"),
        ("storagePool", 6, "string", "omit"),
        ("storageMode", 7, "string", 'omit default="ThinProvisioned"@1.35'),
        ("volumeName", 8, "string", "omit"),
        ("fsType", 9, "string", 'omit default="xfs"@1.35'),
        ("readOnly", 10, "bool", "omit"),
    ),
    "ScaleIOVolumeSource": (
        ("gateway", 1, "string", "required"),
        ("system", 2, "string", "required"),
        ("secretRef", 3, "LocalObjectReference", "required ptr"),
        ("sslEnabled", 4, "bool", "omit"),
        ("protectionDomain", 5, "string", "omit"),
        ("storagePool", 6, "string", "omit"),
        ("storageMode", 7, "string", 'omit default="ThinProvisioned"@1.35'),
        ("volumeName", 8, "string", "omit"),
        ("fsType", 9, "string", 'omit default="xfs"@1.35'),
        ("readOnly", 10, "bool", "omit"),
    ),
    "ScopeSelector": (("matchExpressions", 1, "[]ScopedResourceSelectorRequirement", "omit list=atomic@1.35"),),
    "ScopedResourceSelectorRequirement": (
        ("scopeName", 1, "string", "required enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass@1.35"),
        ("operator", 2, "string", "required enum=DoesNotExist|Exists|In|NotIn"),
        ("values", 3, "[]string", "omit list=atomic@1.35"),
    ),
    "SeccompProfile": (
        ("type", 1, "string", "required enum=Localhost|RuntimeDefault|Unconfined"),
        ("localhostProfile", 2, "string", "omit ptr"),
    ),
    "Secret": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("immutable", 5, "bool", "omit ptr"),
        ("data", 2, "{}bytes", "omit"),
        ("stringData", 4, "{}string", "omit"),
        ("type", 3, "string", "omit"),
    ),
    "SecretEnvSource": (("", 1, "LocalObjectReference", "inline"), ("optional", 2, "bool", "omit ptr")),
    "SecretKeySelector": (
        ("", 1, "LocalObjectReference", "inline"),
        ("key", 2, "string", "required"),
        ("optional", 3, "bool", "omit ptr"),
    ),
    "SecretProjection": (
        ("", 1, "LocalObjectReference", "inline"),
        ("items", 2, "[]KeyToPath", "omit list=atomic@1.35"),
        ("optional", 4, "bool", "omit ptr"),
    ),
    "SecretReference": (("name", 1, "string", "omit"), ("namespace", 2, "string", "omit")),
    "SecretVolumeSource": (
        ("secretName", 1, "string", "omit"),
        ("items", 2, "[]KeyToPath", "omit list=atomic@1.35"),
        ("defaultMode", 3, "int32", "omit ptr"),
        ("optional", 4, "bool", "omit ptr"),
    ),
    "SecurityContext": (
        ("capabilities", 1, "Capabilities", "omit ptr"),
        ("privileged", 2, "bool", "omit ptr"),
        ("seLinuxOptions", 3, "SELinuxOptions", "omit ptr"),
        ("windowsOptions", 10, "WindowsSecurityContextOptions", "omit ptr"),
        ("runAsUser", 4, "int64", "omit ptr"),
        ("runAsGroup", 8, "int64", "omit ptr"),
        ("runAsNonRoot", 5, "bool", "omit ptr"),
        ("readOnlyRootFilesystem", 6, "bool", "omit ptr"),
        ("allowPrivilegeEscalation", 7, "bool", "omit ptr"),
        ("procMount", 9, "string", "omit ptr enum=Default|Unmasked@1.35"),
        ("seccompProfile", 11, "SeccompProfile", "omit ptr"),
        ("appArmorProfile", 12, "AppArmorProfile", "omit ptr since=1.30"),
    ),
    "SerializedReference": (("reference", 1, "ObjectReference", "omit"),),
    "ServiceAccount": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("secrets", 2, "[]ObjectReference", "omit merge=name keys=name@1.35"),
        ("imagePullSecrets", 3, "[]LocalObjectReference", "omit list=atomic@1.35"),
        ("automountServiceAccountToken", 4, "bool", "omit ptr"),
    ),
    "ServiceAccountTokenProjection": (
        ("audience", 1, "string", "omit"),
        ("expirationSeconds", 2, "int64", "omit ptr"),
        ("path", 3, "string", "required"),
    ),
    "ServicePort": (
        ("name", 1, "string", "omit"),
        ("protocol", 2, "string", 'omit default="TCP" enum=SCTP|TCP|UDP'),
        ("appProtocol", 6, "string", "omit ptr"),
        ("port", 3, "int32", "required"),
        ("targetPort", 4, "int-or-string", "omit"),
        ("nodePort", 5, "int32", "omit"),
    ),
    "ServiceProxyOptions": (("path", 1, "string", "omit"),),
    "ServiceSpec": (
        ("ports", 1, "[]ServicePort", "omit merge=port keys=port,protocol"),
        ("selector", 2, "{}string", "omit atomic"),
        ("clusterIP", 3, "string", "omit"),
        ("clusterIPs", 18, "[]string", "omit list=atomic"),
        ("type", 4, "string", "omit enum=ClusterIP|ExternalName|LoadBalancer|NodePort"),
        ("externalIPs", 5, "[]string", "omit list=atomic@1.35"),
        ("sessionAffinity", 7, "string", "omit enum=ClientIP|None"),
        ("loadBalancerIP", 8, "string", "omit"),
        ("loadBalancerSourceRanges", 9, "[]string", "omit list=atomic@1.35"),
        ("externalName", 10, "string", "omit"),
        ("externalTrafficPolicy", 11, "string", "omit enum=Cluster|Local"),
        ("healthCheckNodePort", 12, "int32", "omit"),
        ("publishNotReadyAddresses", 13, "bool", "omit"),
        ("sessionAffinityConfig", 14, "SessionAffinityConfig", "omit ptr"),
        ("ipFamilies", 19, "[]string", "omit list=atomic enum=|IPv4|IPv6@1.35"),
        ("ipFamilyPolicy", 17, "string", "omit ptr enum=PreferDualStack|RequireDualStack|SingleStack@1.35"),
        ("allocateLoadBalancerNodePorts", 20, "bool", "omit ptr"),
        ("loadBalancerClass", 21, "string", "omit ptr"),
        ("internalTrafficPolicy", 22, "string", "omit ptr enum=Cluster|Local@1.35"),
        ("trafficDistribution", 23, "string", "omit ptr since=1.30"),
    ),
    "ServiceStatus": (
        ("loadBalancer", 1, "LoadBalancerStatus", "omit"),
        ("conditions", 2, "[]meta/v1.Condition", "omit merge=type keys=type"),
    ),
    "SessionAffinityConfig": (("clientIP", 1, "ClientIPConfig", "omit ptr"),),
    "SleepAction": (("seconds", 1, "int64", "required"),),
    "StorageOSPersistentVolumeSource": (
        ("volumeName", 1, "string", "omit"),
        ("volumeNamespace", 2, "string", "omit"),
        ("fsType", 3, "string", "omit"),
        ("readOnly", 4, "bool", "omit"),
        ("secretRef", 5, "ObjectReference", "omit ptr"),
    ),
    "StorageOSVolumeSource": (
        ("volumeName", 1, "string", "omit"),
        ("volumeNamespace", 2, "string", "omit"),
        ("fsType", 3, "string", "omit"),
        ("readOnly", 4, "bool", "omit"),
        ("secretRef", 5, "LocalObjectReference", "omit ptr"),
    ),
    "Sysctl": (("name", 1, "string", "required"), ("value", 2, "string", "required")),
    "TCPSocketAction": (("port", 1, "int-or-string", "required"), ("host", 2, "string", "omit")),
    "Taint": (
        ("key", 1, "string", "required"),
        ("value", 2, "string", "omit"),
        ("effect", 3, "string", "required enum=NoExecute|NoSchedule|PreferNoSchedule"),
        ("timeAdded", 4, "time", "omit ptr"),
    ),
    "Toleration": (
        ("key", 1, "string", "omit"),
        ("operator", 2, "string", "omit enum=Equal|Exists enum=Equal|Exists|Gt|Lt@1.35"),
        ("value", 3, "string", "omit"),
        ("effect", 4, "string", "omit enum=NoExecute|NoSchedule|PreferNoSchedule"),
        ("tolerationSeconds", 5, "int64", "omit ptr"),
    ),
    "TopologySelectorLabelRequirement": (
        ("key", 1, "string", "required"),
        ("values", 2, "[]string", "required list=atomic@1.35"),
    ),
    "TopologySelectorTerm": (
        ("matchLabelExpressions", 1, "[]TopologySelectorLabelRequirement", "omit list=atomic@1.35"),
    ),
    "TopologySpreadConstraint": (
        ("maxSkew", 1, "int32", "required"),
        ("topologyKey", 2, "string", "required"),
        ("whenUnsatisfiable", 3, "string", "required enum=DoNotSchedule|ScheduleAnyway"),
        ("labelSelector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("minDomains", 5, "int32", "omit ptr since=1.24"),
        ("nodeAffinityPolicy", 6, "string", "omit ptr enum=Honor|Ignore since=1.25"),
        ("nodeTaintsPolicy", 7, "string", "omit ptr enum=Honor|Ignore since=1.25"),
        ("matchLabelKeys", 8, "[]string", "omit list=atomic since=1.25"),
    ),
    "TypedLocalObjectReference": (
        ("apiGroup", 1, "string", "ptr"),
        ("kind", 2, "string", "required"),
        ("name", 3, "string", "required"),
    ),
    "TypedObjectReference": (
        ("apiGroup", 1, "string", "ptr"),
        ("kind", 2, "string", "required"),
        ("name", 3, "string", "required"),
        ("namespace", 4, "string", "omit ptr"),
    ),
    "Volume": (("name", 1, "string", "required"), ("", 2, "VolumeSource", "inline")),
    "VolumeDevice": (("name", 1, "string", "required"), ("devicePath", 2, "string", "required")),
    "VolumeMount": (
        ("name", 1, "string", "required"),
        ("readOnly", 2, "bool", "omit"),
        ("recursiveReadOnly", 7, "string", "omit ptr since=1.30"),
        ("mountPath", 3, "string", "required"),
        ("subPath", 4, "string", "omit"),
        ("mountPropagation", 5, "string", "omit ptr enum=Bidirectional|HostToContainer|None@1.35"),
        ("subPathExpr", 6, "string", "omit"),
    ),
    "VolumeMountStatus": (
        ("name", 1, "string", "required"),
        ("mountPath", 2, "string", "required"),
        ("readOnly", 3, "bool", "omit"),
        ("recursiveReadOnly", 4, "string", "omit ptr"),
    ),
    "VolumeNodeAffinity": (("required", 1, "NodeSelector", "omit ptr"),),
    "VolumeProjection": (
        ("secret", 1, "SecretProjection", "omit ptr"),
        ("downwardAPI", 2, "DownwardAPIProjection", "omit ptr"),
        ("configMap", 3, "ConfigMapProjection", "omit ptr"),
        ("serviceAccountToken", 4, "ServiceAccountTokenProjection", "omit ptr"),
        ("clusterTrustBundle", 5, "ClusterTrustBundleProjection", "omit ptr since=1.29"),
        ("podCertificate", 6, "PodCertificateProjection", "omit ptr since=1.34"),
    ),
    "VolumeResourceRequirements": (("limits", 1, "{}quantity", "omit"), ("requests", 2, "{}quantity", "omit")),
    "VolumeSource": (
        ("hostPath", 1, "HostPathVolumeSource", "omit ptr"),
        ("emptyDir", 2, "EmptyDirVolumeSource", "omit ptr"),
        ("gcePersistentDisk", 3, "GCEPersistentDiskVolumeSource", "omit ptr"),
        ("awsElasticBlockStore", 4, "AWSElasticBlockStoreVolumeSource", "omit ptr"),
        ("gitRepo", 5, "GitRepoVolumeSource", "omit ptr"),
        ("secret", 6, "SecretVolumeSource", "omit ptr"),
        ("nfs", 7, "NFSVolumeSource", "omit ptr"),
        ("iscsi", 8, "ISCSIVolumeSource", "omit ptr"),
        ("glusterfs", 9, "GlusterfsVolumeSource", "omit ptr"),
        ("persistentVolumeClaim", 10, "PersistentVolumeClaimVolumeSource", "omit ptr"),
        ("rbd", 11, "RBDVolumeSource", "omit ptr"),
        ("flexVolume", 12, "FlexVolumeSource", "omit ptr"),
        ("cinder", 13, "CinderVolumeSource", "omit ptr"),
        ("cephfs", 14, "CephFSVolumeSource", "omit ptr"),
        ("flocker", 15, "FlockerVolumeSource", "omit ptr"),
        ("downwardAPI", 16, "DownwardAPIVolumeSource", "omit ptr"),
        ("fc", 17, "FCVolumeSource", "omit ptr"),
        ("azureFile", 18, "AzureFileVolumeSource", "omit ptr"),
        ("configMap", 19, "ConfigMapVolumeSource", "omit ptr"),
        ("vsphereVolume", 20, "VsphereVirtualDiskVolumeSource", "omit ptr"),
        ("quobyte", 21, "QuobyteVolumeSource", "omit ptr"),
        ("azureDisk", 22, "AzureDiskVolumeSource", "omit ptr"),
        ("photonPersistentDisk", 23, "PhotonPersistentDiskVolumeSource", "omit ptr"),
        ("projected", 26, "ProjectedVolumeSource", "omit ptr"),
        ("portworxVolume", 24, "PortworxVolumeSource", "omit ptr"),
        ("scaleIO", 25, "ScaleIOVolumeSource", "omit ptr"),
        ("storageos", 27, "StorageOSVolumeSource", "omit ptr"),
        ("csi", 28, "CSIVolumeSource", "omit ptr"),
        ("ephemeral", 29, "EphemeralVolumeSource", "omit ptr"),
        ("image", 30, "ImageVolumeSource", "omit ptr since=1.31"),
    ),
    "VsphereVirtualDiskVolumeSource": (
        ("volumePath", 1, "string", "required"),
        ("fsType", 2, "string", "omit"),
        ("storagePolicyName", 3, "string", "omit"),
        ("storagePolicyID", 4, "string", "omit"),
    ),
    "WeightedPodAffinityTerm": (
        ("weight", 1, "int32", "required"),
        ("podAffinityTerm", 2, "PodAffinityTerm", "required"),
    ),
    "WindowsSecurityContextOptions": (
        ("gmsaCredentialSpecName", 1, "string", "omit ptr"),
        ("gmsaCredentialSpec", 2, "string", "omit ptr"),
        ("runAsUserName", 3, "string", "omit ptr"),
        ("hostProcess", 4, "bool", "omit ptr"),
    ),
    "WorkloadReference": (
        ("name", 1, "string", "required"),
        ("podGroup", 2, "string", "required"),
        ("podGroupReplicaKey", 3, "string", "omit"),
    ),
}
