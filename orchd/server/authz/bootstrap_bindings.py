"""Default namespaced roles, and the subjects of default roles.

Subjects are ``user NAME``, ``group NAME`` and ``sa NAMESPACE/NAME``.
"""

from __future__ import annotations

from typing import Final

from orchd.server.authz.bootstrap_rules import EVENTS, READ, Rule

ROLES: Final[dict[tuple[str, str], tuple[Rule, ...]]] = {
    ("{short}-public", "system:controller:bootstrap-signer"): (
        Rule(READ, "core", "configmaps"),
        Rule("update", "core", "configmaps", names="cluster-info"),
        EVENTS,
    ),
    ("{short}-system", "extension-apiserver-authentication-reader"): (
        Rule(READ, "core", "configmaps", names="extension-apiserver-authentication"),
    ),
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): (
        Rule("watch", "core", "configmaps", until="1.35"),
        Rule("get update", "core", "configmaps", names="{short}-controller-manager", until="1.35"),
        Rule("create get list update watch", "coordination.{abbr}.io", "leases", since="1.35"),
        Rule("create get list update watch", "coordination.{abbr}.io", "leasecandidates", since="1.35"),
    ),
    ("{short}-system", "system::leader-locking-{short}-scheduler"): (
        Rule("watch", "core", "configmaps", until="1.35"),
        Rule("get update", "core", "configmaps", names="{short}-scheduler", until="1.35"),
        Rule("create get list update watch", "coordination.{abbr}.io", "leases", since="1.35"),
        Rule("create get list update watch", "coordination.{abbr}.io", "leasecandidates", since="1.35"),
    ),
    ("{short}-system", "system:controller:bootstrap-signer"): (Rule(READ, "core", "secrets"),),
    ("{short}-system", "system:controller:cloud-provider"): (Rule("create get list watch", "core", "configmaps"),),
    ("{short}-system", "system:controller:token-cleaner"): (Rule("delete get list watch", "core", "secrets"), EVENTS),
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

#: Further subjects of role bindings: the first release with each, and the subject.
LATER_SUBJECTS: Final[dict[tuple[str, str], tuple[tuple[str, str], ...]]] = {
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): (
        ("1.35", "sa {short}-system/leader-election-controller"),
    )
}
