"""discovery/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import discovery_v1
from orchd.kinds.rows import Conversion, Deprecation, Row, Types, VersionRow, same_types

GROUP: Final = "discovery.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.discovery.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="EndpointSlice",
        of="discovery/v1",
        deprecated=Deprecation(since="v1.21", removed="v1.25", replacement="discovery.{abbr}.io/v1"),
        conversion=Conversion(
            "conversions.renames.slice_from_v1beta1", "conversions.renames.slice_to_v1beta1", keeps_shape=True
        ),
    ),
)

TYPES: Final[Types] = {
    **same_types(discovery_v1.TYPES, "EndpointConditions ForZone"),
    "Endpoint": (
        ("addresses", 1, "[]string", "required set"),
        ("conditions", 2, "EndpointConditions", "omit"),
        ("hostname", 3, "string", "omit ptr"),
        ("targetRef", 4, "core/v1.ObjectReference", "omit ptr"),
        ("topology", 5, "{}string", "omit"),
        ("nodeName", 6, "string", "omit ptr"),
        ("hints", 7, "EndpointHints", "omit ptr"),
    ),
    "EndpointHints": (("forZones", 1, "[]ForZone", "omit list=atomic"),),
    "EndpointPort": (
        ("name", 1, "string", "omit ptr"),
        ("protocol", 2, "string", "omit ptr"),
        ("port", 3, "int32", "omit ptr"),
        ("appProtocol", 4, "string", "omit ptr"),
    ),
    "EndpointSlice": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("addressType", 4, "string", "required"),
        ("endpoints", 2, "[]Endpoint", "required list=atomic"),
        ("ports", 3, "[]EndpointPort", "list=atomic"),
    ),
}
