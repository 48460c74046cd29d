"""policy/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "policy"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.policy.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        namespaced=True,
        short_names=("pdb",),
        key="poddisruptionbudgets",
        storage_version="policy/v1beta1",
        changes=(("1.25", {"storage_version": "policy/v1"}),),
        table=Table(
            "tabulate.workloads.disruption_budget",
            ("Name|name", "Min Available", "Max Unavailable", "Allowed Disruptions|integer", "Age"),
        ),
        validation=Validation(
            create="validate.policy.create_budget",
            update="validate.policy.update_budget",
            own_metadata=False,
        ),
        generation=("spec",),
        unconditional_update=False,
        subresources=(Subresource(name="status", update="validate.policy.update_budget_status"),),
    ),
    KindRow(kind="Eviction"),
)

TYPES: Final[Types] = {
    **object_types("PodDisruptionBudget"),
    "Eviction": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("deleteOptions", 2, "meta/v1.DeleteOptions", "omit ptr"),
    ),
    "PodDisruptionBudgetSpec": (
        ("minAvailable", 1, "int-or-string", "omit ptr"),
        ("selector", 2, "meta/v1.LabelSelector", "omit ptr replace"),
        ("maxUnavailable", 3, "int-or-string", "omit ptr"),
        ("unhealthyPodEvictionPolicy", 4, "string", "omit ptr enum=AlwaysAllow|IfHealthyBudget since=1.26"),
    ),
    "PodDisruptionBudgetStatus": (
        ("observedGeneration", 1, "int64", "omit"),
        ("disruptedPods", 2, "{}time", "omit"),
        ("disruptionsAllowed", 3, "int32", "required"),
        ("currentHealthy", 4, "int32", "required"),
        ("desiredHealthy", 5, "int32", "required"),
        ("expectedPods", 6, "int32", "required"),
        ("conditions", 7, "[]meta/v1.Condition", "omit merge=type keys=type"),
    ),
}
