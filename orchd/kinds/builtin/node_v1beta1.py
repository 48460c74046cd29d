"""node/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

GROUP: Final = "node.{abbr}.io"
VERSION: Final = "v1beta1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.node.v1beta1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[dict[str, Any], ...]] = (
    {
        "plural": "runtimeclasses",
        "kind": "RuntimeClass",
        "storage_version": "node.{abbr}.io/v1",
        "key": "runtimeclasses",
        "deprecated": ("v1.22", "v1.25", ""),
    },
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "Overhead": (
        ("podFixed", 1, "{}quantity", "omit"),
    ),
    "RuntimeClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("handler", 2, "string", "required"),
        ("overhead", 3, "Overhead", "omit ptr"),
        ("scheduling", 4, "Scheduling", "omit ptr"),
    ),
    "RuntimeClassList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]RuntimeClass", "required"),
    ),
    "Scheduling": (
        ("nodeSelector", 1, "{}string", "omit atomic"),
        ("tolerations", 2, "[]core/v1.Toleration", "omit list=atomic"),
    ),
}
