"""Default namespaced roles, and the subjects of default roles.

Subjects are ``user NAME``, ``group NAME`` and ``sa NAMESPACE/NAME``; rules are written as in `bootstrap_roles`.
"""

from __future__ import annotations

ROLES: dict[tuple[str, str], list[dict[str, str]]] = {
    ("{short}-public", "system:controller:bootstrap-signer"): [
        {"verbs": "get list watch", "groups": "core", "resources": "configmaps"},
        {"verbs": "update", "groups": "core", "resources": "configmaps", "names": "cluster-info"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    ("{short}-system", "extension-apiserver-authentication-reader"): [
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": "configmaps",
            "names": "extension-apiserver-authentication",
        }
    ],
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): [
        {"verbs": "watch", "groups": "core", "resources": "configmaps"},
        {"verbs": "get update", "groups": "core", "resources": "configmaps", "names": "{short}-controller-manager"},
    ],
    ("{short}-system", "system::leader-locking-{short}-scheduler"): [
        {"verbs": "watch", "groups": "core", "resources": "configmaps"},
        {"verbs": "get update", "groups": "core", "resources": "configmaps", "names": "{short}-scheduler"},
    ],
    ("{short}-system", "system:controller:bootstrap-signer"): [
        {"verbs": "get list watch", "groups": "core", "resources": "secrets"}
    ],
    ("{short}-system", "system:controller:cloud-provider"): [
        {"verbs": "create get list watch", "groups": "core", "resources": "configmaps"}
    ],
    ("{short}-system", "system:controller:token-cleaner"): [
        {"verbs": "delete get list watch", "groups": "core", "resources": "secrets"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
}

#: Cluster role bindings: name -> (cluster role, subjects); those of controllers follow from their roles.
CLUSTER_ROLE_BINDINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cluster-admin": ("cluster-admin", ("group system:masters",)),
    "system:basic-user": ("system:basic-user", ("group system:authenticated",)),
    "system:discovery": ("system:discovery", ("group system:authenticated",)),
    "system:{short}-controller-manager": (
        "system:{short}-controller-manager",
        ("user system:{short}-controller-manager",),
    ),
    "system:{short}-dns": ("system:{short}-dns", ("sa {short}-system/{short}-dns",)),
    "system:{short}-scheduler": ("system:{short}-scheduler", ("user system:{short}-scheduler",)),
    "system:monitoring": ("system:monitoring", ("group system:monitoring",)),
    "system:node": ("system:node", ()),
    "system:node-proxier": ("system:node-proxier", ("user system:{short}-proxy",)),
    "system:public-info-viewer": (
        "system:public-info-viewer",
        ("group system:authenticated", "group system:unauthenticated"),
    ),
    "system:service-account-issuer-discovery": (
        "system:service-account-issuer-discovery",
        ("group system:serviceaccounts",),
    ),
    "system:volume-scheduler": ("system:volume-scheduler", ("user system:{short}-scheduler",)),
}

#: Role bindings: (namespace, name) -> (role, subjects).
ROLE_BINDINGS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("{short}-public", "system:controller:bootstrap-signer"): (
        "system:controller:bootstrap-signer",
        ("sa {short}-system/bootstrap-signer",),
    ),
    ("{short}-system", "system::extension-apiserver-authentication-reader"): (
        "extension-apiserver-authentication-reader",
        ("user system:{short}-controller-manager", "user system:{short}-scheduler"),
    ),
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): (
        "system::leader-locking-{short}-controller-manager",
        ("user system:{short}-controller-manager", "sa {short}-system/{short}-controller-manager"),
    ),
    ("{short}-system", "system::leader-locking-{short}-scheduler"): (
        "system::leader-locking-{short}-scheduler",
        ("user system:{short}-scheduler", "sa {short}-system/{short}-scheduler"),
    ),
    ("{short}-system", "system:controller:bootstrap-signer"): (
        "system:controller:bootstrap-signer",
        ("sa {short}-system/bootstrap-signer",),
    ),
    ("{short}-system", "system:controller:cloud-provider"): (
        "system:controller:cloud-provider",
        ("sa {short}-system/cloud-provider",),
    ),
    ("{short}-system", "system:controller:token-cleaner"): (
        "system:controller:token-cleaner",
        ("sa {short}-system/token-cleaner",),
    ),
}
