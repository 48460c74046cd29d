"""Built-in flow schemas and priority levels; facts of release 1.23, names as dialect templates.

Texts are words: subjects are written ``group:NAME``, ``user:NAME`` or ``account:NAMESPACE/NAME``, the core group as ``core``.
"""

from typing import Any, Final

Spec = dict[str, Any]


def _limited(shares: int, response: Spec) -> Spec:
    return {"type": "Limited", "limited": {"assuredConcurrencyShares": shares, "limitResponse": response}}


def _queued(shares: int, queues: int, hand: int) -> Spec:
    return _limited(shares, {"type": "Queue", "queuing": {"queues": queues, "handSize": hand, "queueLengthLimit": 50}})


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


def _leader_election(namespaces: str) -> Spec:
    """Locks of every kind; those in endpoints and configmaps in some namespaces only."""
    locks = _resources(_LEADER_VERBS, "core", "endpoints configmaps", namespaces)
    return {"resourceRules": [locks, _resources(_LEADER_VERBS, "coordination.{abbr}.io", "leases")]}


def _schema(level: str, precedence: int, by: str, subjects: str, rules: Spec = _EVERYTHING) -> Spec:
    """`by` is the type of the distinguisher, "" for none."""
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **({"distinguisherMethod": {"type": by}} if by else {}),
        "rules": [{"subjects": [_subject(text) for text in subjects.split()], **rules}],
    }


#: name -> spec
PRIORITY_LEVELS: Final[dict[str, Spec]] = {
    "catch-all": _limited(5, {"type": "Reject"}),
    "exempt": {"type": "Exempt"},
    "global-default": _queued(20, 128, 6),
    "leader-election": _queued(10, 16, 4),
    "node-high": _queued(40, 64, 6),
    "system": _queued(30, 64, 6),
    "workload-high": _queued(40, 128, 6),
    "workload-low": _queued(100, 128, 6),
}

#: name -> spec
FLOW_SCHEMAS: Final[dict[str, Spec]] = {
    "catch-all": _schema("catch-all", 10000, "ByUser", _EVERYBODY),
    "exempt": _schema("exempt", 1, "", "group:system:masters"),
    "global-default": _schema("global-default", 9900, "ByUser", _EVERYBODY),
    "{short}-controller-manager": _schema("workload-high", 800, "ByNamespace", "user:system:{short}-controller-manager"),
    "{short}-scheduler": _schema("workload-high", 800, "ByNamespace", "user:system:{short}-scheduler"),
    "{short}-system-service-accounts": _schema("workload-high", 900, "ByNamespace", _SYSTEM_ACCOUNTS),
    "probes": _schema("exempt", 2, "", _EVERYBODY, _paths("get", "/healthz /readyz /livez")),
    "service-accounts": _schema("workload-low", 9000, "ByUser", "group:system:serviceaccounts"),
    "system-leader-election": _schema(
        "leader-election", 100, "ByUser",
        "user:system:{short}-controller-manager user:system:{short}-scheduler " + _SYSTEM_ACCOUNTS,
        _leader_election("{short}-system"),
    ),
    "system-node-high": _schema("node-high", 400, "ByUser", "group:system:nodes", {"resourceRules": [
        _resources("*", "core", "nodes nodes/status", cluster=True), _resources("*", "coordination.{abbr}.io", "leases"),
    ]}),
    "system-nodes": _schema("system", 500, "ByUser", "group:system:nodes"),
    "workload-leader-election": _schema("leader-election", 200, "ByUser", _SYSTEM_ACCOUNTS, _leader_election("*")),
}  # fmt: skip
