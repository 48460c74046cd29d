"""Default cluster roles, except those of controllers.

A role is a list of rules; in a rule every member is a string of words: `groups` writes the core group as ``core``.
Names are templates for a Dialect.
"""

from __future__ import annotations

CLUSTER_ROLES: dict[str, list[dict[str, str]]] = {
    "admin": [],
    "cluster-admin": [{"verbs": "*", "groups": "*", "resources": "*"}, {"verbs": "*", "paths": "*"}],
    "edit": [],
    "system:aggregate-to-admin": [
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "localsubjectaccessreviews"},
        {
            "verbs": "create delete deletecollection get list patch update watch",
            "groups": "rbac.authorization.{abbr}.io",
            "resources": "rolebindings roles",
        },
    ],
    "system:aggregate-to-edit": [
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
        },
        {"verbs": "impersonate", "groups": "core", "resources": "serviceaccounts"},
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "core",
            "resources": "pods pods/attach pods/exec pods/portforward pods/proxy",
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "core",
            "resources": (
                "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
                "secrets serviceaccounts services services/proxy"
            ),
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "apps",
            "resources": (
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
                "statefulsets statefulsets/scale"
            ),
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "autoscaling",
            "resources": "horizontalpodautoscalers",
        },
        {"verbs": "create delete deletecollection patch update", "groups": "batch", "resources": "cronjobs jobs"},
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "extensions",
            "resources": (
                "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
                "replicasets replicasets/scale replicationcontrollers/scale"
            ),
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "policy",
            "resources": "poddisruptionbudgets",
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "networking.{abbr}.io",
            "resources": "ingresses networkpolicies",
        },
    ],
    "system:aggregate-to-view": [
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": (
                "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
                "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status"
            ),
        },
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": (
                "bindings events limitranges namespaces/status pods/log pods/status "
                "replicationcontrollers/status resourcequotas resourcequotas/status"
            ),
        },
        {"verbs": "get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "get list watch", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
        {
            "verbs": "get list watch",
            "groups": "apps",
            "resources": (
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
                "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
                "statefulsets/scale statefulsets/status"
            ),
        },
        {
            "verbs": "get list watch",
            "groups": "autoscaling",
            "resources": "horizontalpodautoscalers horizontalpodautoscalers/status",
        },
        {"verbs": "get list watch", "groups": "batch", "resources": "cronjobs cronjobs/status jobs jobs/status"},
        {
            "verbs": "get list watch",
            "groups": "extensions",
            "resources": (
                "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
                "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
                "replicationcontrollers/scale"
            ),
        },
        {
            "verbs": "get list watch",
            "groups": "policy",
            "resources": "poddisruptionbudgets poddisruptionbudgets/status",
        },
        {
            "verbs": "get list watch",
            "groups": "networking.{abbr}.io",
            "resources": "ingresses ingresses/status networkpolicies",
        },
    ],
    "system:auth-delegator": [
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "tokenreviews"},
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "subjectaccessreviews"},
    ],
    "system:basic-user": [
        {
            "verbs": "create",
            "groups": "authorization.{abbr}.io",
            "resources": "selfsubjectaccessreviews selfsubjectrulesreviews",
        }
    ],
    "system:certificates.{abbr}.io:certificatesigningrequests:nodeclient": [
        {"verbs": "create", "groups": "certificates.{abbr}.io", "resources": "certificatesigningrequests/nodeclient"}
    ],
    "system:certificates.{abbr}.io:certificatesigningrequests:selfnodeclient": [
        {
            "verbs": "create",
            "groups": "certificates.{abbr}.io",
            "resources": "certificatesigningrequests/selfnodeclient",
        }
    ],
    "system:certificates.{abbr}.io:{short}-apiserver-client-approver": [
        {
            "verbs": "approve",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": "{long}.io/{short}-apiserver-client",
        }
    ],
    "system:certificates.{abbr}.io:{short}-apiserver-client-{short}let-approver": [
        {
            "verbs": "approve",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": "{long}.io/{short}-apiserver-client-{short}let",
        }
    ],
    "system:certificates.{abbr}.io:{short}let-serving-approver": [
        {
            "verbs": "approve",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": "{long}.io/{short}let-serving",
        }
    ],
    "system:certificates.{abbr}.io:legacy-unknown-approver": [
        {
            "verbs": "approve",
            "groups": "certificates.{abbr}.io",
            "resources": "signers",
            "names": "{long}.io/legacy-unknown",
        }
    ],
    "system:discovery": [
        {
            "verbs": "get",
            "paths": "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
        }
    ],
    "system:heapster": [
        {"verbs": "get list watch", "groups": "core", "resources": "events namespaces nodes pods"},
        {"verbs": "get list watch", "groups": "extensions", "resources": "deployments"},
    ],
    "system:{short}-aggregator": [{"verbs": "get list watch", "groups": "core", "resources": "endpoints services"}],
    "system:{short}-controller-manager": [
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "create", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {
            "verbs": "get update",
            "groups": "coordination.{abbr}.io",
            "resources": "leases",
            "names": "{short}-controller-manager",
        },
        {"verbs": "create", "groups": "core", "resources": "endpoints"},
        {"verbs": "get update", "groups": "core", "resources": "endpoints", "names": "{short}-controller-manager"},
        {"verbs": "create", "groups": "core", "resources": "secrets serviceaccounts"},
        {"verbs": "delete", "groups": "core", "resources": "secrets"},
        {"verbs": "get", "groups": "core", "resources": "configmaps namespaces secrets serviceaccounts"},
        {"verbs": "update", "groups": "core", "resources": "secrets serviceaccounts"},
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "tokenreviews"},
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "subjectaccessreviews"},
        {"verbs": "list watch", "groups": "*", "resources": "*"},
        {"verbs": "create", "groups": "core", "resources": "serviceaccounts/token"},
    ],
    "system:{short}-dns": [{"verbs": "list watch", "groups": "core", "resources": "endpoints services"}],
    "system:{short}-scheduler": [
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "create", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {
            "verbs": "get update",
            "groups": "coordination.{abbr}.io",
            "resources": "leases",
            "names": "{short}-scheduler",
        },
        {"verbs": "create", "groups": "core", "resources": "endpoints"},
        {"verbs": "get update", "groups": "core", "resources": "endpoints", "names": "{short}-scheduler"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "delete get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create", "groups": "core", "resources": "bindings pods/binding"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status"},
        {"verbs": "get list watch", "groups": "core", "resources": "replicationcontrollers services"},
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "replicasets"},
        {"verbs": "get list watch", "groups": "apps", "resources": "statefulsets"},
        {"verbs": "get list watch", "groups": "policy", "resources": "poddisruptionbudgets"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumeclaims persistentvolumes"},
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "tokenreviews"},
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "subjectaccessreviews"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csinodes"},
        {"verbs": "get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csidrivers"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csistoragecapacities"},
    ],
    "system:{short}let-api-admin": [
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "proxy", "groups": "core", "resources": "nodes"},
        {"verbs": "*", "groups": "core", "resources": "nodes/log nodes/metrics nodes/proxy nodes/spec nodes/stats"},
    ],
    "system:monitoring": [{"verbs": "get", "paths": "/healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*"}],
    "system:node": [
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "tokenreviews"},
        {
            "verbs": "create",
            "groups": "authorization.{abbr}.io",
            "resources": "localsubjectaccessreviews subjectaccessreviews",
        },
        {"verbs": "get list watch", "groups": "core", "resources": "services"},
        {"verbs": "create get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "patch update", "groups": "core", "resources": "nodes/status"},
        {"verbs": "patch update", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core", "resources": "events"},
        {"verbs": "get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create delete", "groups": "core", "resources": "pods"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status"},
        {"verbs": "create", "groups": "core", "resources": "pods/eviction"},
        {"verbs": "get list watch", "groups": "core", "resources": "configmaps secrets"},
        {"verbs": "get", "groups": "core", "resources": "persistentvolumeclaims persistentvolumes"},
        {"verbs": "get", "groups": "core", "resources": "endpoints"},
        {
            "verbs": "create get list watch",
            "groups": "certificates.{abbr}.io",
            "resources": "certificatesigningrequests",
        },
        {"verbs": "create delete get patch update", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {"verbs": "get", "groups": "storage.{abbr}.io", "resources": "volumeattachments"},
        {"verbs": "create", "groups": "core", "resources": "serviceaccounts/token"},
        {"verbs": "get patch update", "groups": "core", "resources": "persistentvolumeclaims/status"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csidrivers"},
        {"verbs": "create delete get patch update", "groups": "storage.{abbr}.io", "resources": "csinodes"},
        {"verbs": "get list watch", "groups": "node.{abbr}.io", "resources": "runtimeclasses"},
    ],
    "system:node-bootstrapper": [
        {
            "verbs": "create get list watch",
            "groups": "certificates.{abbr}.io",
            "resources": "certificatesigningrequests",
        }
    ],
    "system:node-problem-detector": [
        {"verbs": "get", "groups": "core", "resources": "nodes"},
        {"verbs": "patch", "groups": "core", "resources": "nodes/status"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "system:node-proxier": [
        {"verbs": "list watch", "groups": "core", "resources": "endpoints services"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "list watch", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
    ],
    "system:persistent-volume-provisioner": [
        {"verbs": "create delete get list watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "get list update watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "storageclasses"},
        {"verbs": "watch", "groups": "core", "resources": "events"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "system:public-info-viewer": [{"verbs": "get", "paths": "/healthz /livez /readyz /version /version/"}],
    "system:service-account-issuer-discovery": [
        {"verbs": "get", "paths": "/.well-known/openid-configuration /openid/v1/jwks"}
    ],
    "system:volume-scheduler": [
        {"verbs": "get list patch update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "storageclasses"},
        {"verbs": "get list patch update watch", "groups": "core", "resources": "persistentvolumeclaims"},
    ],
    "view": [],
}

#: Roles that a controller aggregates from roles with the label ``aggregate-to-NAME``; they define no rules themselves.
AGGREGATED = ("admin", "edit", "view")

#: Roles with the label ``aggregate-to-VALUE``.
AGGREGATES_TO = {
    "edit": "admin",
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
    "view": "edit",
}
