"""Cluster roles of controllers, by the name after ``system:controller:``; each is bound to the service account of that name.

A role is a list of rules; in a rule every member is a string of words: `groups` writes the core group as ``core``; `since` and `until` are
the first release with the rule and the first one without it.
Names are templates for a Dialect.
"""

from __future__ import annotations

CONTROLLER_ROLES: dict[str, list[dict[str, str]]] = {
    "attachdetach-controller": [
        {"verbs": "list watch", "groups": "core", "resources": "persistentvolumeclaims persistentvolumes"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "patch update", "groups": "core", "resources": "nodes/status"},
        {"verbs": "list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "create delete get list watch", "groups": "storage.{abbr}.io", "resources": "volumeattachments"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csidrivers"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csinodes"},
    ],
    "certificate-controller": [
        {
            "verbs": "delete get list watch",
            "groups": "certificates.{abbr}.io",
            "resources": "certificatesigningrequests",
        },
        {
            "verbs": "update",
            "groups": "certificates.{abbr}.io",
            "resources": "certificatesigningrequests/approval certificatesigningrequests/status",
        },
        {
            "verbs": "approve",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": "{long}.io/{short}-apiserver-client-{short}let",
        },
        {
            "verbs": "sign",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": (
                "{long}.io/{short}-apiserver-client {long}.io/{short}-apiserver-client-{short}let "
                "{long}.io/{short}let-serving {long}.io/legacy-unknown"
            ),
        },
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "subjectaccessreviews"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "clusterrole-aggregation-controller": [
        {
            "verbs": "escalate get list patch update watch",
            "groups": "rbac.authorization.{abbr}.io",
            "resources": "clusterroles",
        }
    ],
    "cronjob-controller": [
        {"verbs": "get list update watch", "groups": "batch", "resources": "cronjobs"},
        {"verbs": "create delete get list patch update watch", "groups": "batch", "resources": "jobs"},
        {"verbs": "update", "groups": "batch", "resources": "cronjobs/status"},
        {"verbs": "update", "groups": "batch", "resources": "cronjobs/finalizers"},
        {"verbs": "delete list", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "daemon-set-controller": [
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "daemonsets"},
        {"verbs": "update", "groups": "apps extensions", "resources": "daemonsets/status"},
        {"verbs": "update", "groups": "apps extensions", "resources": "daemonsets/finalizers"},
        {"verbs": "list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create delete list patch watch", "groups": "core", "resources": "pods"},
        {"verbs": "create", "groups": "core", "resources": "pods/binding"},
        {"verbs": "create delete get list patch update watch", "groups": "apps", "resources": "controllerrevisions"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "deployment-controller": [
        {"verbs": "get list update watch", "groups": "apps extensions", "resources": "deployments"},
        {"verbs": "update", "groups": "apps extensions", "resources": "deployments/status"},
        {"verbs": "update", "groups": "apps extensions", "resources": "deployments/finalizers"},
        {"verbs": "create delete get list patch update watch", "groups": "apps extensions", "resources": "replicasets"},
        {"verbs": "get list update watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "disruption-controller": [
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "deployments"},
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "replicasets"},
        {"verbs": "get list watch", "groups": "core", "resources": "replicationcontrollers"},
        {"verbs": "get list watch", "groups": "policy", "resources": "poddisruptionbudgets"},
        {"verbs": "get list watch", "groups": "apps", "resources": "statefulsets"},
        {"verbs": "update", "groups": "policy", "resources": "poddisruptionbudgets/status"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status", "since": "1.26"},
        {"verbs": "get", "groups": "*", "resources": "*/scale"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpoint-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "pods services"},
        {"verbs": "create delete get list update", "groups": "core", "resources": "endpoints"},
        {"verbs": "create", "groups": "core", "resources": "endpoints/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpointslice-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "nodes pods services"},
        {"verbs": "update", "groups": "core", "resources": "services/finalizers"},
        {"verbs": "create delete get list update", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
        {"verbs": "create", "groups": "discovery.{abbr}.io", "resources": "endpointslices/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpointslicemirroring-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "endpoints services"},
        {"verbs": "update", "groups": "core", "resources": "services/finalizers"},
        {"verbs": "update", "groups": "core", "resources": "endpoints/finalizers"},
        {"verbs": "create delete get list update", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
        {"verbs": "create", "groups": "discovery.{abbr}.io", "resources": "endpointslices/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "ephemeral-volume-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "update", "groups": "core", "resources": "pods/finalizers"},
        {"verbs": "create get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "expand-controller": [
        {"verbs": "get list patch update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "patch update", "groups": "core", "resources": "persistentvolumeclaims/status"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "storageclasses"},
        {"verbs": "get", "groups": "core", "resources": "endpoints services"},
        {"verbs": "get", "groups": "core", "resources": "secrets"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "generic-garbage-collector": [
        {"verbs": "delete get list patch update watch", "groups": "*", "resources": "*"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "horizontal-pod-autoscaler": [
        {"verbs": "get list watch", "groups": "autoscaling", "resources": "horizontalpodautoscalers"},
        {"verbs": "update", "groups": "autoscaling", "resources": "horizontalpodautoscalers/status"},
        {"verbs": "get update", "groups": "*", "resources": "*/scale"},
        {"verbs": "list", "groups": "core", "resources": "pods"},
        {"verbs": "get", "groups": "core", "resources": "services/proxy", "names": "http:heapster: https:heapster:"},
        {"verbs": "list", "groups": "metrics.{abbr}.io", "resources": "pods"},
        {"verbs": "get list", "groups": "custom.metrics.{abbr}.io", "resources": "*"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "job-controller": [
        {"verbs": "get list patch update watch", "groups": "batch", "resources": "jobs"},
        {"verbs": "update", "groups": "batch", "resources": "jobs/status"},
        {"verbs": "update", "groups": "batch", "resources": "jobs/finalizers"},
        {"verbs": "create delete list patch watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "namespace-controller": [
        {"verbs": "delete get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "update", "groups": "core", "resources": "namespaces/finalize namespaces/status"},
        {"verbs": "delete deletecollection get list", "groups": "*", "resources": "*"},
    ],
    "node-controller": [
        {"verbs": "delete get list patch update", "groups": "core", "resources": "nodes", "until": "1.33"},
        {"verbs": "delete get list patch update watch", "groups": "core", "resources": "nodes", "since": "1.33"},
        {"verbs": "patch update", "groups": "core", "resources": "nodes/status"},
        {"verbs": "update", "groups": "core", "resources": "pods/status", "until": "1.26"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status", "since": "1.26"},
        {"verbs": "delete list", "groups": "core", "resources": "pods", "until": "1.26"},
        {"verbs": "delete get list watch", "groups": "core", "resources": "pods", "since": "1.26"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "persistent-volume-binder": [
        {"verbs": "create delete get list update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "update", "groups": "core", "resources": "persistentvolumes/status"},
        {"verbs": "get list update watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "update", "groups": "core", "resources": "persistentvolumeclaims/status"},
        {"verbs": "create delete get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "storageclasses"},
        {"verbs": "create delete get update", "groups": "core", "resources": "endpoints"},
        {"verbs": "create delete get", "groups": "core", "resources": "services"},
        {"verbs": "get", "groups": "core", "resources": "secrets"},
        {"verbs": "get list", "groups": "core", "resources": "nodes"},
        {"verbs": "watch", "groups": "core", "resources": "events"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "pod-garbage-collector": [
        {"verbs": "delete list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list", "groups": "core", "resources": "nodes", "until": "1.33"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes", "since": "1.33"},
        {"verbs": "patch", "groups": "core", "resources": "pods/status", "since": "1.26"},
    ],
    "pv-protection-controller": [
        {"verbs": "get list update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "pvc-protection-controller": [
        {"verbs": "get list update watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "replicaset-controller": [
        {"verbs": "get list update watch", "groups": "apps extensions", "resources": "replicasets"},
        {"verbs": "update", "groups": "apps extensions", "resources": "replicasets/status"},
        {"verbs": "update", "groups": "apps extensions", "resources": "replicasets/finalizers"},
        {"verbs": "create delete list patch watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "replication-controller": [
        {"verbs": "get list update watch", "groups": "core", "resources": "replicationcontrollers"},
        {"verbs": "update", "groups": "core", "resources": "replicationcontrollers/status"},
        {"verbs": "update", "groups": "core", "resources": "replicationcontrollers/finalizers"},
        {"verbs": "create delete list patch watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "resourcequota-controller": [
        {"verbs": "list watch", "groups": "*", "resources": "*"},
        {"verbs": "update", "groups": "core", "resources": "resourcequotas/status"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "root-ca-cert-publisher": [
        {"verbs": "create update", "groups": "core", "resources": "configmaps"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "route-controller": [
        {"verbs": "list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "patch", "groups": "core", "resources": "nodes/status"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "service-account-controller": [
        {"verbs": "create", "groups": "core", "resources": "serviceaccounts"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "service-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "services"},
        {"verbs": "patch update", "groups": "core", "resources": "services/status"},
        {"verbs": "list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "statefulset-controller": [
        {"verbs": "list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "apps", "resources": "statefulsets"},
        {"verbs": "update", "groups": "apps", "resources": "statefulsets/status"},
        {"verbs": "update", "groups": "apps", "resources": "statefulsets/finalizers"},
        {"verbs": "create delete get patch update", "groups": "core", "resources": "pods"},
        {"verbs": "create delete get list patch update watch", "groups": "apps", "resources": "controllerrevisions"},
        {"verbs": "create get", "groups": "core", "resources": "persistentvolumeclaims", "until": "1.27"},
        {"verbs": "create get list watch", "groups": "core", "resources": "persistentvolumeclaims", "since": "1.27"},
        {"verbs": "delete update", "groups": "core", "resources": "persistentvolumeclaims", "since": "1.32"},
        {"verbs": "update", "groups": "core", "resources": "pods/finalizers", "since": "1.32"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "ttl-after-finished-controller": [
        {"verbs": "delete get list watch", "groups": "batch", "resources": "jobs"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "ttl-controller": [
        {"verbs": "list patch update watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "validatingadmissionpolicy-status-controller": [
        {
            "verbs": "get list watch",
            "groups": "admissionregistration.{abbr}.io",
            "resources": "validatingadmissionpolicies",
        },
        {
            "verbs": "get patch update",
            "groups": "admissionregistration.{abbr}.io",
            "resources": "validatingadmissionpolicies/status",
        },
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
}
#: The first release of roles of later releases.
SINCE: dict[str, str] = {"validatingadmissionpolicy-status-controller": "1.30"}
