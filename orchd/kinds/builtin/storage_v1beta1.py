"""storage/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import storage_v1, storage_v1alpha1
from orchd.kinds.rows import Row, Types, VersionRow, same_types

GROUP: Final = "storage.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.storage.v1beta1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "CSIDriver CSIDriverList CSIDriverSpec CSINode CSINodeDriver CSINodeList CSINodeSpec StorageClass "
        "StorageClassList TokenRequest VolumeAttachment VolumeAttachmentList VolumeAttachmentSource "
        "VolumeAttachmentSpec VolumeAttachmentStatus VolumeError VolumeNodeResources"
    ).split()
)

RESOURCES: Final[tuple[Row, ...]] = (VersionRow(kind="CSIStorageCapacity", of="storage/v1"),)

TYPES: Final[Types] = {
    **same_types(
        storage_v1.TYPES,
        "CSIDriver CSINode TokenRequest VolumeNodeResources",
    ),
    **storage_v1alpha1.TYPES,
    "CSIDriverSpec": (
        ("attachRequired", 1, "bool", "omit ptr"),
        ("podInfoOnMount", 2, "bool", "omit ptr"),
        ("volumeLifecycleModes", 3, "[]string", "omit"),
        ("storageCapacity", 4, "bool", "omit ptr"),
        ("fsGroupPolicy", 5, "string", "omit ptr"),
        ("tokenRequests", 6, "[]TokenRequest", "omit list=atomic"),
        ("requiresRepublish", 7, "bool", "omit ptr"),
    ),
    "CSINodeDriver": (
        ("name", 1, "string", "required"),
        ("nodeID", 2, "string", "required"),
        ("topologyKeys", 3, "[]string", ""),
        ("allocatable", 4, "VolumeNodeResources", "omit ptr"),
    ),
    "CSINodeSpec": (("drivers", 1, "[]CSINodeDriver", "required merge=name"),),
    "StorageClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("provisioner", 2, "string", "required"),
        ("parameters", 3, "{}string", "omit"),
        ("reclaimPolicy", 4, "string", "omit ptr"),
        ("mountOptions", 5, "[]string", "omit"),
        ("allowVolumeExpansion", 6, "bool", "omit ptr"),
        ("volumeBindingMode", 7, "string", "omit ptr"),
        ("allowedTopologies", 8, "[]core/v1.TopologySelectorTerm", "omit list=atomic"),
    ),
}
