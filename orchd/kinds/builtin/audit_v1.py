"""audit/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types

GROUP: Final = "audit.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = ""

UNPUBLISHED: Final[frozenset[str]] = frozenset(("AuthenticationMetadata",))

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    "AuthenticationMetadata": (("impersonationConstraint", 1, "string", "omit"),),
    "Event": (
        ("level", 1, "string", "required"),
        ("auditID", 2, "string", "required"),
        ("stage", 3, "string", "required"),
        ("requestURI", 4, "string", "required"),
        ("verb", 5, "string", "required"),
        ("user", 6, "authentication/v1.UserInfo", "required"),
        ("impersonatedUser", 7, "authentication/v1.UserInfo", "omit ptr"),
        ("authenticationMetadata", 17, "AuthenticationMetadata", "omit ptr since=1.35"),
        ("sourceIPs", 8, "[]string", "omit list=atomic@1.35"),
        ("userAgent", 16, "string", "omit"),
        ("objectRef", 9, "ObjectReference", "omit ptr"),
        ("responseStatus", 10, "meta/v1.Status", "omit ptr"),
        ("requestObject", 11, "raw", "omit ptr pb=runtime.Unknown"),
        ("responseObject", 12, "raw", "omit ptr pb=runtime.Unknown"),
        ("requestReceivedTimestamp", 13, "microtime", ""),
        ("stageTimestamp", 14, "microtime", ""),
        ("annotations", 15, "{}string", "omit"),
    ),
    "GroupResources": (
        ("group", 1, "string", "omit"),
        ("resources", 2, "[]string", "omit list=atomic@1.35"),
        ("resourceNames", 3, "[]string", "omit list=atomic@1.35"),
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
        ("rules", 2, "[]PolicyRule", "required list=atomic@1.35"),
        ("omitStages", 3, "[]string", "omit list=atomic@1.35"),
        ("omitManagedFields", 4, "bool", "omit"),
    ),
    "PolicyRule": (
        ("level", 1, "string", "required"),
        ("users", 2, "[]string", "omit list=atomic@1.35"),
        ("userGroups", 3, "[]string", "omit list=atomic@1.35"),
        ("verbs", 4, "[]string", "omit list=atomic@1.35"),
        ("resources", 5, "[]GroupResources", "omit list=atomic@1.35"),
        ("namespaces", 6, "[]string", "omit list=atomic@1.35"),
        ("nonResourceURLs", 7, "[]string", "omit list=atomic@1.35"),
        ("omitStages", 8, "[]string", "omit list=atomic@1.35"),
        ("omitManagedFields", 9, "bool", "omit ptr"),
    ),
}
