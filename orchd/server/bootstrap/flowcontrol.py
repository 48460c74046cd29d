"""Built-in flow schemas and priority levels; facts of releases 1.23 and 1.35, names as dialect templates.

Texts are words: subjects are written ``group:NAME``, ``user:NAME`` or ``account:NAMESPACE/NAME``, the core group as
``core``.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from orchd.kinds.release import Release

Spec = dict[str, Any]

#: The versions of the group with the release that begins to serve each.
_VERSIONS: Final = (("", "v1beta2"), ("1.29", "v1"))


def flow_control_version(release: Release) -> str:
    """The version of flow control objects that a server of a release uses itself."""
    return release.choose(_VERSIONS)


def _limited(shares: int, response: Spec, lendable: int) -> Spec:
    """In the form of v1."""
    limited = {"nominalConcurrencyShares": shares, "limitResponse": response, "lendablePercent": lendable}
    return {"type": "Limited", "limited": limited}


def _queued(shares: int, queues: int, hand: int, lendable: int) -> Spec:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
    return _limited(shares, {"type": "Queue", "queuing": queuing}, lendable)


def _before_v1(spec: Spec) -> Spec:
    """The spec of a level in the versions before v1, which lend nothing."""
    limited = spec.get("limited")
    if limited is None:
        return {"type": spec["type"]}
    return {
        "type": spec["type"],
        "limited": {
            "assuredConcurrencyShares": limited["nominalConcurrencyShares"],
            "limitResponse": limited["limitResponse"],
        },
    }


def _subject(text: str) -> Spec:
    kind, _, name = text.partition(":")
    if kind != "account":
        return {"kind": kind.capitalize(), kind: {"name": name}}
    namespace, _, name = name.partition("/")
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}


def _resources(verbs: str, groups: str, resources: str, namespaces: str = "*", *, cluster: bool = False) -> Spec:
    return {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
        **({"clusterScope": True} if cluster else {}),
        "namespaces": namespaces.split(),
    }


def _paths(verbs: str, paths: str) -> Spec:
    return {"nonResourceRules": [{"verbs": verbs.split(), "nonResourceURLs": paths.split()}]}


_EVERYTHING: Final[Spec] = {"resourceRules": [_resources("*", "*", "*", cluster=True)], **_paths("*", "*")}
_LEADER_VERBS: Final = "get create update"
_EVERYBODY: Final = "group:system:unauthenticated group:system:authenticated"
_SYSTEM_ACCOUNTS: Final = "account:{short}-system/*"


_LEASES: Final = _resources(_LEADER_VERBS, "coordination.{abbr}.io", "leases")
_LEADERS: Final = "user:system:{short}-controller-manager user:system:{short}-scheduler " + _SYSTEM_ACCOUNTS


def _leader_election(namespaces: str) -> Spec:
    """Locks of every kind; those in endpoints and configmaps in some namespaces only."""
    locks = _resources(_LEADER_VERBS, "core", "endpoints configmaps", namespaces)
    return {"resourceRules": [locks, _LEASES]}


def _schema(level: str, precedence: int, by: str, subjects: str, rules: Spec = _EVERYTHING) -> Spec:
    """`by` is the type of the distinguisher, "" for none."""
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **({"distinguisherMethod": {"type": by}} if by else {}),
        "rules": [{"subjects": [_subject(text) for text in subjects.split()], **rules}],
    }


#: name -> spec, in the form of v1
_PRIORITY_LEVELS: Final[dict[str, Spec]] = {
    "catch-all": _limited(5, {"type": "Reject"}, 0),
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "global-default": _queued(20, 128, 6, 50),
    "leader-election": _queued(10, 16, 4, 0),
    "node-high": _queued(40, 64, 6, 25),
    "system": _queued(30, 64, 6, 33),
    "workload-high": _queued(40, 128, 6, 50),
    "workload-low": _queued(100, 128, 6, 90),
}

#: name -> spec
_FLOW_SCHEMAS: Final[dict[str, Spec]] = {
    "catch-all": _schema("catch-all", 10000, "ByUser", _EVERYBODY),
    "exempt": _schema("exempt", 1, "", "group:system:masters"),
    "global-default": _schema("global-default", 9900, "ByUser", _EVERYBODY),
    "{short}-controller-manager": _schema("workload-high", 800, "ByNamespace", "user:system:{short}-controller-manager"),
    "{short}-scheduler": _schema("workload-high", 800, "ByNamespace", "user:system:{short}-scheduler"),
    "{short}-system-service-accounts": _schema("workload-high", 900, "ByNamespace", _SYSTEM_ACCOUNTS),
    "probes": _schema("exempt", 2, "", _EVERYBODY, _paths("get", "/healthz /readyz /livez")),
    "service-accounts": _schema("workload-low", 9000, "ByUser", "group:system:serviceaccounts"),
    "system-leader-election": _schema("leader-election", 100, "ByUser", _LEADERS, _leader_election("{short}-system")),
    "system-node-high": _schema("node-high", 400, "ByUser", "group:system:nodes", {"resourceRules": [
        _resources("*", "core", "nodes nodes/status", cluster=True),
        _resources("*", "coordination.{abbr}.io", "leases"),
    ]}),
    "system-nodes": _schema("system", 500, "ByUser", "group:system:nodes"),
    "workload-leader-election": _schema("leader-election", 200, "ByUser", _SYSTEM_ACCOUNTS, _leader_election("*")),
}  # fmt: skip

#: A release, and the schemas that have another spec from it on, or are gone (None).
_CHANGES: Final[tuple[tuple[str, dict[str, Spec | None]], ...]] = (
    (
        "1.30",
        {
            "system-leader-election": _schema("leader-election", 100, "ByUser", _LEADERS, {"resourceRules": [_LEASES]}),
            "workload-leader-election": None,
        },
    ),
)


@cache
def priority_levels(release: Release) -> Mapping[str, Spec]:
    """Specs by name, in the `flow_control_version` of the release."""
    return {
        name: spec if flow_control_version(release) == "v1" else _before_v1(spec)
        for name, spec in _PRIORITY_LEVELS.items()
    }


@cache
def flow_schemas(release: Release) -> Mapping[str, Spec]:
    """Specs by name (a template)."""
    specs: dict[str, Spec | None] = dict(_FLOW_SCHEMAS)
    for since, changes in _CHANGES:
        if release.includes(since):
            specs.update(changes)
    return {name: spec for name, spec in specs.items() if spec is not None}
