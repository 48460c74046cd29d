"""What runs pods and sets their number: apps, batch, autoscaling, policy."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

_SELECTOR: Final = "The pods that belong to it, by their labels; the template must have them. Cannot be changed."
_TEMPLATE: Final = "The pods that are made."
_WANTED: Final = "How many pods are wanted; 1 without it."
_THERE: Final = "How many pods there are."
_UTILIZATION: Final = "The average over all pods that is aimed at, in percent of what they request."
_VALUE: Final = "The average over all pods that is aimed at."

TEXTS: Final[Texts] = {
    "apps.Deployment": {"": "Keeps a number of equal pods running and replaces them step by step when they change."},
    "apps.DeploymentSpec": {
        "": "How many pods of which sort, and how they are replaced.",
        "paused": "Whether changes of the template wait.",
        "progressDeadlineSeconds": "After how many seconds without progress that is told as a failure; 600 without it.",
        "replicas": _WANTED,
        "revisionHistoryLimit": "How many old ReplicaSets are kept, to go back to; 10 without it.",
        "selector": _SELECTOR,
        "strategy": "How old pods are replaced by new ones.",
        "template": _TEMPLATE,
    },
    "apps.DeploymentStatus": {
        "": "How far a deployment has come.",
        "replicas": "How many pods there are, of all revisions.",
        "unavailableReplicas": "How many pods are missing until all wanted ones are available.",
        "updatedReplicas": "How many pods are made from the current template.",
    },
    "apps.DeploymentCondition": {"": "One observation about a deployment.", "type": "Available, Progressing or ReplicaFailure.",
                                 "status": "True, False or Unknown."},
    "apps.DeploymentStrategy": {"": "How pods are replaced.", "type": "Recreate (all at once) or RollingUpdate (the default)."},
    "apps.RollingUpdateDeployment": {
        "": "How fast pods are replaced.",
        "maxSurge": "How many pods there may be beyond the wanted number, as a number or in percent; 25% without it.",
        "maxUnavailable": "How many pods may be missing, as a number or in percent; 25% without it.",
    },
    "apps.ReplicaSet": {"": "Keeps a number of equal pods running. Normally made by a Deployment."},
    "apps.ReplicaSetSpec": {"": "How many pods of which sort.", "replicas": _WANTED, "selector": _SELECTOR, "template": _TEMPLATE},
    "apps.ReplicaSetStatus": {"": "How many pods there are.", "replicas": _THERE},
    "apps.ReplicaSetCondition": {"": "One observation about a set of pods.", "status": "True, False or Unknown."},
    "apps.StatefulSet": {"": "Keeps pods running that have lasting names and volumes of their own."},
    "apps.StatefulSetSpec": {
        "": "How many pods of which sort, with which volumes.",
        "persistentVolumeClaimRetentionPolicy": "What becomes of claims whose pods are not wanted any more.",
        "podManagementPolicy": "OrderedReady (one after the other, the default) or Parallel.",
        "replicas": _WANTED,
        "selector": _SELECTOR,
        "serviceName": "The Service under which the pods have their names.",
        "template": "The pods that are made; each is called NAME-NUMBER.",
        "volumeClaimTemplates": "Claims that every pod gets one of.",
    },
    "apps.StatefulSetStatus": {
        "": "How far a set has come.",
        "currentReplicas": "How many pods are of the current revision.",
        "currentRevision": "The revision of the pods that are not updated yet.",
        "replicas": _THERE,
        "updateRevision": "The revision of the pods that are updated.",
        "updatedReplicas": "How many pods are of the revision that is coming.",
    },
    "apps.StatefulSetCondition": {"": "One observation about a set.", "status": "True, False or Unknown."},
    "apps.StatefulSetUpdateStrategy": {"": "How pods are replaced.", "type": "RollingUpdate (the default) or OnDelete."},
    "apps.RollingUpdateStatefulSetStrategy": {
        "": "How pods are replaced step by step.",
        "partition": "Only pods with this number or a higher one are replaced; 0 without it.",
    },
    "apps.StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "": "What becomes of claims.",
        "whenDeleted": "Retain (the default) or Delete, when the set is deleted.",
        "whenScaled": "Retain (the default) or Delete, when fewer pods are wanted.",
    },
    "apps.DaemonSet": {"": "Keeps one pod running on each node, or on some."},
    "apps.DaemonSetSpec": {
        "": "Which pod runs on the nodes.",
        "revisionHistoryLimit": "How many old revisions are kept, to go back to; 10 without it.",
        "selector": _SELECTOR,
        "template": "The pod that each node gets whose labels and taints fit it.",
    },
    "apps.DaemonSetStatus": {
        "": "On how many nodes the pod runs.",
        "currentNumberScheduled": "How many nodes have a pod and should.",
        "desiredNumberScheduled": "How many nodes should have a pod.",
        "numberAvailable": "How many nodes have a pod that has been ready long enough.",
        "numberMisscheduled": "How many nodes have a pod and should not.",
        "numberReady": "How many nodes have a pod that is ready.",
        "numberUnavailable": "How many nodes should have a pod that has been ready long enough, and do not.",
        "updatedNumberScheduled": "How many nodes have a pod of the current template.",
    },
    "apps.DaemonSetCondition": {"": "One observation about a daemon set.", "status": "True, False or Unknown."},
    "apps.DaemonSetUpdateStrategy": {"": "How pods are replaced.", "type": "RollingUpdate (the default) or OnDelete."},
    "apps.RollingUpdateDaemonSet": {
        "": "How pods are replaced step by step.",
        "maxSurge": "On how many nodes an old and a new pod may run together, as a number or in percent; 0 without it.",
        "maxUnavailable": "On how many nodes the pod may be missing, as a number or in percent; 1 without it.",
    },
    "apps.ControllerRevision": {
        "": "A past state of a StatefulSet or DaemonSet, to go back to.",
        "data": "The state. Cannot be changed.",
        "revision": "Its number; higher is later.",
    },
    "batch.Job": {"": "Runs pods until enough of them have ended well."},
    "batch.JobSpec": {
        "": "Which pods run, how often and how long.",
        "activeDeadlineSeconds": "Seconds from the start after which the job is ended as failed.",
        "backoffLimit": "How many failures are accepted before the job has failed; 6 without it.",
        "completionMode": "NonIndexed (the default), or Indexed: each pod has a number.",
        "completions": "How many pods must end well; without it any one of them ends the job.",
        "manualSelector": "Whether selector is set by the client. Seldom a good idea.",
        "parallelism": "How many pods may run at the same time; 1 without it.",
        "selector": "The pods that belong to the job; normally set by the server.",
        "suspend": "If true, no pod runs; those that do are ended.",
        "template": "The pods that run; they must not be restarted always.",
        "ttlSecondsAfterFinished": "Seconds after its end at which the job is deleted; never without it.",
    },
    "batch.JobStatus": {
        "": "How far a job has come.",
        "active": "How many pods run or wait to run.",
        "completedIndexes": "Numbers that are done, as in 1,3-5,7.",
        "failed": "How many pods have failed.",
        "ready": "How many pods are ready.",
        "succeeded": "How many pods have ended well.",
        "uncountedTerminatedPods": "Pods that have ended and are not counted yet.",
    },
    "batch.JobCondition": {"": "One observation about a job.", "type": "Complete, Failed or Suspended.",
                           "status": "True, False or Unknown."},
    "batch.JobTemplateSpec": {"": "What new jobs look like.", "metadata": "Labels and annotations of the jobs.",
                              "spec": "What the jobs do."},
    "batch.UncountedTerminatedPods": {
        "": "Pods that have ended and are not counted yet.", "failed": "Identities of those that have failed.",
        "succeeded": "Identities of those that have ended well.",
    },
    "batch.CronJob": {"": "Starts a job again and again, at set times."},
    "batch.CronJobSpec": {
        "": "Which job, and when.",
        "concurrencyPolicy": "What happens while one still runs: Allow (the default), Forbid or Replace.",
        "failedJobsHistoryLimit": "How many failed jobs are kept; 1 without it.",
        "jobTemplate": "The job that is started.",
        "schedule": "When, in cron's words: minute, hour, day of month, month, day of week.",
        "startingDeadlineSeconds": "How many seconds late a job may still be started.",
        "successfulJobsHistoryLimit": "How many jobs that ended well are kept; 3 without it.",
        "suspend": "If true, no more jobs are started.",
    },
    "batch.CronJobStatus": {
        "": "What has been started.",
        "active": "Jobs that run.",
        "lastScheduleTime": "When a job was last started.",
        "lastSuccessfulTime": "When a job last ended well.",
    },
    "autoscaling.HorizontalPodAutoscaler": {"": "Sets the number of pods of an object by what is measured."},
    "autoscaling.HorizontalPodAutoscalerSpec": {
        "": "Which object, between which numbers, by which metrics.",
        "behavior": "How fast the number may rise and fall.",
        "targetCPUUtilizationPercentage": "The average use of CPU that is aimed at, in percent of what pods request.",
    },
    "autoscaling.HorizontalPodAutoscalerStatus": {
        "": "What was measured, and what follows.",
        "currentCPUUtilizationPercentage": "The average use of CPU, in percent of what pods request.",
        "currentMetrics": "What was measured last.",
        "desiredReplicas": "How many pods there should be.",
    },
    "autoscaling.HorizontalPodAutoscalerCondition": {
        "": "One observation about an autoscaler.", "type": "AbleToScale, ScalingActive or ScalingLimited.",
        "status": "True, False or Unknown.",
    },
    "autoscaling.HorizontalPodAutoscalerBehavior": {
        "": "How fast the number of pods may change.", "scaleDown": "How fast it may fall.", "scaleUp": "How fast it may rise.",
    },
    "autoscaling.HPAScalingRules": {
        "": "How fast the number of pods may change in one direction.",
        "selectPolicy": "Which limit counts: Max, Min, or Disabled.",
        "stabilizationWindowSeconds": "Over how many seconds past results are looked at before it changes.",
    },
    "autoscaling.HPAScalingPolicy": {
        "": "A limit of change.", "type": "Pods or Percent.", "value": "How many pods, or percent of them, in a period.",
    },
    "autoscaling.CrossVersionObjectReference": {"": "An object that has a number of pods."},
    "autoscaling.MetricSpec": {
        "": "A metric, and what is aimed at.",
        "containerResource": "What one container of each pod uses of CPU or memory.",
        "resource": "What pods use of CPU or memory.",
        "type": "Which member counts: Object, Pods, Resource, ContainerResource or External.",
    },
    "autoscaling.MetricStatus": {
        "": "A metric, and what was measured.",
        "containerResource": "What one container of each pod uses of CPU or memory.",
        "resource": "What pods use of CPU or memory.",
        "type": "Which member counts: Object, Pods, Resource, ContainerResource or External.",
    },
    "autoscaling.MetricIdentifier": {"": "The name of a metric.", "selector": "Only series whose labels match."},
    "autoscaling.MetricTarget": {
        "": "The amount that is aimed at.", "averageUtilization": _UTILIZATION, "averageValue": _VALUE,
        "type": "Utilization, Value or AverageValue.", "value": "The amount itself.",
    },
    "autoscaling.MetricValueStatus": {"": "An amount that was measured.", "value": "The amount itself."},
    **{
        f"autoscaling.{name}Metric{part}": {
            "": text,
            "currentAverageUtilization": "The average over all pods, in percent of what they request.",
            "currentAverageValue": "The average over all pods.",
            "currentValue": "The amount that was measured.",
            "metricSelector": "Only series whose labels match.",
            "targetAverageUtilization": _UTILIZATION,
            "targetAverageValue": _VALUE,
            "targetValue": "The amount that is aimed at.",
            **({"name": "cpu, memory or another resource."} if "Resource" in name else {}),
        }
        for name, text in (
            ("ContainerResource", "What one container of each pod uses."),
            ("External", "A metric from outside of the cluster."),
            ("Object", "A metric of one object."),
            ("Pods", "A metric of the pods, averaged over them."),
            ("Resource", "What pods use of a resource."),
        )
        for part in ("Source", "Status")
    },
    "autoscaling.Scale": {"": "The number of pods of an object."},
    "autoscaling.ScaleSpec": {"": "How many pods are wanted.", "replicas": "How many pods are wanted."},
    "autoscaling.ScaleStatus": {
        "": "How many pods there are.", "replicas": _THERE, "selector": "The pods that count, as text for a query.",
    },
    "policy.PodDisruptionBudget": {"": "How many pods of a set must not be taken away on purpose."},
    "policy.PodDisruptionBudgetSpec": {
        "": "Which pods, and how many.",
        "maxUnavailable": "How many pods may be missing after an eviction, as a number or in percent.",
        "minAvailable": "How many pods must be left after an eviction, as a number or in percent.",
        "selector": "The pods that count.",
    },
    "policy.PodDisruptionBudgetStatus": {
        "": "How many pods may be taken away.",
        "currentHealthy": "How many pods are well.",
        "desiredHealthy": "How many pods must be well.",
        "disruptedPods": "Pods that have been evicted and are not gone yet, with the time of that.",
        "disruptionsAllowed": "How many pods may be taken away now.",
        "expectedPods": "How many pods there should be.",
    },
    "policy.Eviction": {"": "The wish that a pod go, as far as its budgets allow.", "deleteOptions": "How it is deleted."},
    "policy.PodSecurityPolicy": {"": "What pods may ask for. Deprecated."},
    "policy.PodSecurityPolicySpec": {
        "": "What pods may ask for.",
        "allowPrivilegeEscalation": "Whether processes may get more rights than their parents have.",
        "allowedCSIDrivers": "CSI drivers of inline volumes that are allowed; none stands for all.",
        "allowedCapabilities": "Capabilities that containers may add.",
        "allowedFlexVolumes": "FlexVolume drivers that are allowed; none stands for all.",
        "allowedHostPaths": "Paths of nodes that are allowed; none stands for all.",
        "allowedProcMountTypes": "Ways to mount /proc that are allowed.",
        "allowedUnsafeSysctls": "Unsafe settings of the kernel that are allowed.",
        "defaultAddCapabilities": "Capabilities that containers get.",
        "defaultAllowPrivilegeEscalation": "What holds for containers that do not say.",
        "forbiddenSysctls": "Settings of the kernel that are not allowed.",
        "hostPorts": "Ports of nodes that are allowed.",
        "requiredDropCapabilities": "Capabilities that containers lose.",
        "runtimeClass": "Runtime classes that are allowed.",
    },
    "policy.AllowedCSIDriver": {"": "A CSI driver that is allowed."},
    "policy.AllowedFlexVolume": {"": "A FlexVolume driver that is allowed."},
    "policy.AllowedHostPath": {"": "Paths of nodes that are allowed.", "pathPrefix": "How the paths begin.",
                               "readOnly": "Whether they must be mounted read-only."},
    **{
        f"policy.{name}StrategyOptions": {"": f"Which {what} are allowed.", "rule": f"How {what} are chosen."}
        for name, what in (
            ("FSGroup", "groups of volumes"), ("RunAsGroup", "groups"), ("RunAsUser", "users"),
            ("SELinux", "labels"), ("SupplementalGroups", "further groups"),
        )
    },
    "policy.RuntimeClassStrategyOptions": {
        "": "Which runtime classes are allowed.",
        "allowedRuntimeClassNames": "Names that pods may give; \"*\" stands for all.",
        "defaultRuntimeClassName": "What holds for pods that give none.",
    },
    "policy.HostPortRange": {"": "A range of ports, both ends included."},
    "policy.IDRange": {"": "A range of numbers, both ends included."},
}
