"""Default cluster roles, except those of controllers."""

from __future__ import annotations

from typing import Final

from orchd.server.authz.bootstrap_rules import EVENTS, FULL, READ, WRITE, Rule

CLUSTER_ROLES: Final[dict[str, tuple[Rule, ...]]] = {
    "admin": (),
    "cluster-admin": (Rule("*", "*", "*"), Rule("*", paths="*")),
    "edit": (),
    "system:aggregate-to-admin": (
        Rule("create", "authorization.{abbr}.io", "localsubjectaccessreviews"),
        Rule(FULL, "rbac.authorization.{abbr}.io", "rolebindings roles"),
    ),
    "system:aggregate-to-edit": (
        Rule(READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
        Rule("impersonate", "core", "serviceaccounts"),
        Rule(WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
        Rule(WRITE, "core",
             "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
             "serviceaccounts services services/proxy", until="1.35"),
        Rule("create", "core", "pods/eviction", since="1.35"),
        Rule(WRITE, "core",
             "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
             "serviceaccounts services services/proxy", since="1.35"),
        Rule("create", "core", "serviceaccounts/token", since="1.35"),
        Rule(WRITE, "core events.{abbr}.io", "events", since="1.35"),
        Rule(WRITE, "apps",
             "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
             "statefulsets statefulsets/scale"),
        Rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
        Rule(WRITE, "batch", "cronjobs jobs"),
        Rule(WRITE, "extensions",
             "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
             "replicasets/scale replicationcontrollers/scale"),
        Rule(WRITE, "policy", "poddisruptionbudgets"),
        Rule(WRITE, "networking.{abbr}.io", "ingresses networkpolicies"),
        Rule(FULL, "coordination.{abbr}.io", "leases", since="1.35"),
        Rule(WRITE, "resource.{abbr}.io", "resourceclaims resourceclaimtemplates", since="1.35"),
    ),
    "system:aggregate-to-view": (
        Rule(READ, "core",
             "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
             "replicationcontrollers/scale serviceaccounts services services/status"),
        Rule(READ, "core",
             "bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
             "resourcequotas resourcequotas/status", until="1.35"),
        Rule(READ, "core",
             "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
             "resourcequotas resourcequotas/status", since="1.35"),
        Rule(READ, "core", "namespaces"),
        Rule(READ, "core events.{abbr}.io", "events", since="1.35"),
        Rule(READ, "discovery.{abbr}.io", "endpointslices"),
        Rule(READ, "apps",
             "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
             "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"),
        Rule(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
        Rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
        Rule(READ, "extensions",
             "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
             "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
             "replicationcontrollers/scale"),
        Rule(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        Rule(READ, "networking.{abbr}.io", "ingresses ingresses/status networkpolicies"),
        Rule(READ, "resource.{abbr}.io", "resourceclaims resourceclaims/status resourceclaimtemplates", since="1.35"),
    ),
    "system:auth-delegator": (
        Rule("create", "authentication.{abbr}.io", "tokenreviews"),
        Rule("create", "authorization.{abbr}.io", "subjectaccessreviews"),
    ),
    "system:basic-user": (
        Rule("create", "authorization.{abbr}.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        Rule("create", "authentication.{abbr}.io", "selfsubjectreviews", since="1.35"),
    ),
    "system:certificates.{abbr}.io:certificatesigningrequests:nodeclient": (
        Rule("create", "certificates.{abbr}.io", "certificatesigningrequests/nodeclient"),
    ),
    "system:certificates.{abbr}.io:certificatesigningrequests:selfnodeclient": (
        Rule("create", "certificates.{abbr}.io", "certificatesigningrequests/selfnodeclient"),
    ),
    "system:certificates.{abbr}.io:{short}-apiserver-client-approver": (
        Rule("approve", "certificates.{abbr}.io", "signers", names="{long}.io/{short}-apiserver-client"),
    ),
    "system:certificates.{abbr}.io:{short}-apiserver-client-{short}let-approver": (
        Rule("approve", "certificates.{abbr}.io", "signers", names="{long}.io/{short}-apiserver-client-{short}let"),
    ),
    "system:certificates.{abbr}.io:{short}let-serving-approver": (
        Rule("approve", "certificates.{abbr}.io", "signers", names="{long}.io/{short}let-serving"),
    ),
    "system:certificates.{abbr}.io:legacy-unknown-approver": (
        Rule("approve", "certificates.{abbr}.io", "signers", names="{long}.io/legacy-unknown"),
    ),
    "system:discovery": (
        Rule("get", paths="/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
    ),
    "system:heapster": (Rule(READ, "core", "events namespaces nodes pods"), Rule(READ, "extensions", "deployments")),
    "system:{short}-aggregator": (Rule(READ, "core", "endpoints services"),),
    "system:{short}-controller-manager": (
        EVENTS,
        Rule("create", "coordination.{abbr}.io", "leases"),
        Rule("get update", "coordination.{abbr}.io", "leases", names="{short}-controller-manager"),
        Rule("create", "core", "endpoints", until="1.35"),
        Rule("get update", "core", "endpoints", names="{short}-controller-manager", until="1.35"),
        Rule("create", "core", "secrets serviceaccounts"),
        Rule("delete", "core", "secrets"),
        Rule("get", "core", "configmaps namespaces secrets serviceaccounts"),
        Rule("update", "core", "secrets serviceaccounts"),
        Rule("create", "authentication.{abbr}.io", "tokenreviews"),
        Rule("create", "authorization.{abbr}.io", "subjectaccessreviews"),
        Rule("list watch", "*", "*"),
        Rule("create", "core", "serviceaccounts/token"),
    ),
    "system:{short}-dns": (Rule("list watch", "core", "endpoints services"),),
    "system:{short}-scheduler": (
        EVENTS,
        Rule("create", "coordination.{abbr}.io", "leases"),
        Rule("get update", "coordination.{abbr}.io", "leases", names="{short}-scheduler", until="1.35"),
        Rule("create", "core", "endpoints", until="1.35"),
        Rule("get update", "core", "endpoints", names="{short}-scheduler", until="1.35"),
        Rule("get list update watch", "coordination.{abbr}.io", "leases", names="{short}-scheduler", since="1.35"),
        Rule(FULL, "coordination.{abbr}.io", "leasecandidates", since="1.35"),
        Rule(READ, "core", "nodes"),
        Rule("delete get list watch", "core", "pods"),
        Rule("create", "core", "bindings pods/binding"),
        Rule("patch update", "core", "pods/status"),
        Rule(READ, "core", "replicationcontrollers services"),
        Rule(READ, "apps extensions", "replicasets"),
        Rule(READ, "apps", "statefulsets"),
        Rule(READ, "policy", "poddisruptionbudgets"),
        Rule(READ, "core", "persistentvolumeclaims persistentvolumes"),
        Rule("create", "authentication.{abbr}.io", "tokenreviews"),
        Rule("create", "authorization.{abbr}.io", "subjectaccessreviews"),
        Rule(READ, "storage.{abbr}.io", "csinodes"),
        Rule(READ, "storage.{abbr}.io", "volumeattachments", since="1.35"),
        Rule(READ, "core", "namespaces"),
        Rule(READ, "storage.{abbr}.io", "csidrivers"),
        Rule(READ, "storage.{abbr}.io", "csistoragecapacities"),
        Rule(READ, "resource.{abbr}.io", "deviceclasses", since="1.35"),
        Rule("get list patch update watch", "resource.{abbr}.io", "resourceclaims", since="1.35"),
        Rule("get list patch update watch", "resource.{abbr}.io", "resourceclaims/status", since="1.35"),
        Rule("update", "core", "pods/finalizers", since="1.35"),
        Rule(READ, "resource.{abbr}.io", "resourceslices", since="1.35"),
    ),
    "system:{short}let-api-admin": (
        Rule(READ, "core", "nodes"),
        Rule("proxy", "core", "nodes"),
        Rule("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/spec nodes/stats", until="1.35"),
        Rule("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats", since="1.35"),
        Rule("*", "core", "nodes/configz nodes/healthz nodes/pods", since="1.35"),
    ),
    "system:monitoring": (
        Rule("get", paths="/healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*", until="1.35"),
        Rule("get", paths="/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*", since="1.35"),
        Rule("get", "core", "nodes/metrics", since="1.35"),
    ),
    "system:node": (
        Rule("create", "authentication.{abbr}.io", "tokenreviews"),
        Rule("create", "authorization.{abbr}.io", "localsubjectaccessreviews subjectaccessreviews"),
        Rule(READ, "core", "services"),
        Rule("create get list watch", "core", "nodes"),
        Rule("patch update", "core", "nodes/status"),
        Rule("patch update", "core", "nodes"),
        Rule("create patch update", "core", "events", until="1.35"),
        Rule("create patch update", "core events.{abbr}.io", "events", since="1.35"),
        Rule(READ, "core", "pods"),
        Rule("create delete", "core", "pods"),
        Rule("patch update", "core", "pods/status"),
        Rule("create", "core", "pods/eviction"),
        Rule(READ, "core", "configmaps secrets"),
        Rule("get", "core", "persistentvolumeclaims persistentvolumes"),
        Rule("get", "core", "endpoints"),
        Rule("create get list watch", "certificates.{abbr}.io", "certificatesigningrequests"),
        Rule("create delete get patch update", "coordination.{abbr}.io", "leases"),
        Rule("get", "storage.{abbr}.io", "volumeattachments"),
        Rule("create", "core", "serviceaccounts/token"),
        Rule("get patch update", "core", "persistentvolumeclaims/status"),
        Rule(READ, "storage.{abbr}.io", "csidrivers"),
        Rule("create delete get patch update", "storage.{abbr}.io", "csinodes"),
        Rule(READ, "node.{abbr}.io", "runtimeclasses"),
        Rule("get", "resource.{abbr}.io", "resourceclaims", since="1.35"),
        Rule("deletecollection", "resource.{abbr}.io", "resourceslices", since="1.35"),
        Rule("get", "core", "serviceaccounts", since="1.35"),
    ),
    "system:node-bootstrapper": (
        Rule("create get list watch", "certificates.{abbr}.io", "certificatesigningrequests"),
    ),
    "system:node-problem-detector": (Rule("get", "core", "nodes"), Rule("patch", "core", "nodes/status"), EVENTS),
    "system:node-proxier": (
        Rule("list watch", "core", "endpoints services"),
        Rule(READ, "core", "nodes"),
        EVENTS,
        Rule("list watch", "networking.{abbr}.io", "servicecidrs", since="1.35"),
        Rule("list watch", "discovery.{abbr}.io", "endpointslices"),
    ),
    "system:persistent-volume-provisioner": (
        Rule("create delete get list watch", "core", "persistentvolumes"),
        Rule("get list update watch", "core", "persistentvolumeclaims"),
        Rule(READ, "storage.{abbr}.io", "storageclasses"),
        Rule("watch", "core", "events"),
        EVENTS,
    ),
    "system:public-info-viewer": (Rule("get", paths="/healthz /livez /readyz /version /version/"),),
    "system:service-account-issuer-discovery": (
        Rule("get", paths="/.well-known/openid-configuration /openid/v1/jwks", until="1.35"),
        Rule("get",
             paths="/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks "
                   "/openid/v1/jwks/", since="1.35"),
    ),
    "system:volume-scheduler": (
        Rule("get list patch update watch", "core", "persistentvolumes"),
        Rule(READ, "storage.{abbr}.io", "storageclasses"),
        Rule("get list patch update watch", "core", "persistentvolumeclaims"),
    ),
    "view": (),
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
