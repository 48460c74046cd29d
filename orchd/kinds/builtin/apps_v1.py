"""apps/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import (
    CONDITION,
    KindRow,
    Row,
    Subresource,
    Table,
    Types,
    Validation,
    object_types,
    scale_subresource,
)

GROUP: Final = "apps"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.apps.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="ControllerRevision",
        plural="controllerrevisions",
        namespaced=True,
        key="controllerrevisions",
        table=Table("tabulate.workloads.controller_revision", ("Name|name", "Controller", "Revision", "Age")),
        strategy="RevisionStrategy",
        validation=Validation(
            create="validate.apps.create_controller_revision",
            update="validate.apps.update_controller_revision",
        ),
        verbatim="data",
    ),
    KindRow(
        kind="DaemonSet",
        plural="daemonsets",
        namespaced=True,
        short_names=("ds",),
        categories=("all",),
        key="daemonsets",
        table=Table(
            "tabulate.workloads.daemon_set",
            (
                "Name|name", "Desired|integer", "Current|integer", "Ready|integer", "Up-to-date|integer",
                "Available|integer", "Node Selector", "Age", "Containers|wide", "Images|wide", "Selector|wide",
            ),
        ),
        strategy="DaemonSetStrategy",
        validation=Validation(create="validate.apps.create_daemon_set", update="validate.apps.update_daemon_set"),
        warnings="validate.warnings.template",
        pod_template=("spec", "template"),
        generation=("spec",),
        subresources=(Subresource(name="status", update="validate.apps.update_daemon_set_status"),),
    ),
    KindRow(
        kind="Deployment",
        plural="deployments",
        namespaced=True,
        short_names=("deploy",),
        categories=("all",),
        key="deployments",
        table=Table(
            "tabulate.workloads.deployment",
            (
                "Name|name", "Ready", "Up-to-date", "Available", "Age", "Containers|wide", "Images|wide",
                "Selector|wide",
            ),
            {
                "Ready": "Number of the pod with ready state",
                "Up-to-date": (
                    "Total number of non-terminated pods targeted by this deployment that have the desired "
                    "template spec."
                ),
                "Available": (
                    "Total number of available pods (ready for at least minReadySeconds) targeted by this deployment."
                ),
                "Containers": "Names of each container in the template.",
                "Images": "Images referenced by each container in the template.",
                "Selector": (
                    "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the "
                    "ones affected by this deployment."
                ),
            },
        ),
        strategy="DeploymentStrategy",
        validation=Validation(create="validate.apps.create_deployment", update="validate.apps.update_deployment"),
        warnings="validate.warnings.workload",
        pod_template=("spec", "template"),
        generation=("spec",),
        subresources=(
            scale_subresource("apps", "deployments/scale", until="1.28"),
            scale_subresource("apps", "deployments", since="1.28"),
            Subresource(
                name="status",
                update="validate.apps.update_deployment_status",
                resets=("spec", "metadata.labels"),
            ),
        ),
    ),
    KindRow(
        kind="ReplicaSet",
        plural="replicasets",
        namespaced=True,
        short_names=("rs",),
        categories=("all",),
        key="replicasets",
        table=Table(
            "tabulate.workloads.replica_set",
            (
                "Name|name", "Desired|integer", "Current|integer", "Ready|integer", "Age", "Containers|wide",
                "Images|wide", "Selector|wide",
            ),
        ),
        validation=Validation(create="validate.apps.create_replica_set", update="validate.apps.update_replica_set"),
        warnings="validate.warnings.workload",
        pod_template=("spec", "template"),
        generation=("spec",),
        subresources=(
            scale_subresource("apps", "replicasets/scale", until="1.28"),
            scale_subresource("apps", "replicasets", since="1.28"),
            Subresource(name="status", update="validate.apps.update_replica_set_status"),
        ),
    ),
    KindRow(
        kind="StatefulSet",
        plural="statefulsets",
        namespaced=True,
        short_names=("sts",),
        categories=("all",),
        key="statefulsets",
        table=Table(
            "tabulate.workloads.stateful_set",
            ("Name|name", "Ready", "Age", "Containers|wide", "Images|wide"),
            {
                "Ready": "Number of the pod with ready state",
                "Containers": "Names of each container in the template.",
                "Images": "Images referenced by each container in the template.",
            },
        ),
        validation=Validation(create="validate.apps.create_stateful_set", update="validate.apps.update_stateful_set"),
        warnings="validate.warnings.stateful_set",
        strategy="StatefulSetStrategy",
        pod_template=("spec", "template"),
        generation=("spec",),
        subresources=(
            scale_subresource("apps", "statefulsets"),
            Subresource(name="status", update="validate.apps.update_stateful_set_status"),
        ),
    ),
)

TYPES: Final[Types] = {
    **object_types("DaemonSet Deployment ReplicaSet StatefulSet"),
    "ControllerRevision": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("data", 2, "raw", "omit"),
        ("revision", 3, "int64", "required"),
    ),
    "DaemonSetCondition": CONDITION,
    "DaemonSetSpec": (
        ("selector", 1, "meta/v1.LabelSelector", "required ptr"),
        ("template", 2, "core/v1.PodTemplateSpec", "required"),
        ("updateStrategy", 3, "DaemonSetUpdateStrategy", "omit"),
        ("minReadySeconds", 4, "int32", "omit"),
        ("revisionHistoryLimit", 6, "int32", "omit ptr"),
    ),
    "DaemonSetStatus": (
        ("currentNumberScheduled", 1, "int32", "required"),
        ("numberMisscheduled", 2, "int32", "required"),
        ("desiredNumberScheduled", 3, "int32", "required"),
        ("numberReady", 4, "int32", "required"),
        ("observedGeneration", 5, "int64", "omit"),
        ("updatedNumberScheduled", 6, "int32", "omit"),
        ("numberAvailable", 7, "int32", "omit"),
        ("numberUnavailable", 8, "int32", "omit"),
        ("collisionCount", 9, "int32", "omit ptr"),
        ("conditions", 10, "[]DaemonSetCondition", "omit merge=type keys=type@1.35"),
    ),
    "DaemonSetUpdateStrategy": (
        ("type", 1, "string", "omit enum=OnDelete|RollingUpdate"),
        ("rollingUpdate", 2, "RollingUpdateDaemonSet", "omit ptr"),
    ),
    "DeploymentCondition": (
        ("type", 1, "string", "required"),
        ("status", 2, "string", "required"),
        ("lastUpdateTime", 6, "time", "omit"),
        ("lastTransitionTime", 7, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
    ),
    "DeploymentSpec": (
        ("replicas", 1, "int32", "omit ptr"),
        ("selector", 2, "meta/v1.LabelSelector", "required ptr"),
        ("template", 3, "core/v1.PodTemplateSpec", "required"),
        ("strategy", 4, "DeploymentStrategy", "omit retainKeys"),
        ("minReadySeconds", 5, "int32", "omit"),
        ("revisionHistoryLimit", 6, "int32", "omit ptr"),
        ("paused", 7, "bool", "omit"),
        ("progressDeadlineSeconds", 9, "int32", "omit ptr"),
    ),
    "DeploymentStatus": (
        ("observedGeneration", 1, "int64", "omit"),
        ("replicas", 2, "int32", "omit"),
        ("updatedReplicas", 3, "int32", "omit"),
        ("readyReplicas", 7, "int32", "omit"),
        ("availableReplicas", 4, "int32", "omit"),
        ("unavailableReplicas", 5, "int32", "omit"),
        ("terminatingReplicas", 9, "int32", "omit ptr since=1.33"),
        ("conditions", 6, "[]DeploymentCondition", "omit merge=type keys=type@1.35"),
        ("collisionCount", 8, "int32", "omit ptr"),
    ),
    "DeploymentStrategy": (
        ("type", 1, "string", "omit enum=Recreate|RollingUpdate"),
        ("rollingUpdate", 2, "RollingUpdateDeployment", "omit ptr"),
    ),
    "ReplicaSetCondition": CONDITION,
    "ReplicaSetSpec": (
        ("replicas", 1, "int32", "omit ptr"),
        ("minReadySeconds", 4, "int32", "omit"),
        ("selector", 2, "meta/v1.LabelSelector", "required ptr"),
        ("template", 3, "core/v1.PodTemplateSpec", "omit"),
    ),
    "ReplicaSetStatus": (
        ("replicas", 1, "int32", "required"),
        ("fullyLabeledReplicas", 2, "int32", "omit"),
        ("readyReplicas", 4, "int32", "omit"),
        ("availableReplicas", 5, "int32", "omit"),
        ("terminatingReplicas", 7, "int32", "omit ptr since=1.33"),
        ("observedGeneration", 3, "int64", "omit"),
        ("conditions", 6, "[]ReplicaSetCondition", "omit merge=type keys=type@1.35"),
    ),
    "RollingUpdateDaemonSet": (
        ("maxUnavailable", 1, "int-or-string", "omit ptr"),
        ("maxSurge", 2, "int-or-string", "omit ptr"),
    ),
    "RollingUpdateDeployment": (
        ("maxUnavailable", 1, "int-or-string", "omit ptr"),
        ("maxSurge", 2, "int-or-string", "omit ptr"),
    ),
    "RollingUpdateStatefulSetStrategy": (
        ("partition", 1, "int32", "omit ptr"),
        ("maxUnavailable", 2, "int-or-string", "omit ptr since=1.24"),
    ),
    "StatefulSetCondition": CONDITION,
    "StatefulSetOrdinals": (("start", 1, "int32", ""),),
    "StatefulSetPersistentVolumeClaimRetentionPolicy": (
        ("whenDeleted", 1, "string", "omit"),
        ("whenScaled", 2, "string", "omit"),
    ),
    "StatefulSetSpec": (
        ("replicas", 1, "int32", "omit ptr"),
        ("selector", 2, "meta/v1.LabelSelector", "required ptr"),
        ("template", 3, "core/v1.PodTemplateSpec", "required"),
        ("volumeClaimTemplates", 4, "[]core/v1.PersistentVolumeClaim", "omit list=atomic@1.35"),
        ("serviceName", 5, "string", "required until=1.35"),
        ("serviceName", 5, "string", "since=1.35"),
        ("podManagementPolicy", 6, "string", "omit enum=OrderedReady|Parallel"),
        ("updateStrategy", 7, "StatefulSetUpdateStrategy", "omit"),
        ("revisionHistoryLimit", 8, "int32", "omit ptr"),
        ("minReadySeconds", 9, "int32", "omit"),
        ("persistentVolumeClaimRetentionPolicy", 10, "StatefulSetPersistentVolumeClaimRetentionPolicy", "omit ptr"),
        ("ordinals", 11, "StatefulSetOrdinals", "omit ptr since=1.26"),
    ),
    "StatefulSetStatus": (
        ("observedGeneration", 1, "int64", "omit"),
        ("replicas", 2, "int32", "required"),
        ("readyReplicas", 3, "int32", "omit"),
        ("currentReplicas", 4, "int32", "omit"),
        ("updatedReplicas", 5, "int32", "omit"),
        ("currentRevision", 6, "string", "omit"),
        ("updateRevision", 7, "string", "omit"),
        ("collisionCount", 9, "int32", "omit ptr"),
        ("conditions", 10, "[]StatefulSetCondition", "omit merge=type keys=type@1.35"),
        ("availableReplicas", 11, "int32", "required until=1.35"),
        ("availableReplicas", 11, "int32", "since=1.35"),
    ),
    "StatefulSetUpdateStrategy": (
        ("type", 1, "string", "omit enum=OnDelete|RollingUpdate"),
        ("rollingUpdate", 2, "RollingUpdateStatefulSetStrategy", "omit ptr"),
    ),
}
