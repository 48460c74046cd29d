"""rbac/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Table, Types, Validation

GROUP: Final = "rbac.authorization.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.rbac.v1."

ATOMIC: Final[frozenset[str]] = frozenset(("RoleRef", "Subject"))

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="ClusterRoleBinding",
        plural="clusterrolebindings",
        key="clusterrolebindings",
        table=Table(
            "tabulate.policies.role_binding",
            ("Name|name", "Role", "Age", "Users|wide", "Groups|wide", "ServiceAccounts|wide"),
            {
                "Role": (
                    "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be "
                    "resolved, the Authorizer must return an error."
                ),
                "Users": "Users in the clusterRoleBinding",
                "Groups": "Groups in the clusterRoleBinding",
                "ServiceAccounts": "ServiceAccounts in the clusterRoleBinding",
            },
        ),
        validation=Validation(
            create="validate.rbac.create_cluster_binding",
            update="validate.rbac.update_cluster_binding",
        ),
        creates_on_update=True,
    ),
    KindRow(
        kind="ClusterRole",
        plural="clusterroles",
        key="clusterroles",
        validation=Validation(
            create="validate.rbac.create_cluster_role",
            update="validate.rbac.update_cluster_role",
        ),
        creates_on_update=True,
    ),
    KindRow(
        kind="RoleBinding",
        plural="rolebindings",
        namespaced=True,
        key="rolebindings",
        table=Table(
            "tabulate.policies.role_binding",
            ("Name|name", "Role", "Age", "Users|wide", "Groups|wide", "ServiceAccounts|wide"),
            {
                "Role": (
                    "RoleRef can reference a Role in the current namespace or a ClusterRole in the global "
                    "namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."
                ),
                "Users": "Users in the roleBinding",
                "Groups": "Groups in the roleBinding",
                "ServiceAccounts": "ServiceAccounts in the roleBinding",
            },
        ),
        validation=Validation(
            create="validate.rbac.create_binding",
            update="validate.rbac.update_binding",
        ),
        creates_on_update=True,
    ),
    KindRow(
        kind="Role",
        plural="roles",
        namespaced=True,
        key="roles",
        validation=Validation(create="validate.rbac.create_role", update="validate.rbac.update_role"),
        creates_on_update=True,
    ),
)

TYPES: Final[Types] = {
    "AggregationRule": (("clusterRoleSelectors", 1, "[]meta/v1.LabelSelector", "omit list=atomic@1.35"),),
    "ClusterRole": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("rules", 2, "[]PolicyRule", "list=atomic@1.35"),
        ("aggregationRule", 3, "AggregationRule", "omit ptr"),
    ),
    "ClusterRoleBinding": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("subjects", 2, "[]Subject", "omit list=atomic@1.35"),
        ("roleRef", 3, "RoleRef", "required"),
    ),
    "PolicyRule": (
        ("verbs", 1, "[]string", "required list=atomic@1.35"),
        ("apiGroups", 2, "[]string", "omit list=atomic@1.35"),
        ("resources", 3, "[]string", "omit list=atomic@1.35"),
        ("resourceNames", 4, "[]string", "omit list=atomic@1.35"),
        ("nonResourceURLs", 5, "[]string", "omit list=atomic@1.35"),
    ),
    "Role": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("rules", 2, "[]PolicyRule", "list=atomic@1.35")),
    "RoleBinding": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("subjects", 2, "[]Subject", "omit list=atomic@1.35"),
        ("roleRef", 3, "RoleRef", "required"),
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
