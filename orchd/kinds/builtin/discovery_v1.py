"""discovery/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Types, Validation

GROUP: Final = "discovery.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.discovery.v1."

ATOMIC: Final[frozenset[str]] = frozenset(("EndpointPort",))

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="EndpointSlice",
        plural="endpointslices",
        namespaced=True,
        key="endpointslices",
        storage_version="discovery.{abbr}.io/v1beta1",
        changes=(("1.25", {"storage_version": "discovery.{abbr}.io/v1"}), ("1.33", {"warnings": "validate.later_warnings.endpoint_slice"}),),
        table=Table("tabulate.network.endpoint_slice", ("Name|name", "AddressType", "Ports", "Endpoints", "Age")),
        strategy="SliceStrategy",
        validation=Validation(
            create="validate.single_kind_groups.create_slice",
            update="validate.single_kind_groups.update_slice",
        ),
        generation=("addressType", "endpoints", "ports", "metadata.labels"),
    ),
)

TYPES: Final[Types] = {
    "Endpoint": (
        ("addresses", 1, "[]string", "required set"),
        ("conditions", 2, "EndpointConditions", "omit"),
        ("hostname", 3, "string", "omit ptr"),
        ("targetRef", 4, "core/v1.ObjectReference", "omit ptr"),
        ("deprecatedTopology", 5, "{}string", "omit"),
        ("nodeName", 6, "string", "omit ptr"),
        ("zone", 7, "string", "omit ptr"),
        ("hints", 8, "EndpointHints", "omit ptr"),
    ),
    "EndpointConditions": (
        ("ready", 1, "bool", "omit ptr"),
        ("serving", 2, "bool", "omit ptr"),
        ("terminating", 3, "bool", "omit ptr"),
    ),
    "EndpointHints": (
        ("forZones", 1, "[]ForZone", "omit list=atomic"),
        ("forNodes", 2, "[]ForNode", "omit list=atomic since=1.33"),
    ),
    "EndpointPort": (
        ("name", 1, "string", "omit ptr"),
        ("protocol", 2, "string", "omit ptr enum=SCTP|TCP|UDP@1.35"),
        ("port", 3, "int32", "omit ptr"),
        ("appProtocol", 4, "string", "omit ptr"),
    ),
    "EndpointSlice": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("addressType", 4, "string", "required enum=FQDN|IPv4|IPv6"),
        ("endpoints", 2, "[]Endpoint", "required list=atomic"),
        ("ports", 3, "[]EndpointPort", "list=atomic"),
    ),
    "ForNode": (("name", 1, "string", "required"),),
    "ForZone": (("name", 1, "string", "required"),),
}
