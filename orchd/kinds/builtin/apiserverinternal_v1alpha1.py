"""apiserverinternal/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Subresource, Table, Types, object_types

GROUP: Final = "internal.apiserver.{abbr}.io"
VERSION: Final = "v1alpha1"
DEFINITIONS: Final = "io.{abbr}.api.apiserverinternal.v1alpha1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="StorageVersion",
        plural="storageversions",
        key="storageversions",
        table=Table(
            "tabulate.policies.storage_version",
            ("Name|name", "CommonEncodingVersion", "StorageVersions", "Age"),
        ),
        unconditional_update=False,
        subresources=(Subresource(name="status"),),
    ),
)

TYPES: Final[Types] = {
    **object_types("StorageVersion", spec="required", status="required"),
    "ServerStorageVersion": (
        ("apiServerID", 1, "string", "omit"),
        ("encodingVersion", 2, "string", "omit"),
        ("decodableVersions", 3, "[]string", "omit set"),
        ("servedVersions", 4, "[]string", "omit set since=1.28"),
    ),
    "StorageVersionCondition": (
        ("type", 1, "string", "required"),
        ("status", 2, "string", "required"),
        ("observedGeneration", 3, "int64", "omit"),
        ("lastTransitionTime", 4, "time", "omit"),
        ("reason", 5, "string", "required"),
        ("message", 6, "string", "omit"),
    ),
    "StorageVersionSpec": (),
    "StorageVersionStatus": (
        ("storageVersions", 1, "[]ServerStorageVersion", "omit keys=apiServerID"),
        ("commonEncodingVersion", 2, "string", "omit ptr"),
        ("conditions", 3, "[]StorageVersionCondition", "omit keys=type"),
    ),
}
