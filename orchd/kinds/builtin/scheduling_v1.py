"""scheduling/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

GROUP: Final = "scheduling.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.scheduling.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[dict[str, Any], ...]] = (
    {
        "plural": "priorityclasses",
        "kind": "PriorityClass",
        "short_names": "pc",
        "key": "priorityclasses",
    },
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "PriorityClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("value", 2, "int32", "required"),
        ("globalDefault", 3, "bool", "omit"),
        ("description", 4, "string", "omit"),
        ("preemptionPolicy", 5, "string", "omit ptr"),
    ),
    "PriorityClassList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]PriorityClass", "required"),
    ),
}
