"""meta/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types

GROUP: Final = "meta.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    "PartialObjectMetadataList": (
        ("metadata", 2, "meta/v1.ListMeta", "omit"),
        ("items", 1, "[]meta/v1.PartialObjectMetadata", "required"),
    ),
}
