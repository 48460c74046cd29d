"""node/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Types, Validation

GROUP: Final = "node.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.node.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="RuntimeClass",
        changes=(("1.33", {"warnings": "validate.later_warnings.runtime_class"}),),
        plural="runtimeclasses",
        key="runtimeclasses",
        storage_version="node.{abbr}.io/v1",
        table=Table("tabulate.policies.runtime_class", ("Name|name", "Handler", "Age")),
        validation=Validation(
            create="validate.single_kind_groups.create_runtime_class",
            update="validate.single_kind_groups.update_runtime_class",
        ),
        creates_on_update=True,
        unconditional_update=False,
    ),
)

TYPES: Final[Types] = {
    "Overhead": (("podFixed", 1, "{}quantity", "omit"),),
    "RuntimeClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("handler", 2, "string", "required"),
        ("overhead", 3, "Overhead", "omit ptr"),
        ("scheduling", 4, "Scheduling", "omit ptr"),
    ),
    "Scheduling": (
        ("nodeSelector", 1, "{}string", "omit atomic"),
        ("tolerations", 2, "[]core/v1.Toleration", "omit list=atomic"),
    ),
}
