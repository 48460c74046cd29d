"""Descriptions of the workload kinds: apps, batch, autoscaling, policy."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

_SELECTOR: Final = "Label selector of the pods this object manages. Must match the template's labels. Immutable."
_TEMPLATE: Final = "Template of the pods that are created."
_WANTED: Final = "Desired number of pods. Default: 1."
_THERE: Final = "Number of pods that exist."
_UTILIZATION: Final = "Target average utilization over all pods, in percent of their requests."
_VALUE: Final = "Target average value over all pods."

TEXTS: Final[Texts] = {
    "apps.Deployment": {"": "Runs a number of identical pods and rolls out changes of their template."},
    "apps.DeploymentSpec": {
        "": "Desired state of a Deployment.",
        "paused": "Pauses rollouts: template changes are recorded but not rolled out. Default: false.",
        "progressDeadlineSeconds": "Seconds a rollout may take without progress before it is reported as failed. Default: 600.",
        "replicas": _WANTED,
        "revisionHistoryLimit": "Number of old ReplicaSets retained for rollback. Default: 10.",
        "selector": _SELECTOR,
        "strategy": "How pods of the old template are replaced by pods of the new one.",
        "template": _TEMPLATE,
    },
    "apps.DeploymentStatus": {
        "": "Observed state of a Deployment.",
        "replicas": "Number of pods of all revisions.",
        "terminatingReplicas": "Number of pods that are being deleted and have not terminated.",
        "unavailableReplicas": "Number of pods still missing for the Deployment to have all its replicas available.",
        "updatedReplicas": "Number of pods created from the current template.",
    },
    "apps.DeploymentCondition": {
        "": "Condition of a deployment.",
        "type": "Available, Progressing or ReplicaFailure.",
        "status": "True, False or Unknown.",
    },
    "apps.DeploymentStrategy": {
        "": "Strategy of a rollout.",
        "type": "Recreate (delete all old pods first) or RollingUpdate (the default).",
    },
    "apps.RollingUpdateDeployment": {
        "": "Parameters of a rolling update.",
        "maxSurge": "Pods allowed above the desired number, as a number or a percentage. Default: 25%.",
        "maxUnavailable": "Pods that may be unavailable during the update, as a number or a percentage. Default: 25%.",
    },
    "apps.ReplicaSet": {"": "Runs a number of identical pods. Usually created by a Deployment."},
    "apps.ReplicaSetSpec": {
        "": "Desired state of a ReplicaSet.",
        "replicas": _WANTED,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
    },
    "apps.ReplicaSetStatus": {
        "": "Observed state of a ReplicaSet.",
        "replicas": _THERE,
        "terminatingReplicas": "Number of pods that are being deleted and have not terminated.",
    },
    "apps.ReplicaSetCondition": {
        "": "Condition of a ReplicaSet.",
        "status": "True, False or Unknown.",
        "type": "ReplicaFailure.",
    },
    "apps.StatefulSet": {"": "Runs pods that keep their name and their volumes across restarts and rescheduling."},
    "apps.StatefulSetSpec": {
        "": "Desired state of a StatefulSet.",
        "ordinals": "Numbering of the pods. Default: from 0.",
        "persistentVolumeClaimRetentionPolicy": "Whether claims created from volumeClaimTemplates are retained or deleted.",
        "podManagementPolicy": "Order of pod creation and deletion: OrderedReady (one after the other, the default) or Parallel.",
        "replicas": _WANTED,
        "revisionHistoryLimit": "Number of old revisions retained for rollback. Default: 10.",
        "selector": _SELECTOR,
        "serviceName": "Headless Service that gives the pods their DNS names.",
        "template": "Template of the pods that are created. Pods are named NAME-ORDINAL.",
        "volumeClaimTemplates": "Templates of claims; every pod gets one claim of each.",
    },
    "apps.StatefulSetStatus": {
        "": "Observed state of a StatefulSet.",
        "currentReplicas": "Number of pods at currentRevision.",
        "currentRevision": "Revision of the pods that are not updated yet.",
        "replicas": _THERE,
        "updateRevision": "Revision of the pods that are updated.",
        "updatedReplicas": "Number of pods at updateRevision.",
    },
    "apps.StatefulSetCondition": {
        "": "Condition of a StatefulSet.",
        "status": "True, False or Unknown.",
        "type": "Type of the condition.",
    },
    "apps.StatefulSetUpdateStrategy": {"": "Strategy of an update.", "type": "RollingUpdate (the default) or OnDelete."},
    "apps.RollingUpdateStatefulSetStrategy": {
        "": "Parameters of a rolling update.",
        "maxUnavailable": "Pods that may be unavailable during the update, as a number or a percentage. Default: 1.",
        "partition": "Pods with this ordinal or a higher one are updated; those below keep the old revision. Default: 0.",
    },
    "apps.StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "": "Retention of claims created from volumeClaimTemplates.",
        "whenDeleted": "Retain (the default) or Delete claims when the StatefulSet is deleted.",
        "whenScaled": "Retain (the default) or Delete claims of pods removed by scaling down.",
    },
    "apps.DaemonSet": {"": "Runs one pod on every matching node."},
    "apps.DaemonSetSpec": {
        "": "Desired state of a DaemonSet.",
        "revisionHistoryLimit": "Number of old revisions retained for rollback. Default: 10.",
        "selector": _SELECTOR,
        "template": "Template of the pod that runs on every node whose labels and taints match it.",
    },
    "apps.DaemonSetStatus": {
        "": "Observed state of a DaemonSet.",
        "currentNumberScheduled": "Number of nodes that should run the pod and have one.",
        "desiredNumberScheduled": "Number of nodes that should run the pod.",
        "numberAvailable": "Number of nodes that should run the pod and have one ready for at least minReadySeconds.",
        "numberMisscheduled": "Number of nodes that run the pod but should not.",
        "numberReady": "Number of nodes that should run the pod and have one that is ready.",
        "numberUnavailable": "Number of nodes that should run the pod and have none available.",
        "updatedNumberScheduled": "Number of nodes that run a pod of the current template.",
    },
    "apps.DaemonSetCondition": {
        "": "Condition of a DaemonSet.",
        "status": "True, False or Unknown.",
        "type": "Type of the condition.",
    },
    "apps.DaemonSetUpdateStrategy": {"": "Strategy of an update.", "type": "RollingUpdate (the default) or OnDelete."},
    "apps.RollingUpdateDaemonSet": {
        "": "Parameters of a rolling update.",
        "maxSurge": "Nodes that may run an old and a new pod together, as a number or a percentage. Default: 0.",
        "maxUnavailable": "Nodes whose pod may be unavailable during the update, as a number or a percentage. Default: 1.",
    },
    "apps.ControllerRevision": {
        "": "Immutable snapshot of the template of a StatefulSet or DaemonSet, used for rollback.",
        "data": "Content of the snapshot. Immutable.",
        "revision": "Number of the revision; a higher number is newer.",
    },
    "batch.Job": {"": "Runs pods until a given number of them has completed successfully."},
    "batch.JobSpec": {
        "": "Desired behavior of a Job.",
        "activeDeadlineSeconds": "Seconds from the start of the Job after which it is terminated as failed.",
        "backoffLimit": "Number of pod failures tolerated before the Job is marked as failed. Default: 6.",
        "backoffLimitPerIndex": (
            "Number of pod failures tolerated for each index before the index fails. Only used with Indexed. "
            "Immutable."
        ),
        "completionMode": "NonIndexed (the default), or Indexed: every pod has a completion index.",
        "completions": "Number of pods that must succeed. When unset, the success of any pod completes the Job.",
        "managedBy": "Controller that runs the Job, as DOMAIN/PATH. Default: the built-in one. Immutable.",
        "manualSelector": "Allows the client to set selector itself. Default: false.",
        "maxFailedIndexes": (
            "Number of failed indexes after which the Job is marked as failed. Only used with backoffLimitPerIndex."
        ),
        "parallelism": "Maximum number of pods running at the same time. Default: 1.",
        "podFailurePolicy": "Rules for failed pods, applied before backoffLimit. Requires restartPolicy Never.",
        "podReplacementPolicy": (
            "When a pod is replaced: TerminatingOrFailed (the default), or Failed to wait for its end. With "
            "podFailurePolicy, Failed."
        ),
        "selector": "Label selector of the pods of the Job. Normally set by the server.",
        "successPolicy": "Rules by which the Job succeeds before all indexes do. Only used with Indexed.",
        "suspend": "Suspends the Job: active pods are deleted and no new ones are created. Default: false.",
        "template": "Template of the pods. restartPolicy must be Never or OnFailure.",
        "ttlSecondsAfterFinished": "Seconds after completion until the Job is deleted. When unset, it is not deleted.",
    },
    "batch.JobStatus": {
        "": "Observed state of a Job.",
        "active": "Number of pending and running pods.",
        "completedIndexes": "Completed indexes as a list of ranges, such as 1,3-5,7.",
        "completionTime": "Time at which the Job completed successfully.",
        "failed": "Number of pods that failed.",
        "failedIndexes": "Failed indexes as a list of ranges, such as 1,3-5,7. Only set with backoffLimitPerIndex.",
        "ready": "Number of pods with a Ready condition.",
        "startTime": "Time at which the controller started the Job. Reset when the Job is resumed.",
        "succeeded": "Number of pods that succeeded.",
        "terminating": "Number of pods that are being deleted and have not terminated.",
        "uncountedTerminatedPods": "Terminated pods that are not counted in succeeded or failed yet.",
    },
    "batch.JobCondition": {
        "": "Condition of a Job.",
        "type": "Type of the condition, such as Complete, Failed or Suspended.",
        "status": "True, False or Unknown.",
    },
    "batch.JobTemplateSpec": {
        "": "Template of the Jobs that a CronJob creates.",
        "metadata": "Labels and annotations of the Jobs.",
        "spec": "Specification of the Jobs.",
    },
    "batch.UncountedTerminatedPods": {
        "": "UIDs of terminated pods that are not counted in the status of the Job yet.", "failed": "UIDs of failed pods.",
        "succeeded": "UIDs of succeeded pods.",
    },
    "batch.CronJob": {"": "Creates Jobs on a schedule."},
    "batch.CronJobSpec": {
        "": "Desired behavior of a CronJob.",
        "concurrencyPolicy": (
            "Handling of a run that is due while the previous one is active: Allow (the default), Forbid or Replace."
        ),
        "failedJobsHistoryLimit": "Number of failed Jobs retained. Default: 1.",
        "jobTemplate": "Template of the Jobs that are created.",
        "schedule": "Schedule in cron format: minute, hour, day of month, month, day of week.",
        "startingDeadlineSeconds": "Seconds after its scheduled time until which a missed run may still be started.",
        "successfulJobsHistoryLimit": "Number of successful Jobs retained. Default: 3.",
        "suspend": "Suspends subsequent runs; active Jobs continue. Default: false.",
        "timeZone": "Time zone of the schedule by its IANA name, such as Europe/Berlin. Default: that of the controller.",
    },
    "batch.CronJobStatus": {
        "": "Observed state of a CronJob.",
        "active": "References to the Jobs that are running.",
        "lastScheduleTime": "Time at which a Job was last scheduled.",
        "lastSuccessfulTime": "Time at which a Job last completed successfully.",
    },
    "autoscaling.HorizontalPodAutoscaler": {"": "Scales the number of pods of a workload according to observed metrics."},
    "autoscaling.HorizontalPodAutoscalerSpec": {
        "": "Desired behavior of a HorizontalPodAutoscaler.",
        "behavior": "Rate limits for scaling up and down.",
        "targetCPUUtilizationPercentage": "Target average CPU utilization over all pods, in percent of their requests.",
    },
    "autoscaling.HorizontalPodAutoscalerStatus": {
        "": "Observed state of a HorizontalPodAutoscaler.",
        "currentCPUUtilizationPercentage": "Current average CPU utilization over all pods, in percent of their requests.",
        "currentMetrics": "Last measured values of the metrics.",
        "desiredReplicas": "Number of pods last computed by the autoscaler.",
    },
    "autoscaling.HorizontalPodAutoscalerCondition": {
        "": "Condition of an autoscaler.", "type": "AbleToScale, ScalingActive or ScalingLimited.",
        "status": "True, False or Unknown.",
    },
    "autoscaling.HorizontalPodAutoscalerBehavior": {
        "": "Scaling behavior in both directions.",
        "scaleDown": "Policies for scaling down.",
        "scaleUp": "Policies for scaling up.",
    },
    "autoscaling.HPAScalingRules": {
        "": "Scaling policies for one direction.",
        "policies": "Limits on the rate of change.",
        "selectPolicy": "Policy that applies when several match: Max (the default), Min, or Disabled to forbid scaling.",
        "stabilizationWindowSeconds": "Seconds of past recommendations considered while scaling, to prevent flapping.",
        "tolerance": (
            "Relative deviation of a metric from its target below which nothing is scaled, such as 0.05. Default: "
            "that of the cluster."
        ),
    },
    "autoscaling.HPAScalingPolicy": {
        "": "Limit on the change within one period.",
        "type": "Pods or Percent.",
        "value": "Maximum change within periodSeconds, in pods or percent.",
    },
    "autoscaling.CrossVersionObjectReference": {
        "": "Reference to an object with a scale subresource.",
    },
    "autoscaling.MetricSpec": {
        "": "Metric and its target.",
        "containerResource": "CPU or memory usage of one container in every pod.",
        "resource": "CPU or memory usage of the pods.",
        "type": (
            "Source of the metric: Object, Pods, Resource, ContainerResource or External. The member of that name must be "
            "set."
        ),
    },
    "autoscaling.MetricStatus": {
        "": "Last measured value of a metric.",
        "containerResource": "CPU or memory usage of one container in every pod.",
        "resource": "CPU or memory usage of the pods.",
        "type": "Source of the metric: Object, Pods, Resource, ContainerResource or External.",
    },
    "autoscaling.MetricIdentifier": {
        "": "Name and selector of a metric.",
        "name": "Name of the metric.",
        "selector": "Label selector for the time series of the metric.",
    },
    "autoscaling.MetricTarget": {
        "": "Target value of a metric.", "averageUtilization": _UTILIZATION, "averageValue": _VALUE,
        "type": "Utilization, Value or AverageValue.", "value": "Target value of the metric.",
    },
    "autoscaling.MetricValueStatus": {"": "Measured value of a metric.", "value": "Measured value of the metric."},
    **{
        f"autoscaling.{name}Metric{part}": {
            "": text,
            "currentAverageUtilization": "Current average utilization over all pods, in percent of their requests.",
            "currentAverageValue": "Current average value over all pods.",
            "currentValue": "Current value of the metric.",
            "metricSelector": "Label selector for the time series of the metric.",
            "targetAverageUtilization": _UTILIZATION,
            "targetAverageValue": _VALUE,
            "targetValue": "Target value of the metric.",
            **({"name": "Name of the resource, such as cpu or memory."} if "Resource" in name else {}),
        }
        for name, text in (
            ("ContainerResource", "Resource usage of one container in every pod."),
            ("External", "Metric that is not associated with an object of the cluster."),
            ("Object", "Metric of a single object."),
            ("Pods", "Metric averaged over the pods."),
            ("Resource", "Resource usage of the pods."),
        )
        for part in ("Source", "Status")
    },
    "autoscaling.Scale": {"": "Number of pods of a scalable object."},
    "autoscaling.ScaleSpec": {"": "Desired scale of an object.", "replicas": "Desired number of pods."},
    "autoscaling.ScaleStatus": {
        "": "Observed scale of an object.",
        "replicas": _THERE,
        "selector": "Label selector of the counted pods, in query string format.",
    },
    "policy.PodDisruptionBudget": {
        "": "Limits the number of pods of an application that voluntary evictions may make unavailable.",
    },
    "policy.PodDisruptionBudgetSpec": {
        "": "Desired behavior of a PodDisruptionBudget.",
        "maxUnavailable": "Pods that may be unavailable after an eviction, as a number or a percentage.",
        "minAvailable": "Pods that must remain available after an eviction, as a number or a percentage.",
        "selector": "Label selector of the pods that the budget covers.",
        "unhealthyPodEvictionPolicy": (
            "Eviction of running pods that are not ready: IfHealthyBudget (only if the application is not disrupted, "
            "the default) or AlwaysAllow."
        ),
    },
    "policy.PodDisruptionBudgetStatus": {
        "": "Observed state of a PodDisruptionBudget.",
        "currentHealthy": "Number of healthy pods.",
        "desiredHealthy": "Minimum number of healthy pods.",
        "disruptedPods": (
            "Pods whose eviction was accepted but whose deletion is not observed yet, with the time of the eviction."
        ),
        "disruptionsAllowed": "Number of evictions currently allowed.",
        "expectedPods": "Total number of pods that the budget covers.",
    },
    "policy.Eviction": {
        "": "Request to evict a pod, subject to its disruption budgets.",
        "deleteOptions": "Options of the deletion.",
    },
    "policy.PodSecurityPolicy": {"": "Restricts the security settings that pods may request. Deprecated."},
    "policy.PodSecurityPolicySpec": {
        "": "Restrictions of a PodSecurityPolicy.",
        "allowPrivilegeEscalation": "Whether processes may gain more privileges than their parent.",
        "allowedCSIDrivers": "Allowed CSI drivers of inline volumes. Empty allows all.",
        "allowedCapabilities": "Capabilities that containers may add.",
        "allowedFlexVolumes": "Allowed FlexVolume drivers. Empty allows all.",
        "allowedHostPaths": "Allowed host paths. Empty allows all.",
        "allowedProcMountTypes": "Allowed values of procMount.",
        "allowedUnsafeSysctls": "Allowed unsafe sysctls; a trailing \"*\" matches a prefix.",
        "defaultAddCapabilities": "Capabilities added to containers by default.",
        "defaultAllowPrivilegeEscalation": "Default of allowPrivilegeEscalation for containers that do not set it.",
        "forbiddenSysctls": "Forbidden sysctls; a trailing \"*\" matches a prefix.",
        "fsGroup": "Allowed values of fsGroup.",
        "hostIPC": "Whether pods may use the IPC namespace of the node. Default: false.",
        "hostNetwork": "Whether pods may use the network namespace of the node. Default: false.",
        "hostPID": "Whether pods may use the process ID namespace of the node. Default: false.",
        "hostPorts": "Allowed ranges of host ports.",
        "privileged": "Whether containers may run in privileged mode. Default: false.",
        "readOnlyRootFilesystem": "Requires a read-only root file system. Default: false.",
        "requiredDropCapabilities": "Capabilities that containers must drop.",
        "runAsGroup": "Allowed values of runAsGroup. When unset, all.",
        "runAsUser": "Allowed values of runAsUser.",
        "runtimeClass": "Allowed runtime classes.",
        "seLinux": "Allowed SELinux labels.",
        "supplementalGroups": "Allowed values of supplementalGroups.",
        "volumes": "Allowed volume types; \"*\" allows all. Empty allows none.",
    },
    "policy.AllowedCSIDriver": {"": "CSI driver allowed by a policy.", "name": "Name of the driver."},
    "policy.AllowedFlexVolume": {"": "FlexVolume driver allowed by a policy."},
    "policy.AllowedHostPath": {
        "": "Host paths allowed by a policy.",
        "pathPrefix": "Allowed path prefix.",
        "readOnly": "Requires read-only mounts. Default: false.",
    },
    **{
        f"policy.{name}StrategyOptions": {
            "": f"Allowed {what}.",
            "ranges": f"Ranges of allowed {what}.",
            "rule": f"Strategy for the choice of {what}.",
            "seLinuxOptions": "SELinux label that containers must have. Only used with rule MustRunAs.",
        }
        for name, what in (
            ("FSGroup", "group IDs of volumes"), ("RunAsGroup", "primary group IDs"), ("RunAsUser", "user IDs"),
            ("SELinux", "SELinux labels"), ("SupplementalGroups", "supplemental group IDs"),
        )
    },
    "policy.RuntimeClassStrategyOptions": {
        "": "Runtime classes that pods may use.",
        "allowedRuntimeClassNames": "Allowed values of runtimeClassName; \"*\" allows all.",
        "defaultRuntimeClassName": "runtimeClassName of pods that do not set one.",
    },
    "policy.HostPortRange": {"": "Range of ports, both ends included.", "max": "Last port.", "min": "First port."},
    "policy.IDRange": {"": "Range of IDs, both ends included.", "max": "Last ID.", "min": "First ID."},
    "apps.StatefulSetOrdinals": {
        "": "Numbering of the pods of a StatefulSet.",
        "start": "Ordinal of the first pod. Default: 0.",
    },
    "batch.PodFailurePolicy": {
        "": "Rules for failed pods of a Job.",
        "rules": "Rules, evaluated in order; the first that matches applies. At most 20.",
    },
    "batch.PodFailurePolicyRule": {
        "": "Rule for failed pods. Exactly one of onExitCodes and onPodConditions must be set.",
        "action": "FailJob, FailIndex, Ignore (the failure does not count) or Count (it counts for backoffLimit).",
        "onExitCodes": "Exit codes of containers that the rule matches.",
        "onPodConditions": "Pod conditions, any of which the rule matches. At most 20.",
    },
    "batch.PodFailurePolicyOnExitCodesRequirement": {
        "": "Exit codes of containers.",
        "containerName": "Name of the container. When unset, all containers are checked.",
        "operator": "In (the exit code is one of values) or NotIn (it is none of values and not 0).",
        "values": "Exit codes in ascending order, without duplicates. At most 255.",
    },
    "batch.PodFailurePolicyOnPodConditionsPattern": {
        "": "Condition of a failed pod.",
        "status": "Status of the condition: True (the default), False or Unknown.",
        "type": "Type of the condition.",
    },
    "batch.SuccessPolicy": {
        "": "Rules by which an indexed Job succeeds early.",
        "rules": "Rules, the first of which that is met makes the Job succeed. At most 20.",
    },
    "batch.SuccessPolicyRule": {
        "": "Rule by which an indexed Job succeeds early. All members that are set must be met.",
        "succeededCount": "Number of indexes that must succeed, of succeededIndexes if set, else of all.",
        "succeededIndexes": "Indexes as a list of ranges, such as 1,3-5,7. Without succeededCount, all must succeed.",
    },
}
