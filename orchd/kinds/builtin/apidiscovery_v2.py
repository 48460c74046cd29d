"""apidiscovery/v2: types in protobuf field order. Version v2beta1 has the same ones.

Facts of release 1.30, which newer clients ask for by Accept; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

from orchd.kinds.rows import Types

GROUP: Final = "apidiscovery.{abbr}.io"
VERSION: Final = "v2"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[dict[str, Any], ...]] = ()

TYPES: Final[Types] = {
    "APIGroupDiscovery": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("versions", 2, "[]APIVersionDiscovery", "omit"),
    ),
    "APIResourceDiscovery": (
        ("resource", 1, "string", "required"),
        ("responseKind", 2, "meta/v1.GroupVersionKind", "ptr"),
        ("scope", 3, "string", "required"),
        ("singularResource", 4, "string", "required"),
        ("verbs", 5, "[]string", "required"),
        ("shortNames", 6, "[]string", "omit"),
        ("categories", 7, "[]string", "omit"),
        ("subresources", 8, "[]APISubresourceDiscovery", "omit"),
    ),
    "APISubresourceDiscovery": (
        ("subresource", 1, "string", "required"),
        ("responseKind", 2, "meta/v1.GroupVersionKind", "ptr"),
        ("acceptedTypes", 3, "[]meta/v1.GroupVersionKind", "omit"),
        ("verbs", 4, "[]string", "required"),
    ),
    "APIVersionDiscovery": (
        ("version", 1, "string", "required"),
        ("resources", 2, "[]APIResourceDiscovery", "omit"),
        ("freshness", 3, "string", "omit"),
    ),
}
