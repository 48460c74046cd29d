"""apiextensions/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

GROUP: Final = "apiextensions.{abbr}.io"
VERSION: Final = "v1beta1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = ""

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[dict[str, Any], ...]] = ()

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "ConversionRequest": (
        ("uid", 1, "string", "required"),
        ("desiredAPIVersion", 2, "string", "required"),
        ("objects", 3, "[]raw", "required"),
    ),
    "ConversionResponse": (
        ("uid", 1, "string", "required"),
        ("convertedObjects", 2, "[]raw", "required"),
        ("result", 3, "meta/v1.Status", "required"),
    ),
    "ConversionReview": (
        ("request", 1, "ConversionRequest", "omit ptr"),
        ("response", 2, "ConversionResponse", "omit ptr"),
    ),
}
