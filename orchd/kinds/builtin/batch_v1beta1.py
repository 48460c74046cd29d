"""batch/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Deprecation, FieldSelectors, Row, VersionRow

GROUP: Final = "batch"
VERSION: Final = "v1beta1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.batch.v1beta1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset(("JobTemplate",))
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="CronJob",
        of="batch/v1",
        deprecated=Deprecation(since="v1.21", removed="v1.25", replacement="batch/v1"),
        fields=FieldSelectors(
            names=("status.successful",),
            unsupported='field label {quoted} not supported for "CronJob"',
        ),
        orphans=True,
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "CronJob": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "CronJobSpec", "omit"),
        ("status", 3, "CronJobStatus", "omit"),
    ),
    "CronJobList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]CronJob", "required"),
    ),
    "CronJobSpec": (
        ("schedule", 1, "string", "required"),
        ("startingDeadlineSeconds", 2, "int64", "omit ptr"),
        ("concurrencyPolicy", 3, "string", "omit"),
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
    "JobTemplate": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("template", 2, "JobTemplateSpec", "omit"),
    ),
    "JobTemplateSpec": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "batch/v1.JobSpec", "omit"),
    ),
}
