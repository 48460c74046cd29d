"""storage/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import ALL_METADATA, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "storage.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.storage.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="CSIDriver",
        plural="csidrivers",
        key="csidrivers",
        table=Table(
            "tabulate.storage.driver",
            tuple("Name|name AttachRequired|boolean PodInfoOnMount|boolean StorageCapacity|boolean TokenRequests "
                "RequiresRepublish|boolean Modes Age".split()),
        ),
        validation=Validation(create="validate.storage.create_driver", update="validate.storage.update_driver"),
        generation=("spec.tokenRequests", "spec.requiresRepublish"),
        first_generation=False,
        unconditional_update=False,
        returns_deleted=True,
        changes=(("1.33", {"generation": ("spec",)}), ("1.33", {"warnings": "validate.later_warnings.driver"}),),
    ),
    KindRow(
        kind="CSINode",
        plural="csinodes",
        key="csinodes",
        table=Table(
            "tabulate.storage.node",
            ("Name|name", "Drivers|integer", "Age"),
            {"Drivers": "Drivers indicates the number of CSI drivers registered on the node"},
        ),
        validation=Validation(create="validate.storage.create_csi_node", update="validate.storage.update_csi_node"),
        unconditional_update=False,
        returns_deleted=True,
    ),
    KindRow(
        kind="StorageClass",
        changes=(("1.33", {"warnings": "validate.later_warnings.storage_class"}),),
        plural="storageclasses",
        short_names=("sc",),
        key="storageclasses",
        table=Table(
            "tabulate.storage.storage_class",
            ("Name|name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
        ),
        validation=Validation(create="validate.storage.create_class", update="validate.storage.update_class"),
        returns_deleted=True,
    ),
    KindRow(
        kind="VolumeAttachment",
        plural="volumeattachments",
        key="volumeattachments",
        table=Table(
            "tabulate.storage.attachment", ("Name|name", "Attacher|name", "PV", "Node", "Attached|boolean", "Age")
        ),
        validation=Validation(create="validate.storage.create_attachment", update="validate.storage.update_attachment"),
        unconditional_update=False,
        returns_deleted=True,
        subresources=(
            Subresource(
                name="status",
                update="validate.storage.update_attachment",
                resets=("metadata", "spec"),
                keeps_metadata=ALL_METADATA,
            ),
        ),
    ),
    KindRow(
        kind="CSIStorageCapacity",
        plural="csistoragecapacities",
        namespaced=True,
        key="csistoragecapacities",
        storage_version="storage.{abbr}.io/v1beta1",
        validation=Validation(create="validate.storage.create_capacity", update="validate.storage.update_capacity"),
        unconditional_update=False,
        since="1.24",
        changes=(("1.25", {"storage_version": "storage.{abbr}.io/v1"}), ("1.33", {"warnings": "validate.later_warnings.capacity"}),),
    ),
    KindRow(
        kind="VolumeAttributesClass",
        plural="volumeattributesclasses",
        short_names=("vac",),
        key="volumeattributesclasses",
        announced_version="storage.{abbr}.io/v1beta1",
        table=Table(
            "tabulate.storage.attributes_class",
            ("Name|name", "DriverName", "Age"),
            {"DriverName": "The driver of the volumes that have the attributes"},
        ),
        validation=Validation(
            create="validate.storage.create_attributes_class", update="validate.storage.update_attributes_class"
        ),
        returns_deleted=True,
        since="1.34",
    ),
)

TYPES: Final[Types] = {
    **object_types("CSIDriver CSINode", spec="required", status=""),
    **object_types("VolumeAttachment", spec="required"),
    "CSIDriverSpec": (
        ("attachRequired", 1, "bool", "omit ptr"),
        ("podInfoOnMount", 2, "bool", "omit ptr"),
        ("volumeLifecycleModes", 3, "[]string", "omit set"),
        ("storageCapacity", 4, "bool", "omit ptr"),
        ("fsGroupPolicy", 5, "string", "omit ptr"),
        ("tokenRequests", 6, "[]TokenRequest", "omit list=atomic"),
        ("requiresRepublish", 7, "bool", "omit ptr"),
        ("seLinuxMount", 8, "bool", "omit ptr since=1.25"),
        ("nodeAllocatableUpdatePeriodSeconds", 9, "int64", "omit ptr since=1.33"),
        ("serviceAccountTokenInSecrets", 10, "bool", "omit ptr since=1.35"),
    ),
    "CSINodeDriver": (
        ("name", 1, "string", "required"),
        ("nodeID", 2, "string", "required"),
        ("topologyKeys", 3, "[]string", "list=atomic@1.35"),
        ("allocatable", 4, "VolumeNodeResources", "omit ptr"),
    ),
    "CSINodeSpec": (("drivers", 1, "[]CSINodeDriver", "required merge=name keys=name@1.35"),),
    "CSIStorageCapacity": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("nodeTopology", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("storageClassName", 3, "string", "required"),
        ("capacity", 4, "quantity", "omit ptr"),
        ("maximumVolumeSize", 5, "quantity", "omit ptr"),
    ),
    "StorageClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("provisioner", 2, "string", "required"),
        ("parameters", 3, "{}string", "omit"),
        ("reclaimPolicy", 4, "string", "omit ptr enum=Delete|Recycle|Retain@1.35"),
        ("mountOptions", 5, "[]string", "omit list=atomic@1.35"),
        ("allowVolumeExpansion", 6, "bool", "omit ptr"),
        ("volumeBindingMode", 7, "string", "omit ptr enum=Immediate|WaitForFirstConsumer@1.35"),
        ("allowedTopologies", 8, "[]core/v1.TopologySelectorTerm", "omit list=atomic"),
    ),
    "TokenRequest": (("audience", 1, "string", "required"), ("expirationSeconds", 2, "int64", "omit ptr")),
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
    "VolumeAttributesClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("driverName", 2, "string", "required"),
        ("parameters", 3, "{}string", "omit"),
    ),
    "VolumeError": (
        ("time", 1, "time", "omit"),
        ("message", 2, "string", "omit"),
        ("errorCode", 3, "int32", "omit ptr since=1.33"),
    ),
    "VolumeNodeResources": (("count", 1, "int32", "omit ptr"),),
}
