"""storage/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import storage_v1
from orchd.kinds.rows import Deprecation, Row, Types, VersionRow, same_types

GROUP: Final = "storage.{abbr}.io"
VERSION: Final = "v1alpha1"
DEFINITIONS: Final = "io.{abbr}.api.storage.v1alpha1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "VolumeAttachment VolumeAttachmentList VolumeAttachmentSource VolumeAttachmentSpec VolumeAttachmentStatus "
        "VolumeError"
    ).split()
)

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="CSIStorageCapacity",
        of="storage/v1",
        deprecated=Deprecation(since="v1.21", removed="v1.24", replacement="storage.{abbr}.io/v1beta1"),
    ),
)

TYPES: Final[Types] = {
    **same_types(storage_v1.TYPES, "CSIStorageCapacity VolumeAttachment VolumeAttachmentSource VolumeAttachmentSpec VolumeAttachmentStatus"),
    "CSIStorageCapacityList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]CSIStorageCapacity", "required keys=name"),
    ),
    "VolumeError": (("time", 1, "time", "omit"), ("message", 2, "string", "omit")),
}
