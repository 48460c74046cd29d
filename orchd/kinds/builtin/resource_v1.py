"""resource/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.35; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import (
    ALL_METADATA,
    FieldSelectors,
    KindRow,
    Row,
    Subresource,
    Table,
    Types,
    Validation,
    object_types,
)

GROUP: Final = "resource.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.resource.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("DeviceConfiguration",))

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="DeviceClass",
        strategy="PolicyStrategy",
        plural="deviceclasses",
        key="deviceclasses",
        table=Table("tabulate.devices.named", ("Name|name", "Age")),
        validation=Validation(create="validate.devices.create_class", update="validate.devices.update_class"),
        generation=("spec",),
        returns_deleted=True,
    ),
    KindRow(
        kind="ResourceClaim",
        strategy="DeviceClaimStrategy",
        plural="resourceclaims",
        namespaced=True,
        key="resourceclaims",
        table=Table(
            "tabulate.devices.claim",
            ("Name|name", "State", "Age"),
            {"State": "A summary of the current state: allocated, reserved, or deleted while it is, pending otherwise"},
        ),
        validation=Validation(create="validate.devices.create_claim", update="validate.devices.update_claim"),
        returns_deleted=True,
        subresources=(Subresource(
                name="status", update="validate.devices.update_claim_status", resets=("metadata", "spec"), keeps_metadata=ALL_METADATA,
                tables=False,
            ),),
    ),
    KindRow(
        kind="ResourceClaimTemplate",
        strategy="DeviceClaimStrategy",
        plural="resourceclaimtemplates",
        namespaced=True,
        key="resourceclaimtemplates",
        table=Table("tabulate.devices.named", ("Name|name", "Age")),
        validation=Validation(create="validate.devices.create_template", update="validate.devices.update_template"),
        returns_deleted=True,
    ),
    KindRow(
        kind="ResourceSlice",
        changes=(("1.33", {"warnings": "validate.later_warnings.resource_slice"}),),
        plural="resourceslices",
        key="resourceslices",
        table=Table(
            "tabulate.devices.resource_slice",
            ("Name|name", "Node", "Driver", "Pool", "Age"),
            {"Driver": "The driver that publishes the devices", "Pool": "The pool that the slice is a part of"},
        ),
        validation=Validation(create="validate.devices.create_slice", update="validate.devices.update_slice"),
        fields=FieldSelectors(
            names=("spec.driver", "spec.nodeName"),
            values="field_values.resource_slice",
            namespace=False,
            unsupported="field label not supported for {version}, Kind=ResourceSlice: {name}",
        ),
        generation=("spec",),
        returns_deleted=True,
    ),
)

TYPES: Final[Types] = {
    **object_types("DeviceClass ResourceClaimTemplate ResourceSlice", spec="required", status=""),
    **object_types("ResourceClaim", spec="required"),
    "AllocatedDeviceStatus": (
        ("driver", 1, "string", "required"),
        ("pool", 2, "string", "required"),
        ("device", 3, "string", "required"),
        ("shareID", 7, "string", "omit ptr"),
        ("conditions", 4, "[]meta/v1.Condition", "keys=type"),
        ("data", 5, "raw", "omit ptr"),
        ("networkData", 6, "NetworkDeviceData", "omit ptr"),
    ),
    "AllocationResult": (
        ("devices", 1, "DeviceAllocationResult", "omit"),
        ("nodeSelector", 3, "core/v1.NodeSelector", "omit ptr"),
        ("allocationTimestamp", 5, "time", "omit ptr"),
    ),
    "CELDeviceSelector": (("expression", 1, "string", "required"),),
    "CapacityRequestPolicy": (
        ("default", 1, "quantity", "ptr"),
        ("validValues", 3, "[]quantity", "omit list=atomic"),
        ("validRange", 4, "CapacityRequestPolicyRange", "omit ptr"),
    ),
    "CapacityRequestPolicyRange": (
        ("min", 1, "quantity", "required omit ptr"),
        ("max", 2, "quantity", "omit ptr"),
        ("step", 3, "quantity", "omit ptr"),
    ),
    "CapacityRequirements": (("requests", 1, "{}quantity", "omit"),),
    "Counter": (("value", 1, "quantity", "required"),),
    "CounterSet": (("name", 1, "string", "required"), ("counters", 2, "{}Counter", "required omit")),
    "Device": (
        ("name", 1, "string", "required"),
        ("attributes", 2, "{}DeviceAttribute", "omit"),
        ("capacity", 3, "{}DeviceCapacity", "omit"),
        ("consumesCounters", 4, "[]DeviceCounterConsumption", "omit list=atomic"),
        ("nodeName", 5, "string", "omit ptr"),
        ("nodeSelector", 6, "core/v1.NodeSelector", "omit ptr"),
        ("allNodes", 7, "bool", "omit ptr"),
        ("taints", 8, "[]DeviceTaint", "omit list=atomic"),
        ("bindsToNode", 9, "bool", "omit ptr"),
        ("bindingConditions", 10, "[]string", "omit list=atomic"),
        ("bindingFailureConditions", 11, "[]string", "omit list=atomic"),
        ("allowMultipleAllocations", 12, "bool", "omit ptr"),
    ),
    "DeviceAllocationConfiguration": (
        ("source", 1, "string", "required enum=FromClaim|FromClass"),
        ("requests", 2, "[]string", "omit list=atomic"),
        ("", 3, "DeviceConfiguration", "inline"),
    ),
    "DeviceAllocationResult": (
        ("results", 1, "[]DeviceRequestAllocationResult", "omit list=atomic"),
        ("config", 2, "[]DeviceAllocationConfiguration", "omit list=atomic"),
    ),
    "DeviceAttribute": (
        ("int", 2, "int64", "omit ptr"),
        ("bool", 3, "bool", "omit ptr"),
        ("string", 4, "string", "omit ptr"),
        ("version", 5, "string", "omit ptr"),
    ),
    "DeviceCapacity": (("value", 1, "quantity", "required"), ("requestPolicy", 2, "CapacityRequestPolicy", "omit ptr")),
    "DeviceClaim": (
        ("requests", 1, "[]DeviceRequest", "list=atomic"),
        ("constraints", 2, "[]DeviceConstraint", "omit list=atomic"),
        ("config", 3, "[]DeviceClaimConfiguration", "omit list=atomic"),
    ),
    "DeviceClaimConfiguration": (
        ("requests", 1, "[]string", "omit list=atomic"),
        ("", 2, "DeviceConfiguration", "inline"),
    ),
    "DeviceClassConfiguration": (("", 1, "DeviceConfiguration", "inline"),),
    "DeviceClassSpec": (
        ("selectors", 1, "[]DeviceSelector", "omit list=atomic"),
        ("config", 2, "[]DeviceClassConfiguration", "omit list=atomic"),
        ("extendedResourceName", 4, "string", "omit ptr"),
    ),
    "DeviceConfiguration": (("opaque", 1, "OpaqueDeviceConfiguration", "omit ptr"),),
    "DeviceConstraint": (
        ("requests", 1, "[]string", "omit list=atomic"),
        ("matchAttribute", 2, "string", "omit ptr"),
        ("distinctAttribute", 3, "string", "omit ptr"),
    ),
    "DeviceCounterConsumption": (
        ("counterSet", 1, "string", "required"),
        ("counters", 2, "{}Counter", "required omit"),
    ),
    "DeviceRequest": (
        ("name", 1, "string", "required"),
        ("exactly", 2, "ExactDeviceRequest", "omit ptr"),
        ("firstAvailable", 3, "[]DeviceSubRequest", "omit list=atomic"),
    ),
    "DeviceRequestAllocationResult": (
        ("request", 1, "string", "required"),
        ("driver", 2, "string", "required"),
        ("pool", 3, "string", "required"),
        ("device", 4, "string", "required"),
        ("adminAccess", 5, "bool", "omit ptr"),
        ("tolerations", 6, "[]DeviceToleration", "omit list=atomic"),
        ("bindingConditions", 7, "[]string", "omit list=atomic"),
        ("bindingFailureConditions", 8, "[]string", "omit list=atomic"),
        ("shareID", 9, "string", "omit ptr"),
        ("consumedCapacity", 10, "{}quantity", "omit"),
    ),
    "DeviceSelector": (("cel", 1, "CELDeviceSelector", "omit ptr"),),
    "DeviceSubRequest": (
        ("name", 1, "string", "required"),
        ("deviceClassName", 2, "string", "required"),
        ("selectors", 3, "[]DeviceSelector", "omit list=atomic"),
        ("allocationMode", 4, "string", "omit enum=All|ExactCount"),
        ("count", 5, "int64", "omit"),
        ("tolerations", 6, "[]DeviceToleration", "omit list=atomic"),
        ("capacity", 7, "CapacityRequirements", "omit ptr"),
    ),
    "DeviceTaint": (
        ("key", 1, "string", "required"),
        ("value", 2, "string", "omit"),
        ("effect", 3, "string", "required enum=NoExecute|NoSchedule|None"),
        ("timeAdded", 4, "time", "omit ptr"),
    ),
    "DeviceToleration": (
        ("key", 1, "string", "omit"),
        ("operator", 2, "string", 'omit default="Equal" enum=Equal|Exists'),
        ("value", 3, "string", "omit"),
        ("effect", 4, "string", "omit enum=NoExecute|NoSchedule|None"),
        ("tolerationSeconds", 5, "int64", "omit ptr"),
    ),
    "ExactDeviceRequest": (
        ("deviceClassName", 1, "string", "required"),
        ("selectors", 2, "[]DeviceSelector", "omit list=atomic"),
        ("allocationMode", 3, "string", "omit enum=All|ExactCount"),
        ("count", 4, "int64", "omit"),
        ("adminAccess", 5, "bool", "omit ptr"),
        ("tolerations", 6, "[]DeviceToleration", "omit list=atomic"),
        ("capacity", 7, "CapacityRequirements", "omit ptr"),
    ),
    "NetworkDeviceData": (
        ("interfaceName", 1, "string", "omit"),
        ("ips", 2, "[]string", "omit list=atomic"),
        ("hardwareAddress", 3, "string", "omit"),
    ),
    "OpaqueDeviceConfiguration": (("driver", 1, "string", "required"), ("parameters", 2, "raw", "required")),
    "ResourceClaimConsumerReference": (
        ("apiGroup", 1, "string", "omit"),
        ("resource", 3, "string", "required"),
        ("name", 4, "string", "required"),
        ("uid", 5, "string", "required"),
    ),
    "ResourceClaimSpec": (("devices", 1, "DeviceClaim", ""),),
    "ResourceClaimStatus": (
        ("allocation", 1, "AllocationResult", "omit ptr"),
        ("reservedFor", 2, "[]ResourceClaimConsumerReference", "omit merge=uid keys=uid"),
        ("devices", 4, "[]AllocatedDeviceStatus", "omit keys=driver,device,pool,shareID"),
    ),
    "ResourceClaimTemplateSpec": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "ResourceClaimSpec", "required"),
    ),
    "ResourcePool": (
        ("name", 1, "string", "required"),
        ("generation", 2, "int64", "required"),
        ("resourceSliceCount", 3, "int64", "required"),
    ),
    "ResourceSliceSpec": (
        ("driver", 1, "string", "required"),
        ("pool", 2, "ResourcePool", "required"),
        ("nodeName", 3, "string", "omit ptr"),
        ("nodeSelector", 4, "core/v1.NodeSelector", "omit ptr"),
        ("allNodes", 5, "bool", "omit ptr"),
        ("devices", 6, "[]Device", "omit list=atomic"),
        ("perDeviceNodeSelection", 7, "bool", "omit ptr"),
        ("sharedCounters", 8, "[]CounterSet", "omit list=atomic"),
    ),
}
