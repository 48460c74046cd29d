"""batch/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import batch_v1
from orchd.kinds.rows import Deprecation, FieldSelectors, Row, Types, VersionRow, same_types

GROUP: Final = "batch"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.batch.v1beta1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("JobTemplate",))

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

TYPES: Final[Types] = {
    **same_types(batch_v1.TYPES, "CronJob CronJobStatus"),
    "CronJobSpec": (
        ("schedule", 1, "string", "required"),
        ("startingDeadlineSeconds", 2, "int64", "omit ptr"),
        ("concurrencyPolicy", 3, "string", "omit"),
        ("suspend", 4, "bool", "omit ptr"),
        ("jobTemplate", 5, "JobTemplateSpec", "required"),
        ("successfulJobsHistoryLimit", 6, "int32", "omit ptr"),
        ("failedJobsHistoryLimit", 7, "int32", "omit ptr"),
    ),
    "JobTemplate": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("template", 2, "JobTemplateSpec", "omit")),
    "JobTemplateSpec": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("spec", 2, "batch/v1.JobSpec", "omit")),
}
