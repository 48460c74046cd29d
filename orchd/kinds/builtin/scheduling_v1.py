"""scheduling/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Types, Validation

GROUP: Final = "scheduling.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.scheduling.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="PriorityClass",
        plural="priorityclasses",
        short_names=("pc",),
        key="priorityclasses",
        table=Table(
            "tabulate.policies.priority_class",
            ("Name|name", "Value|integer", "Global-Default|boolean", "Age", "PreemptionPolicy|since=1.29"),
            {
                "PreemptionPolicy": "Whether pods of the class preempt pods of lower priority.",
                "Value": (
                    "The value of this priority class. This is the actual priority that pods receive when they "
                    "have the name of this class in their pod spec."
                ),
                "Global-Default": (
                    "globalDefault specifies whether this PriorityClass should be considered as the default "
                    "priority for pods that do not have any priority class. Only one PriorityClass can be marked "
                    "as `globalDefault`. However, if more than one PriorityClasses exists with their "
                    "`globalDefault` field set to true, the smallest value of such global default PriorityClasses "
                    "will be used as the default priority."
                ),
            },
        ),
        strategy="PriorityClassStrategy",
        validation=Validation(
            create="validate.single_kind_groups.create_priority_class",
            update="validate.single_kind_groups.update_priority_class",
        ),
        generation=(),
    ),
)

TYPES: Final[Types] = {
    "PriorityClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("value", 2, "int32", "required"),
        ("globalDefault", 3, "bool", "omit"),
        ("description", 4, "string", "omit"),
        ("preemptionPolicy", 5, "string", "omit ptr enum=Never|PreemptLowerPriority@1.35"),
    ),
}
