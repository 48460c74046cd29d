"""Default roles of release 1.35 that release 1.23 does not have, or that have other rules: with all their rules, in order.

Written as in `bootstrap_roles`, `bootstrap_controller_roles` and `bootstrap_bindings`.
"""

from __future__ import annotations

from typing import Final

#: The release from which on these roles hold.
SINCE: Final = "1.35"

CLUSTER_ROLES: Final[dict[str, list[dict[str, str]]]] = {
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
        {"verbs": "create", "groups": "core", "resources": "pods/eviction"},
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "core",
            "resources": "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
        },
        {"verbs": "create", "groups": "core", "resources": "serviceaccounts/token"},
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "core events.{abbr}.io",
            "resources": "events",
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "apps",
            "resources": "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
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
            "resources": "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
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
        {
            "verbs": "create delete deletecollection get list patch update watch",
            "groups": "coordination.{abbr}.io",
            "resources": "leases",
        },
        {
            "verbs": "create delete deletecollection patch update",
            "groups": "resource.{abbr}.io",
            "resources": "resourceclaims resourceclaimtemplates",
        },
    ],
    "system:aggregate-to-view": [
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
        },
        {
            "verbs": "get list watch",
            "groups": "core",
            "resources": "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
        },
        {"verbs": "get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "get list watch", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "get list watch", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
        {
            "verbs": "get list watch",
            "groups": "apps",
            "resources": "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
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
            "resources": "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
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
        {
            "verbs": "get list watch",
            "groups": "resource.{abbr}.io",
            "resources": "resourceclaims resourceclaims/status resourceclaimtemplates",
        },
    ],
    "system:basic-user": [
        {
            "verbs": "create",
            "groups": "authorization.{abbr}.io",
            "resources": "selfsubjectaccessreviews selfsubjectrulesreviews",
        },
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "selfsubjectreviews"},
    ],
    "system:monitoring": [
        {"verbs": "get", "paths": "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"},
        {"verbs": "get", "groups": "core", "resources": "nodes/metrics"},
    ],
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
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
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
        {"verbs": "get", "groups": "resource.{abbr}.io", "resources": "resourceclaims"},
        {"verbs": "deletecollection", "groups": "resource.{abbr}.io", "resources": "resourceslices"},
        {"verbs": "get", "groups": "core", "resources": "serviceaccounts"},
    ],
    "system:node-proxier": [
        {"verbs": "list watch", "groups": "core", "resources": "endpoints services"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "list watch", "groups": "networking.{abbr}.io", "resources": "servicecidrs"},
        {"verbs": "list watch", "groups": "discovery.{abbr}.io", "resources": "endpointslices"},
    ],
    "system:{short}-controller-manager": [
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "create", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {
            "verbs": "get update",
            "groups": "coordination.{abbr}.io",
            "resources": "leases",
            "names": "{short}-controller-manager",
        },
        {"verbs": "create", "groups": "core", "resources": "secrets serviceaccounts"},
        {"verbs": "delete", "groups": "core", "resources": "secrets"},
        {"verbs": "get", "groups": "core", "resources": "configmaps namespaces secrets serviceaccounts"},
        {"verbs": "update", "groups": "core", "resources": "secrets serviceaccounts"},
        {"verbs": "create", "groups": "authentication.{abbr}.io", "resources": "tokenreviews"},
        {"verbs": "create", "groups": "authorization.{abbr}.io", "resources": "subjectaccessreviews"},
        {"verbs": "list watch", "groups": "*", "resources": "*"},
        {"verbs": "create", "groups": "core", "resources": "serviceaccounts/token"},
    ],
    "system:{short}-scheduler": [
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "create", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {
            "verbs": "get list update watch",
            "groups": "coordination.{abbr}.io",
            "resources": "leases",
            "names": "{short}-scheduler",
        },
        {
            "verbs": "create delete deletecollection get list patch update watch",
            "groups": "coordination.{abbr}.io",
            "resources": "leasecandidates",
        },
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
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "volumeattachments"},
        {"verbs": "get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csidrivers"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csistoragecapacities"},
        {"verbs": "get list watch", "groups": "resource.{abbr}.io", "resources": "deviceclasses"},
        {"verbs": "get list patch update watch", "groups": "resource.{abbr}.io", "resources": "resourceclaims"},
        {"verbs": "get list patch update watch", "groups": "resource.{abbr}.io", "resources": "resourceclaims/status"},
        {"verbs": "update", "groups": "core", "resources": "pods/finalizers"},
        {"verbs": "get list watch", "groups": "resource.{abbr}.io", "resources": "resourceslices"},
    ],
    "system:{short}let-api-admin": [
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "proxy", "groups": "core", "resources": "nodes"},
        {"verbs": "*", "groups": "core", "resources": "nodes/log nodes/metrics nodes/proxy nodes/stats"},
        {"verbs": "*", "groups": "core", "resources": "nodes/configz nodes/healthz nodes/pods"},
    ],
    "system:service-account-issuer-discovery": [
        {
            "verbs": "get",
            "paths": "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        }
    ],
}

