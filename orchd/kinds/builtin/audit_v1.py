"""audit/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row

GROUP: Final = "audit.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = ""

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "Event": (
        ("level", 1, "string", "required"),
        ("auditID", 2, "string", "required"),
        ("stage", 3, "string", "required"),
        ("requestURI", 4, "string", "required"),
        ("verb", 5, "string", "required"),
        ("user", 6, "authentication/v1.UserInfo", "required"),
        ("impersonatedUser", 7, "authentication/v1.UserInfo", "omit ptr"),
        ("sourceIPs", 8, "[]string", "omit"),
        ("userAgent", 16, "string", "omit"),
        ("objectRef", 9, "ObjectReference", "omit ptr"),
        ("responseStatus", 10, "meta/v1.Status", "omit ptr"),
        ("requestObject", 11, "raw", "omit ptr pb=runtime.Unknown"),
        ("responseObject", 12, "raw", "omit ptr pb=runtime.Unknown"),
        ("requestReceivedTimestamp", 13, "microtime", ""),
        ("stageTimestamp", 14, "microtime", ""),
        ("annotations", 15, "{}string", "omit"),
    ),
    "EventList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]Event", "required"),
    ),
    "GroupResources": (
        ("group", 1, "string", "omit"),
        ("resources", 2, "[]string", "omit"),
        ("resourceNames", 3, "[]string", "omit"),
    ),
    "ObjectReference": (
        ("resource", 1, "string", "omit"),
        ("namespace", 2, "string", "omit"),
        ("name", 3, "string", "omit"),
        ("uid", 4, "string", "omit"),
        ("apiGroup", 5, "string", "omit"),
        ("apiVersion", 6, "string", "omit"),
        ("resourceVersion", 7, "string", "omit"),
        ("subresource", 8, "string", "omit"),
    ),
    "Policy": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("rules", 2, "[]PolicyRule", "required"),
        ("omitStages", 3, "[]string", "omit"),
        ("omitManagedFields", 4, "bool", "omit"),
    ),
    "PolicyList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]Policy", "required"),
    ),
    "PolicyRule": (
        ("level", 1, "string", "required"),
        ("users", 2, "[]string", "omit"),
        ("userGroups", 3, "[]string", "omit"),
        ("verbs", 4, "[]string", "omit"),
        ("resources", 5, "[]GroupResources", "omit"),
        ("namespaces", 6, "[]string", "omit"),
        ("nonResourceURLs", 7, "[]string", "omit"),
        ("omitStages", 8, "[]string", "omit"),
        ("omitManagedFields", 9, "bool", "omit ptr"),
    ),
}
