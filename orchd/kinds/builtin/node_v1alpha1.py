"""node/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import node_v1beta1
from orchd.kinds.rows import Conversion, Row, Types, VersionRow, object_types, same_types

GROUP: Final = "node.{abbr}.io"
VERSION: Final = "v1alpha1"
DEFINITIONS: Final = "io.{abbr}.api.node.v1alpha1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="RuntimeClass",
        of="node/v1",
        conversion=Conversion("conversions.renames.runtime_from_v1alpha1", "conversions.renames.runtime_to_v1alpha1"),
    ),
)

TYPES: Final[Types] = {
    **same_types(node_v1beta1.TYPES, "Overhead Scheduling"),
    **object_types("RuntimeClass", spec="required", status=""),
    "RuntimeClassSpec": (
        ("runtimeHandler", 1, "string", "required"),
        ("overhead", 2, "Overhead", "omit ptr"),
        ("scheduling", 3, "Scheduling", "omit ptr"),
    ),
}