CONTROLLER_ROLES: Final[dict[str, list[dict[str, str]]]] = {
    "legacy-service-account-token-cleaner": [
        {
            "verbs": "get",
            "groups": "core",
            "resources": "configmaps",
            "names": "{short}-apiserver-legacy-service-account-token-tracking",
        },
        {"verbs": "delete patch", "groups": "core", "resources": "secrets"},
    ],
    "resource-claim-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "update", "groups": "core", "resources": "pods/finalizers"},
        {"verbs": "create delete get list watch", "groups": "resource.{abbr}.io", "resources": "resourceclaims"},
        {"verbs": "patch update", "groups": "resource.{abbr}.io", "resources": "resourceclaims resourceclaims/status"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "selinux-warning-controller": [
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "csidrivers"},
    ],
    "service-cidrs-controller": [
        {"verbs": "get list patch update watch", "groups": "networking.{abbr}.io", "resources": "servicecidrs"},
        {"verbs": "patch update", "groups": "networking.{abbr}.io", "resources": "servicecidrs/finalizers"},
        {"verbs": "patch update", "groups": "networking.{abbr}.io", "resources": "servicecidrs/status"},
        {"verbs": "get list watch", "groups": "networking.{abbr}.io", "resources": "ipaddresses"},
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
    "volumeattributesclass-protection-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "get list update watch", "groups": "storage.{abbr}.io", "resources": "volumeattributesclasses"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "cronjob-controller": [
        {"verbs": "get list update watch", "groups": "batch", "resources": "cronjobs"},
        {"verbs": "create delete get list patch update watch", "groups": "batch", "resources": "jobs"},
        {"verbs": "update", "groups": "batch", "resources": "cronjobs/status"},
        {"verbs": "update", "groups": "batch", "resources": "cronjobs/finalizers"},
        {"verbs": "delete list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "disruption-controller": [
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "deployments"},
        {"verbs": "get list watch", "groups": "apps extensions", "resources": "replicasets"},
        {"verbs": "get list watch", "groups": "core", "resources": "replicationcontrollers"},
        {"verbs": "get list watch", "groups": "policy", "resources": "poddisruptionbudgets"},
        {"verbs": "get list watch", "groups": "apps", "resources": "statefulsets"},
        {"verbs": "update", "groups": "policy", "resources": "poddisruptionbudgets/status"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status"},
        {"verbs": "get", "groups": "*", "resources": "*/scale"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpoint-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "pods services"},
        {"verbs": "create delete get list update watch", "groups": "core", "resources": "endpoints"},
        {"verbs": "create", "groups": "core", "resources": "endpoints/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpointslice-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "nodes pods services"},
        {"verbs": "update", "groups": "core", "resources": "services/finalizers"},
        {
            "verbs": "create delete get list update watch",
            "groups": "discovery.{abbr}.io",
            "resources": "endpointslices",
        },
        {"verbs": "create", "groups": "discovery.{abbr}.io", "resources": "endpointslices/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "endpointslicemirroring-controller": [
        {"verbs": "get list watch", "groups": "core", "resources": "endpoints services"},
        {"verbs": "update", "groups": "core", "resources": "services/finalizers"},
        {"verbs": "update", "groups": "core", "resources": "endpoints/finalizers"},
        {
            "verbs": "create delete get list update watch",
            "groups": "discovery.{abbr}.io",
            "resources": "endpointslices",
        },
        {"verbs": "create", "groups": "discovery.{abbr}.io", "resources": "endpointslices/restricted"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "expand-controller": [
        {"verbs": "get list patch update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "patch update", "groups": "core", "resources": "persistentvolumeclaims/status"},
        {"verbs": "get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "get", "groups": "core", "resources": "services"},
    ],
    "horizontal-pod-autoscaler": [
        {"verbs": "get list watch", "groups": "autoscaling", "resources": "horizontalpodautoscalers"},
        {"verbs": "update", "groups": "autoscaling", "resources": "horizontalpodautoscalers/status"},
        {"verbs": "get update", "groups": "*", "resources": "*/scale"},
        {"verbs": "list watch", "groups": "core", "resources": "pods"},
        {"verbs": "list watch", "groups": "metrics.{abbr}.io", "resources": "pods"},
        {"verbs": "get list watch", "groups": "custom.metrics.{abbr}.io", "resources": "*"},
        {"verbs": "get list watch", "groups": "external.metrics.{abbr}.io", "resources": "*"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "namespace-controller": [
        {"verbs": "delete get list watch", "groups": "core", "resources": "namespaces"},
        {"verbs": "update", "groups": "core", "resources": "namespaces/finalize namespaces/status"},
        {"verbs": "delete deletecollection get list watch", "groups": "*", "resources": "*"},
    ],
    "node-controller": [
        {"verbs": "delete get list patch update watch", "groups": "core", "resources": "nodes"},
        {"verbs": "patch update", "groups": "core", "resources": "nodes/status"},
        {"verbs": "patch update", "groups": "core", "resources": "pods/status"},
        {"verbs": "delete get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
    "persistent-volume-binder": [
        {"verbs": "create delete get list update watch", "groups": "core", "resources": "persistentvolumes"},
        {"verbs": "update", "groups": "core", "resources": "persistentvolumes/status"},
        {"verbs": "get list update watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "update", "groups": "core", "resources": "persistentvolumeclaims/status"},
        {"verbs": "create delete get list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "storage.{abbr}.io", "resources": "storageclasses"},
        {"verbs": "list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
        {"verbs": "watch", "groups": "core", "resources": "events"},
        {"verbs": "get", "groups": "core", "resources": "services"},
    ],
    "pod-garbage-collector": [
        {"verbs": "delete list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "core", "resources": "nodes"},
        {"verbs": "patch", "groups": "core", "resources": "pods/status"},
    ],
    "statefulset-controller": [
        {"verbs": "list watch", "groups": "core", "resources": "pods"},
        {"verbs": "get list watch", "groups": "apps", "resources": "statefulsets"},
        {"verbs": "update", "groups": "apps", "resources": "statefulsets/status"},
        {"verbs": "update", "groups": "apps", "resources": "statefulsets/finalizers"},
        {"verbs": "create delete get patch update", "groups": "core", "resources": "pods"},
        {"verbs": "create delete get list patch update watch", "groups": "apps", "resources": "controllerrevisions"},
        {"verbs": "create get list watch", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "delete update", "groups": "core", "resources": "persistentvolumeclaims"},
        {"verbs": "update", "groups": "core", "resources": "pods/finalizers"},
        {"verbs": "create patch update", "groups": "core events.{abbr}.io", "resources": "events"},
    ],
}

ROLES: Final[dict[tuple[str, str], list[dict[str, str]]]] = {
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): [
        {"verbs": "create get list update watch", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {"verbs": "create get list update watch", "groups": "coordination.{abbr}.io", "resources": "leasecandidates"},
    ],
    ("{short}-system", "system::leader-locking-{short}-scheduler"): [
        {"verbs": "create get list update watch", "groups": "coordination.{abbr}.io", "resources": "leases"},
        {"verbs": "create get list update watch", "groups": "coordination.{abbr}.io", "resources": "leasecandidates"},
    ],
}

#: Subjects of role bindings.
SUBJECTS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("{short}-system", "system::leader-locking-{short}-controller-manager"): (
        "user system:{short}-controller-manager",
        "sa {short}-system/{short}-controller-manager",
        "sa {short}-system/leader-election-controller",
    )
}
