"""coordination/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

GROUP: Final = "coordination.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.coordination.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[dict[str, Any], ...]] = (
    {
        "plural": "leases",
        "kind": "Lease",
        "namespaced": True,
        "key": "leases",
    },
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "Lease": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "LeaseSpec", "omit"),
    ),
    "LeaseList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]Lease", "required"),
    ),
    "LeaseSpec": (
        ("holderIdentity", 1, "string", "omit ptr"),
        ("leaseDurationSeconds", 2, "int32", "omit ptr"),
        ("acquireTime", 3, "microtime", "omit ptr"),
        ("renewTime", 4, "microtime", "omit ptr"),
        ("leaseTransitions", 5, "int32", "omit ptr"),
    ),
}
