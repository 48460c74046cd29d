"""batch/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import FieldSelectors, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "batch"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.batch.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="CronJob",
        plural="cronjobs",
        namespaced=True,
        short_names=("cj",),
        categories=("all",),
        key="cronjobs",
        storage_version="batch/v1",
        table=Table(
            "tabulate.workloads.cron_job",
            (
                "Name|name",
                "Schedule",
                "Timezone|since=1.27",
                "Suspend|boolean",
                "Active|integer",
                "Last Schedule",
                "Age",
                "Containers|wide",
                "Images|wide",
                "Selector|wide",
            ),
        ),
        validation=Validation(create="validate.batch.create_cron_job", update="validate.batch.update_cron_job"),
        warnings="validate.warnings.cron_job",
        pod_template=("spec", "jobTemplate", "spec", "template"),
        generation=("spec",),
        subresources=(Subresource(name="status"),),
    ),
    KindRow(
        kind="Job",
        plural="jobs",
        namespaced=True,
        categories=("all",),
        key="jobs",
        table=Table(
            "tabulate.workloads.job",
            tuple("Name|name Status|since=1.30 Completions Duration Age Containers|wide Images|wide Selector|wide".split()),
            {"Status": "Status of the job."},
        ),
        fields=FieldSelectors(
            names=("status.successful",),
            values="field_values.job",
            unsupported="field label {quoted} not supported for Job",
        ),
        strategy="JobStrategy",
        validation=Validation(create="validate.batch.create_job", update="validate.batch.update_job"),
        warnings="validate.warnings.workload",
        pod_template=("spec", "template"),
        generation=("spec",),
        orphans=True,
        subresources=(Subresource(name="status", update="validate.batch.update_job_status"),),
    ),
)

TYPES: Final[Types] = {
    **object_types("CronJob Job"),
    "CronJobSpec": (
        ("schedule", 1, "string", "required"),
        ("timeZone", 8, "string", "omit ptr since=1.24"),
        ("startingDeadlineSeconds", 2, "int64", "omit ptr"),
        ("concurrencyPolicy", 3, "string", "omit enum=Allow|Forbid|Replace"),
        ("suspend", 4, "bool", "omit ptr"),
        ("jobTemplate", 5, "JobTemplateSpec", "required"),
        ("successfulJobsHistoryLimit", 6, "int32", "omit ptr"),
        ("failedJobsHistoryLimit", 7, "int32", "omit ptr"),
    ),
    "CronJobStatus": (
        ("active", 1, "[]core/v1.ObjectReference", "omit list=atomic"),
        ("lastScheduleTime", 4, "time", "omit ptr"),
        ("lastSuccessfulTime", 5, "time", "omit ptr"),
    ),
    "JobCondition": (
        ("type", 1, "string", "required enum=Complete|Failed|Suspended enum=@1.35"),
        ("status", 2, "string", "required"),
        ("lastProbeTime", 3, "time", "omit"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "omit"),
        ("message", 6, "string", "omit"),
    ),
    "JobSpec": (
        ("parallelism", 1, "int32", "omit ptr"),
        ("completions", 2, "int32", "omit ptr"),
        ("activeDeadlineSeconds", 3, "int64", "omit ptr"),
        ("podFailurePolicy", 11, "PodFailurePolicy", "omit ptr since=1.25"),
        ("successPolicy", 16, "SuccessPolicy", "omit ptr since=1.30"),
        ("backoffLimit", 7, "int32", "omit ptr"),
        ("backoffLimitPerIndex", 12, "int32", "omit ptr since=1.28"),
        ("maxFailedIndexes", 13, "int32", "omit ptr since=1.28"),
        ("selector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("manualSelector", 5, "bool", "omit ptr"),
        ("template", 6, "core/v1.PodTemplateSpec", "required"),
        ("ttlSecondsAfterFinished", 8, "int32", "omit ptr"),
        ("completionMode", 9, "string", "omit ptr enum=Indexed|NonIndexed@1.35"),
        ("suspend", 10, "bool", "omit ptr"),
        ("podReplacementPolicy", 14, "string", "omit ptr enum=Failed|TerminatingOrFailed since=1.28"),
        ("managedBy", 15, "string", "omit ptr since=1.30"),
    ),
    "JobStatus": (
        ("conditions", 1, "[]JobCondition", "omit merge=type list=atomic"),
        ("startTime", 2, "time", "omit ptr"),
        ("completionTime", 3, "time", "omit ptr"),
        ("active", 4, "int32", "omit"),
        ("succeeded", 5, "int32", "omit"),
        ("failed", 6, "int32", "omit"),
        ("terminating", 11, "int32", "omit ptr since=1.28"),
        ("completedIndexes", 7, "string", "omit"),
        ("failedIndexes", 10, "string", "omit ptr since=1.28"),
        ("uncountedTerminatedPods", 8, "UncountedTerminatedPods", "omit ptr"),
        ("ready", 9, "int32", "omit ptr"),
    ),
    "JobTemplateSpec": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("spec", 2, "JobSpec", "omit")),
    "PodFailurePolicy": (("rules", 1, "[]PodFailurePolicyRule", "required list=atomic"),),
    "PodFailurePolicyOnExitCodesRequirement": (
        ("containerName", 1, "string", "omit ptr"),
        ("operator", 2, "string", "required enum=In|NotIn"),
        ("values", 3, "[]int32", "required set"),
    ),
    "PodFailurePolicyOnPodConditionsPattern": (("type", 1, "string", "required"), ("status", 2, "string", "")),
    "PodFailurePolicyRule": (
        ("action", 1, "string", "required enum=Count|FailIndex|FailJob|Ignore"),
        ("onExitCodes", 2, "PodFailurePolicyOnExitCodesRequirement", "omit ptr"),
        ("onPodConditions", 3, "[]PodFailurePolicyOnPodConditionsPattern", "omit list=atomic"),
    ),
    "SuccessPolicy": (("rules", 1, "[]SuccessPolicyRule", "required list=atomic"),),
    "SuccessPolicyRule": (("succeededIndexes", 1, "string", "omit ptr"), ("succeededCount", 2, "int32", "omit ptr")),
    "UncountedTerminatedPods": (("succeeded", 1, "[]string", "omit set"), ("failed", 2, "[]string", "omit set")),
}
