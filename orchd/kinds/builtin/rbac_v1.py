"""rbac/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`.
"""

from typing import Any, Final

GROUP: Final = "rbac.authorization.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.rbac.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset(("RoleRef", "Subject"))

RESOURCES: Final[tuple[dict[str, Any], ...]] = (
    {
        "plural": "clusterrolebindings",
        "kind": "ClusterRoleBinding",
        "key": "clusterrolebindings",
    },
    {
        "plural": "clusterroles",
        "kind": "ClusterRole",
        "key": "clusterroles",
    },
    {
        "plural": "rolebindings",
        "kind": "RoleBinding",
        "namespaced": True,
        "key": "rolebindings",
    },
    {
        "plural": "roles",
        "kind": "Role",
        "namespaced": True,
        "key": "roles",
    },
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "AggregationRule": (
        ("clusterRoleSelectors", 1, "[]meta/v1.LabelSelector", "omit"),
    ),
    "ClusterRole": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("rules", 2, "[]PolicyRule", ""),
        ("aggregationRule", 3, "AggregationRule", "omit ptr"),
    ),
    "ClusterRoleBinding": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("subjects", 2, "[]Subject", "omit"),
        ("roleRef", 3, "RoleRef", "required"),
    ),
    "ClusterRoleBindingList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]ClusterRoleBinding", "required"),
    ),
    "ClusterRoleList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]ClusterRole", "required"),
    ),
    "PolicyRule": (
        ("verbs", 1, "[]string", "required"),
        ("apiGroups", 2, "[]string", "omit"),
        ("resources", 3, "[]string", "omit"),
        ("resourceNames", 4, "[]string", "omit"),
        ("nonResourceURLs", 5, "[]string", "omit"),
    ),
    "Role": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("rules", 2, "[]PolicyRule", ""),
    ),
    "RoleBinding": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("subjects", 2, "[]Subject", "omit"),
        ("roleRef", 3, "RoleRef", "required"),
    ),
    "RoleBindingList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]RoleBinding", "required"),
    ),
    "RoleList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]Role", "required"),
    ),
    "RoleRef": (
        ("apiGroup", 1, "string", "required"),
        ("kind", 2, "string", "required"),
        ("name", 3, "string", "required"),
    ),
    "Subject": (
        ("kind", 1, "string", "required"),
        ("apiGroup", 2, "string", "omit"),
        ("name", 3, "string", "required"),
        ("namespace", 4, "string", "omit"),
    ),
}
