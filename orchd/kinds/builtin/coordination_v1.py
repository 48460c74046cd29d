"""coordination/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Types, Validation, object_types

GROUP: Final = "coordination.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.coordination.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="Lease",
        plural="leases",
        namespaced=True,
        key="leases",
        table=Table(
            "tabulate.policies.lease",
            ("Name|name", "Holder", "Age"),
            {"Holder": "holderIdentity contains the identity of the holder of a current lease."},
        ),
        validation=Validation(
            create="validate.single_kind_groups.create_lease",
            update="validate.single_kind_groups.update_lease",
        ),
        creates_on_update=True,
        unconditional_update=False,
        gathers_changes=True,
    ),
)

TYPES: Final[Types] = {
    **object_types("Lease", status=""),
    "LeaseSpec": (
        ("holderIdentity", 1, "string", "omit ptr"),
        ("leaseDurationSeconds", 2, "int32", "omit ptr"),
        ("acquireTime", 3, "microtime", "omit ptr"),
        ("renewTime", 4, "microtime", "omit ptr"),
        ("leaseTransitions", 5, "int32", "omit ptr"),
        ("strategy", 6, "string", "omit ptr since=1.31"),
        ("preferredHolder", 7, "string", "omit ptr since=1.31"),
    ),
}
