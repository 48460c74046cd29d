"""Built-in flow schemas and priority levels; facts of release 1.23, names as dialect templates."""

from typing import Any, Final

#: name -> spec
PRIORITY_LEVELS: Final[dict[str, dict[str, Any]]] = {
    "catch-all": {"type": "Limited", "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
    "exempt": {"type": "Exempt"},
    "global-default": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 20,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 128, "handSize": 6, "queueLengthLimit": 50}},
        },
    },
    "leader-election": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 10,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 50}},
        },
    },
    "node-high": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 40,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}},
        },
    },
    "system": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 30,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}},
        },
    },
    "workload-high": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 40,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 128, "handSize": 6, "queueLengthLimit": 50}},
        },
    },
    "workload-low": {
        "type": "Limited",
        "limited": {
            "assuredConcurrencyShares": 100,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 128, "handSize": 6, "queueLengthLimit": 50}},
        },
    },
}

#: name -> spec
FLOW_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [
                    {"kind": "Group", "group": {"name": "system:unauthenticated"}},
                    {"kind": "Group", "group": {"name": "system:authenticated"}},
                ],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": "system:masters"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "global-default": {
        "priorityLevelConfiguration": {"name": "global-default"},
        "matchingPrecedence": 9900,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [
                    {"kind": "Group", "group": {"name": "system:unauthenticated"}},
                    {"kind": "Group", "group": {"name": "system:authenticated"}},
                ],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "{short}-controller-manager": {
        "priorityLevelConfiguration": {"name": "workload-high"},
        "matchingPrecedence": 800,
        "distinguisherMethod": {"type": "ByNamespace"},
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": "system:{short}-controller-manager"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "{short}-scheduler": {
        "priorityLevelConfiguration": {"name": "workload-high"},
        "matchingPrecedence": 800,
        "distinguisherMethod": {"type": "ByNamespace"},
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": "system:{short}-scheduler"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "{short}-system-service-accounts": {
        "priorityLevelConfiguration": {"name": "workload-high"},
        "matchingPrecedence": 900,
        "distinguisherMethod": {"type": "ByNamespace"},
        "rules": [
            {
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "{short}-system", "name": "*"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "probes": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 2,
        "rules": [
            {
                "subjects": [
                    {"kind": "Group", "group": {"name": "system:unauthenticated"}},
                    {"kind": "Group", "group": {"name": "system:authenticated"}},
                ],
                "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
            },
        ],
    },
    "service-accounts": {
        "priorityLevelConfiguration": {"name": "workload-low"},
        "matchingPrecedence": 9000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": "system:serviceaccounts"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "system-leader-election": {
        "priorityLevelConfiguration": {"name": "leader-election"},
        "matchingPrecedence": 100,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [
                    {"kind": "User", "user": {"name": "system:{short}-controller-manager"}},
                    {"kind": "User", "user": {"name": "system:{short}-scheduler"}},
                    {"kind": "ServiceAccount", "serviceAccount": {"namespace": "{short}-system", "name": "*"}},
                ],
                "resourceRules": [
                    {
                        "verbs": ["get", "create", "update"],
                        "apiGroups": [""],
                        "resources": ["endpoints", "configmaps"],
                        "namespaces": ["{short}-system"],
                    },
                    {
                        "verbs": ["get", "create", "update"],
                        "apiGroups": ["coordination.{abbr}.io"],
                        "resources": ["leases"],
                        "namespaces": ["*"],
                    },
                ],
            },
        ],
    },
    "system-node-high": {
        "priorityLevelConfiguration": {"name": "node-high"},
        "matchingPrecedence": 400,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": "system:nodes"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": [""],
                        "resources": ["nodes", "nodes/status"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                    {
                        "verbs": ["*"],
                        "apiGroups": ["coordination.{abbr}.io"],
                        "resources": ["leases"],
                        "namespaces": ["*"],
                    },
                ],
            },
        ],
    },
    "system-nodes": {
        "priorityLevelConfiguration": {"name": "system"},
        "matchingPrecedence": 500,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [{"kind": "Group", "group": {"name": "system:nodes"}}],
                "resourceRules": [
                    {
                        "verbs": ["*"],
                        "apiGroups": ["*"],
                        "resources": ["*"],
                        "clusterScope": True,
                        "namespaces": ["*"],
                    },
                ],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            },
        ],
    },
    "workload-leader-election": {
        "priorityLevelConfiguration": {"name": "leader-election"},
        "matchingPrecedence": 200,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "{short}-system", "name": "*"}}],
                "resourceRules": [
                    {
                        "verbs": ["get", "create", "update"],
                        "apiGroups": [""],
                        "resources": ["endpoints", "configmaps"],
                        "namespaces": ["*"],
                    },
                    {
                        "verbs": ["get", "create", "update"],
                        "apiGroups": ["coordination.{abbr}.io"],
                        "resources": ["leases"],
                        "namespaces": ["*"],
                    },
                ],
            },
        ],
    },
}
