"""Descriptions of dynamic resource allocation: device classes, claims, their allocation, and the devices of nodes."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

_OPAQUE: Final = "Parameters that only the driver interprets."
_SELECTORS: Final = "Criteria that a device must meet, all of them. At most 32."
_CONDITIONS: Final[dict[str, str]] = {
    "bindingConditions": "Condition types of the device's status that must be True before the pod is bound. At most 4.",
    "bindingFailureConditions": "Condition types of the device's status of which one with value True fails the binding. At most 4.",
}
_REQUEST: Final[dict[str, str]] = {
    "allocationMode": "ExactCount (the default) for count devices, or All for every matching device of a pool.",
    "capacity": "Amounts of the device's capacity that the request consumes.",
    "count": "Number of devices. Only used with allocationMode ExactCount. Default: 1.",
    "deviceClassName": "Name of the DeviceClass, whose selectors and configuration apply.",
    "selectors": _SELECTORS,
    "tolerations": "Device taints that the request tolerates. At most 16.",
}
_DEVICE: Final[dict[str, str]] = {
    "device": "Name of the device in its pool.",
    "driver": "Name of the driver of the device.",
    "pool": "Name of the pool of the device.",
    "shareID": "Identifier of this share of a device that allows several allocations.",
}

TEXTS: Final[Texts] = {
    "resource.DeviceClass": {
        "": "Class of devices, by selectors and configuration. Requests refer to it by name.",
        "spec": "Devices of the class and their configuration.",
    },
    "resource.DeviceClassSpec": {
        "": "Devices of a class and their configuration.",
        "config": "Configuration applied to every device claimed through the class. At most 32 entries.",
        "extendedResourceName": "Extended resource whose requests in pods are met by devices of the class. Unique among classes.",
        "selectors": _SELECTORS,
    },
    "resource.DeviceClassConfiguration": {"": "Configuration of the devices of a class.", "opaque": _OPAQUE},
    "resource.DeviceSelector": {"": "Criterion for devices.", "cel": "Expression that must be true for the device."},
    "resource.CELDeviceSelector": {
        "": "Criterion for devices as a CEL expression.",
        "expression": (
            "CEL expression over device (driver, attributes, capacity, allowMultipleAllocations) with a boolean result. "
            "At most 10 KiB."
        ),
    },
    "resource.OpaqueDeviceConfiguration": {
        "": "Configuration that only the driver interprets.",
        "driver": "Name of the driver that the parameters are for.",
        "parameters": "Parameters in the format of the driver, at most 10 KiB.",
    },
    "resource.ResourceClaim": {
        "": "Request for devices for use by pods, and the devices allocated to it.",
        "spec": "Requested devices. Immutable.",
        "status": "Allocated devices and the consumers of the claim.",
    },
    "resource.ResourceClaimSpec": {"": "Requested devices.", "devices": "Requests, constraints and configuration."},
    "resource.ResourceClaimTemplate": {
        "": "Template of the claims that are created for pods.",
        "spec": "Metadata and specification of the claims. Immutable.",
    },
    "resource.ResourceClaimTemplateSpec": {
        "": "Template of a claim.",
        "metadata": "Labels and annotations of the claims.",
        "spec": "Specification of the claims.",
    },
    "resource.DeviceClaim": {
        "": "Requested devices, constraints between them and their configuration.",
        "config": "Configuration of the requested devices. At most 32 entries.",
        "constraints": "Constraints that the devices of several requests must meet together. At most 32.",
        "requests": "Requests for devices, all of which must be met. At most 32.",
    },
    "resource.DeviceRequest": {
        "": "Request for devices. Exactly one of exactly and firstAvailable must be set.",
        "exactly": "A single request that must be met as it is.",
        "firstAvailable": "Alternatives in order of preference, of which the first available one is allocated. At most 8.",
        "name": "Name of the request, a DNS label that is unique in the claim.",
    },
    "resource.ExactDeviceRequest": {
        "": "Request for devices of a class.",
        **_REQUEST,
        "adminAccess": "Grants access for administration, even to devices in use. Default: false.",
    },
    "resource.DeviceSubRequest": {
        "": "One of several alternatives of a request.",
        **_REQUEST,
        "name": "Name of the alternative, a DNS label. Referred to as REQUEST/NAME.",
    },
    "resource.CapacityRequirements": {
        "": "Amounts of a device's capacity that a request consumes.",
        "requests": "Requested amount of each capacity, by name. Default: the default of the device's requestPolicy.",
    },
    "resource.DeviceConstraint": {
        "": "Constraint on the devices of several requests.",
        "distinctAttribute": "Attribute whose value must differ between all devices.",
        "matchAttribute": "Attribute that all devices must have with the same type and value.",
        "requests": "Names of the requests that the constraint applies to. Empty means all of the claim.",
    },
    "resource.DeviceClaimConfiguration": {
        "": "Configuration of requested devices.",
        "opaque": _OPAQUE,
        "requests": "Names of the requests that the configuration applies to. Empty means all of the claim.",
    },
    "resource.DeviceToleration": {
        "": "Toleration of device taints.",
        "effect": "Tolerated effect: None, NoSchedule or NoExecute. Empty matches all.",
        "key": "Key of the tolerated taint. Empty, with operator Exists, matches all.",
        "operator": "Equal (the default) or Exists.",
        "tolerationSeconds": "Seconds for which a NoExecute taint is tolerated. When unset, it is tolerated forever.",
        "value": "Value of the tolerated taint. Must be empty with operator Exists.",
    },
    "resource.ResourceClaimStatus": {
        "": "Allocated devices and consumers of a claim.",
        "allocation": "Result of the allocation. Unset while the claim is not allocated.",
        "devices": "Status of allocated devices, reported by their drivers.",
        "reservedFor": "Consumers, normally pods, that may use the claim now. At most 256.",
    },
    "resource.ResourceClaimConsumerReference": {
        "": "Consumer of a claim in the same namespace.",
        "apiGroup": "API group of the consumer. Empty for the core group.",
        "name": "Name of the consumer.",
        "resource": "Resource of the consumer, such as pods.",
        "uid": "UID of the consumer.",
    },
    "resource.AllocationResult": {
        "": "Devices allocated to a claim.",
        "allocationTimestamp": "Time of the allocation. Unset if it is not known.",
        "devices": "Allocated devices and their configuration.",
        "nodeSelector": "Nodes from which the devices can be used. When unset, all nodes.",
    },
    "resource.DeviceAllocationResult": {
        "": "Allocated devices and their configuration.",
        "config": "Configuration from the claim and from its classes, in the order in which drivers apply it.",
        "results": "Allocated devices. At most 32.",
    },
    "resource.DeviceRequestAllocationResult": {
        "": "Device allocated to a request.",
        **_DEVICE,
        **_CONDITIONS,
        "adminAccess": "Whether the device was allocated for administration.",
        "consumedCapacity": "Amount of each capacity that the allocation consumes, including rounding by the requestPolicy.",
        "request": "Name of the request, or REQUEST/NAME for an alternative of it.",
        "tolerations": "Tolerations of the request at the time of the allocation.",
    },
    "resource.DeviceAllocationConfiguration": {
        "": "Configuration of allocated devices.",
        "opaque": _OPAQUE,
        "requests": "Names of the requests that the configuration applies to. Empty means all of the claim.",
        "source": "Origin of the configuration: FromClass or FromClaim.",
    },
    "resource.AllocatedDeviceStatus": {
        "": "Status of an allocated device, reported by its driver.",
        **_DEVICE,
        "conditions": "Latest conditions of the device. At most 8.",
        "data": "Data in the format of the driver, at most 10 KiB.",
        "networkData": "Network addresses of the device.",
    },
    "resource.NetworkDeviceData": {
        "": "Network addresses of a device.",
        "hardwareAddress": "Hardware address of the network interface, such as a MAC address.",
        "interfaceName": "Name of the network interface in the pod.",
        "ips": "IP addresses of the network interface with prefix length, in CIDR notation. At most 16.",
    },
    "resource.ResourceSlice": {
        "": "Devices of one pool, published by a driver.",
        "spec": "Pool, node and devices of the slice.",
    },
    "resource.ResourceSliceSpec": {
        "": (
            "Pool, node and devices of a ResourceSlice. Exactly one of nodeName, nodeSelector, allNodes and "
            "perDeviceNodeSelection must be set."
        ),
        "allNodes": "Makes the devices usable from all nodes.",
        "devices": "Devices of the slice. At most 128, or 64 if a device has taints or consumes counters.",
        "driver": "Name of the driver that publishes the slice. Immutable.",
        "nodeName": "Name of the node that the devices belong to. Immutable.",
        "nodeSelector": "Nodes from which the devices can be used.",
        "perDeviceNodeSelection": "Makes every device state for itself the nodes from which it can be used.",
        "pool": "Pool that the slice belongs to.",
        "sharedCounters": "Counters that devices of the pool consume. Excludes devices. At most 8 sets.",
    },
    "resource.ResourcePool": {
        "": "Pool of devices, described by one or more slices.",
        "generation": "Generation of the pool. Slices of an older generation are obsolete and ignored.",
        "name": "Name of the pool, often that of the node. Unique for each driver.",
        "resourceSliceCount": "Number of slices of the pool at this generation. The pool is incomplete if fewer exist.",
    },
    "resource.CounterSet": {
        "": "Named set of counters that several devices draw on.",
        "counters": "Counters of the set, by name. At most 32.",
        "name": "Name of the set, a DNS label that is unique in the pool.",
    },
    "resource.Counter": {"": "Amount of something that devices share.", "value": "Available or consumed amount."},
    "resource.Device": {
        "": "Device that can be allocated.",
        **_CONDITIONS,
        "allNodes": "Makes the device usable from all nodes. Only used with perDeviceNodeSelection.",
        "allowMultipleAllocations": "Whether several requests may share the device, each consuming a part of its capacity.",
        "attributes": "Properties of the device, by name. Selectors and constraints refer to them.",
        "bindsToNode": "Limits the allocation to the node that was chosen when the device was allocated.",
        "capacity": "Capacities of the device, by name.",
        "consumesCounters": "Shared counters that the device consumes while it is allocated.",
        "name": "Name of the device, a DNS label that is unique in the pool.",
        "nodeName": "Name of the node that the device belongs to. Only used with perDeviceNodeSelection.",
        "nodeSelector": "Nodes from which the device can be used. Only used with perDeviceNodeSelection.",
        "taints": "Taints of the device. At most 16.",
    },
    "resource.DeviceAttribute": {
        "": "Value of an attribute. Exactly one member must be set.",
        "bool": "Boolean value.",
        "int": "Integer value.",
        "string": "String value, at most 64 characters.",
        "version": "Semantic version, at most 64 characters.",
    },
    "resource.DeviceCapacity": {
        "": "Capacity of a device.",
        "requestPolicy": "How requests may consume the capacity. Only used if the device allows several allocations.",
        "value": "Total amount of the capacity.",
    },
    "resource.CapacityRequestPolicy": {
        "": "How requests may consume a capacity. When empty, any amount up to the total is allowed.",
        "default": "Amount consumed by a request that does not name the capacity. Default: the total amount.",
        "validRange": "Range of amounts that may be consumed. Excludes validValues.",
        "validValues": "Amounts that may be consumed, in ascending order; requests are rounded up. At most 10.",
    },
    "resource.CapacityRequestPolicyRange": {
        "": "Range of amounts that a request may consume.",
        "max": "Largest amount. Default: the total amount.",
        "min": "Smallest amount; smaller requests are rounded up.",
        "step": "Distance between amounts, counted from min; requests are rounded up.",
    },
    "resource.DeviceCounterConsumption": {
        "": "Consumption of shared counters by a device.",
        "counterSet": "Name of the set of counters.",
        "counters": "Amount consumed of each counter, by name. At most 32.",
    },
    "resource.DeviceTaint": {
        "": "Keeps requests that do not tolerate it from a device.",
        "effect": "Effect on requests that do not tolerate the taint: None, NoSchedule or NoExecute.",
        "key": "Key of the taint, a label name.",
        "timeAdded": "Time at which the taint was added. Default: the time of the request that adds it.",
        "value": "Value of the taint, a label value.",
    },
}
