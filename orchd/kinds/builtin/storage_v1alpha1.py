"""storage/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Deprecation, Row, VersionRow

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
    "CSIStorageCapacity": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("nodeTopology", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("storageClassName", 3, "string", "required"),
        ("capacity", 4, "quantity", "omit ptr"),
        ("maximumVolumeSize", 5, "quantity", "omit ptr"),
    ),
    "CSIStorageCapacityList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]CSIStorageCapacity", "required keys=name"),
    ),
    "VolumeAttachment": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "VolumeAttachmentSpec", "required"),
        ("status", 3, "VolumeAttachmentStatus", "omit"),
    ),
    "VolumeAttachmentList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]VolumeAttachment", "required"),
    ),
    "VolumeAttachmentSource": (
        ("persistentVolumeName", 1, "string", "omit ptr"),
        ("inlineVolumeSpec", 2, "core/v1.PersistentVolumeSpec", "omit ptr"),
    ),
    "VolumeAttachmentSpec": (
        ("attacher", 1, "string", "required"),
        ("source", 2, "VolumeAttachmentSource", "required"),
        ("nodeName", 3, "string", "required"),
    ),
    "VolumeAttachmentStatus": (
        ("attached", 1, "bool", "required"),
        ("attachmentMetadata", 2, "{}string", "omit"),
        ("attachError", 3, "VolumeError", "omit ptr"),
        ("detachError", 4, "VolumeError", "omit ptr"),
    ),
    "VolumeError": (("time", 1, "time", "omit"), ("message", 2, "string", "omit")),
}
