"""storage/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import storage_v1beta1
from orchd.kinds.rows import Deprecation, Row, VersionRow, same_types

GROUP: Final = "storage.{abbr}.io"
VERSION: Final = "v1alpha1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.storage.v1alpha1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "VolumeAttachment",
        "VolumeAttachmentList",
        "VolumeAttachmentSource",
        "VolumeAttachmentSpec",
        "VolumeAttachmentStatus",
        "VolumeError",
    )
)
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="CSIStorageCapacity",
        of="storage/v1",
        deprecated=Deprecation(since="v1.21", removed="v1.24", replacement="storage.{abbr}.io/v1beta1"),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    **same_types(
        storage_v1beta1.TYPES,
        "CSIStorageCapacity CSIStorageCapacityList VolumeAttachment VolumeAttachmentList "
        "VolumeAttachmentSource VolumeAttachmentSpec VolumeAttachmentStatus VolumeError",
    ),
}
