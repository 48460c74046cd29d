"""Access, admission, networks, fairness and the other things that configure a cluster."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts

_WEBHOOK: Final[dict[str, str]] = {
    "": "A webhook, and what it is asked about.",
    "admissionReviewVersions": "Versions of AdmissionReview that it understands, best first.",
    "name": "The name of the webhook, with at least two dots.",
    "namespaceSelector": "Only objects in namespaces whose labels match.",
    "objectSelector": "Only objects whose labels match, before or after the change.",
    "reinvocationPolicy": "Never (the default), or IfNeeded: once more when others have changed the object after it.",
    "rules": "Requests that it is asked about; one rule must match.",
    "sideEffects": "Whether calls have effects elsewhere: None, or NoneOnDryRun.",
    "timeoutSeconds": "Seconds that it has for its answer, from 1 to 30; 10 without it.",
}
_SERVICE: Final[dict[str, str]] = {
    "": "A Service and a path of it.",
    "name": "The name of the Service.",
    "namespace": "The namespace of the Service.",
    "path": "The path that is asked for.",
    "port": "The port of the Service; 443 without it.",
}
_CLIENT: Final[dict[str, str]] = {
    "": "How a webhook is reached: by url or service.",
    "url": "The address, with https; not for what runs in the cluster.",
}
_CONDITION: Final[dict[str, str]] = {"": "One observation about the object.", "status": "True, False or Unknown.",
                                     "type": "What was observed."}

TEXTS: Final[Texts] = {
    "admissionregistration.MutatingWebhook": _WEBHOOK,
    "admissionregistration.MutatingWebhookConfiguration": {
        "": "Webhooks that may change objects before they are kept.", "webhooks": "The webhooks.",
    },
    "admissionregistration.ValidatingWebhook": _WEBHOOK,
    "admissionregistration.ValidatingWebhookConfiguration": {
        "": "Webhooks that may refuse objects.", "webhooks": "The webhooks.",
    },
    "admissionregistration.RuleWithOperations": {
        "": "Requests that a webhook is asked about.",
        "operations": "CREATE, UPDATE, DELETE, CONNECT, or \"*\" for all.",
        "resources": "Resources, as pods, pods/status, */scale or */*.",
        "scope": "Cluster, Namespaced, or \"*\" (the default) for both.",
    },
    "admissionregistration.ServiceReference": _SERVICE,
    "admissionregistration.WebhookClientConfig": _CLIENT,
    "apiregistration.APIService": {"": "A group and version of the API, and who serves it."},
    "apiregistration.APIServiceCondition": {**_CONDITION, "type": "Available."},
    "apiregistration.APIServiceSpec": {
        "": "A group and version, and who serves it.",
        "groupPriorityMinimum": "Where the group stands among groups; higher goes first.",
        "insecureSkipTLSVerify": "Whether the server's certificate is not looked at.",
        "service": "The Service that serves it; this server without it.",
        "versionPriority": "Where the version stands in its group; higher goes first.",
    },
    "apiregistration.APIServiceStatus": {"": "Whether the version can be reached."},
    "apiregistration.ServiceReference": _SERVICE,
    "apiserverinternal.StorageVersion": {"": "In which versions servers keep a resource."},
    "apiserverinternal.StorageVersionCondition": _CONDITION,
    "apiserverinternal.StorageVersionSpec": {"": "Empty."},
    "apiserverinternal.StorageVersionStatus": {
        "": "In which versions servers keep a resource.",
        "commonEncodingVersion": "The version that all servers write, if there is one.",
        "storageVersions": "What each server does.",
    },
    "apiserverinternal.ServerStorageVersion": {
        "": "What one server does.",
        "apiServerID": "The identity of the server.",
        "decodableVersions": "Versions that it can read.",
        "encodingVersion": "The version that it writes.",
    },
    "authentication.TokenRequest": {"": "Asks for a token of a service account."},
    "authentication.TokenRequestSpec": {
        "": "Which token is wanted.", "boundObjectRef": "An object with which the token ends to be valid.",
    },
    "authentication.TokenRequestStatus": {"": "The token."},
    "authentication.BoundObjectReference": {"": "An object with which a token ends to be valid.", "kind": "Pod or Secret."},
    "authentication.TokenReview": {"": "Asks who the bearer of a token is."},
    "authentication.TokenReviewSpec": {
        "": "The token.", "audiences": "For whom it should be meant; the API server without it.",
    },
    "authentication.TokenReviewStatus": {
        "": "Who the bearer is.", "authenticated": "Whether the token is valid.", "error": "Why it is not.",
    },
    "authentication.UserInfo": {"": "Who somebody is.", "uid": "The identity of the user among all that had the name."},
    **{
        f"authorization.{kind}": {"": text}
        for kind, text in (
            ("LocalSubjectAccessReview", "Asks whether somebody may do something in a namespace."),
            ("SelfSubjectAccessReview", "Asks whether the sender may do something."),
            ("SelfSubjectAccessReviewSpec", "What the sender wants to do: to a resource or to a path."),
            ("SelfSubjectRulesReview", "Asks what the sender may do in a namespace; for user interfaces."),
            ("SubjectAccessReview", "Asks whether somebody may do something."),
        )
    },
    "authorization.SelfSubjectRulesReviewSpec": {"": "The namespace.", "namespace": "The namespace that is asked about."},
    "authorization.SubjectAccessReviewSpec": {"": "Who wants to do what: to a resource or to a path."},
    "authorization.SubjectAccessReviewStatus": {
        "": "The answer.", "allowed": "Whether it is allowed.", "denied": "Whether it is forbidden, whatever others say.",
        "reason": "Why.",
    },
    "authorization.SubjectRulesReviewStatus": {"": "What may be done.", "incomplete": "Whether there may be more."},
    "authorization.ResourceAttributes": {
        "": "Something that is done to a resource.",
        "name": "The name of the object; all without it.",
        "namespace": "The namespace; none for objects of the cluster.",
        "version": "The version of the API; \"*\" stands for all.",
    },
    "authorization.NonResourceAttributes": {"": "Something that is done to a path."},
    "authorization.ResourceRule": {"": "What may be done to resources."},
    "authorization.NonResourceRule": {"": "What may be done to paths."},
    "certificates.CertificateSigningRequest": {"": "Asks for a certificate: it is approved by one, signed by another."},
    "certificates.CertificateSigningRequestSpec": {
        "": "Which certificate is wanted, and by whom.",
        "groups": "Groups of who asks. Set by the server.",
        "request": "The signing request, as PEM in base64.",
        "signerName": "Who shall sign, as DOMAIN/PATH.",
        "uid": "The identity of who asks. Set by the server.",
        "usages": "What the certificate is for, such as digital signature or client auth.",
        "username": "Who asks. Set by the server.",
    },
    "certificates.CertificateSigningRequestStatus": {"": "What became of it.", "certificate": "The certificate, as PEM in base64."},
    "certificates.CertificateSigningRequestCondition": {**_CONDITION, "type": "Approved, Denied or Failed."},
    "flowcontrol.FlowSchema": {"": "Sorts requests, and says at which level of priority they are served."},
    "flowcontrol.FlowSchemaSpec": {
        "": "Which requests, and which level.",
        "distinguisherMethod": "How requests are told apart, so that one sender does not starve others.",
        "matchingPrecedence": "Which schema counts when several match: the one with the lowest number.",
        "priorityLevelConfiguration": "The level at which they are served.",
        "rules": "Requests that are meant; one rule must match.",
    },
    "flowcontrol.FlowSchemaStatus": {"": "How a schema is doing."},
    "flowcontrol.FlowSchemaCondition": {**_CONDITION, "type": "Dangling: its level does not exist."},
    "flowcontrol.FlowDistinguisherMethod": {"": "How requests are told apart.", "type": "ByUser or ByNamespace."},
    "flowcontrol.PolicyRulesWithSubjects": {"": "Requests of somebody for something."},
    "flowcontrol.ResourcePolicyRule": {
        "": "Requests about resources.", "clusterScope": "Whether requests outside of namespaces are meant.",
        "namespaces": "Namespaces that are meant; \"*\" stands for all.",
    },
    "flowcontrol.NonResourcePolicyRule": {"": "Requests about paths."},
    "flowcontrol.Subject": {"": "Who is meant: a user, a group or a service account.", "kind": "User, Group or ServiceAccount.",
                            "group": "The group that is meant."},
    "flowcontrol.UserSubject": {"": "A user; \"*\" stands for all."},
    "flowcontrol.GroupSubject": {"": "A group; \"*\" stands for all."},
    "flowcontrol.ServiceAccountSubject": {"": "A service account; \"*\" stands for all of the namespace."},
    "flowcontrol.PriorityLevelConfiguration": {"": "A level of priority: how many requests run, and how others wait."},
    "flowcontrol.PriorityLevelConfigurationSpec": {
        "": "How requests of a level are served.", "limited": "The limits, with the type Limited.",
        "type": "Exempt (no limits) or Limited.",
    },
    "flowcontrol.PriorityLevelConfigurationStatus": {"": "How a level is doing."},
    "flowcontrol.PriorityLevelConfigurationCondition": _CONDITION,
    "flowcontrol.PriorityLevelConfigurationReference": {"": "A level, by its name."},
    "flowcontrol.LimitedPriorityLevelConfiguration": {
        "": "Limits of a level.",
        "assuredConcurrencyShares": "Its part of the server's concurrency, in shares.",
        "limitResponse": "What becomes of requests that are too many.",
    },
    "flowcontrol.LimitResponse": {"": "What becomes of requests that are too many.", "type": "Queue or Reject."},
    "flowcontrol.QueuingConfiguration": {
        "": "How requests wait.",
        "handSize": "Among how many queues a sender's requests are dealt.",
        "queueLengthLimit": "How many requests a queue holds.",
        "queues": "How many queues there are.",
    },
    "networking.Ingress": {"": "Leads HTTP from outside to services, by host and path."},
    "networking.IngressSpec": {
        "": "What leads where.",
        "defaultBackend": "Where requests go that no rule matches.",
        "ingressClassName": "The IngressClass of who serves it.",
        "rules": "Rules by host; without any, everything goes to the default.",
        "tls": "Certificates by host.",
    },
    "networking.IngressStatus": {"": "Where it can be reached."},
    "networking.IngressRule": {
        "": "What is done for a host.", "host": "The host, also *.DOMAIN; every one without it.", "http": "Where paths lead.",
    },
    "networking.HTTPIngressRuleValue": {"": "Where paths lead.", "paths": "The paths."},
    "networking.HTTPIngressPath": {
        "": "Where a path leads.", "backend": "What serves it.", "path": "The path, beginning with a slash.",
        "pathType": "Exact, Prefix or ImplementationSpecific.",
    },
    "networking.IngressBackend": {"": "What serves a path: a service or a resource.", "resource": "An object of the namespace.",
                                  "service": "A Service of the namespace."},
    "networking.IngressServiceBackend": {"": "A port of a Service.", "name": "The name of the Service."},
    "networking.ServiceBackendPort": {"": "A port, by name or number.", "number": "The number of the port."},
    "networking.IngressTLS": {"": "A certificate for hosts.", "hosts": "The hosts.", "secretName": "The Secret that has it."},
    "networking.IngressClass": {"": "Who serves ingresses."},
    "networking.IngressClassSpec": {
        "": "Who serves ingresses.", "controller": "The name of the controller, as DOMAIN/PATH. Cannot be changed.",
        "parameters": "An object with more settings.",
    },
    "networking.IngressClassParametersReference": {"": "An object with settings."},
    "networking.NetworkPolicy": {"": "Which traffic the pods of a namespace may have."},
    "networking.NetworkPolicySpec": {
        "": "Which pods, and which traffic.",
        "egress": "Traffic that may leave the pods; none without a rule, if the policy is about that.",
        "ingress": "Traffic that may reach the pods; none without a rule, if the policy is about that.",
        "podSelector": "The pods that the policy is about; an empty selector stands for all.",
    },
    "networking.NetworkPolicyIngressRule": {
        "": "Traffic that may come.", "from": "Where it may come from; anywhere without it.",
        "ports": "Ports that it may reach; all without it.",
    },
    "networking.NetworkPolicyEgressRule": {
        "": "Traffic that may go.", "ports": "Ports that it may go to; all without it.",
        "to": "Where it may go; anywhere without it.",
    },
    "networking.NetworkPolicyPeer": {"": "The other side of traffic: pods, or addresses."},
    "networking.NetworkPolicyPort": {
        "": "A port, or a range of them.", "endPort": "The last port of the range.", "port": "The port, by number or name.",
    },
    "networking.IPBlock": {"": "A range of addresses.", "cidr": "The range.", "except": "Ranges in it that are left out."},
    "node.RuntimeClass": {
        "": "A way to run containers.", "handler": "What the container runtime calls it.",
        "overhead": "What running pods this way costs besides their containers.",
    },
    "node.RuntimeClassSpec": {"": "A way to run containers.", "runtimeHandler": "What the container runtime calls it."},
    "node.Overhead": {"": "What running a pod costs.", "podFixed": "The cost of each pod, by resource."},
    "node.Scheduling": {"": "On which nodes pods of a class can run."},
    "rbac.Role": {"": "What may be done in a namespace.", "rules": "What may be done."},
    "rbac.ClusterRole": {
        "": "What may be done in the cluster, or in any namespace where it is bound.",
        "aggregationRule": "Roles whose rules this one takes over; its own are replaced then.",
        "rules": "What may be done.",
    },
    "rbac.AggregationRule": {"": "Roles whose rules are taken over.", "clusterRoleSelectors": "ClusterRoles, by their labels."},
    "rbac.RoleBinding": {
        "": "Gives a role to somebody in a namespace.", "roleRef": "The Role or ClusterRole. Cannot be changed.",
        "subjects": "Who gets it.",
    },
    "rbac.ClusterRoleBinding": {
        "": "Gives a role to somebody in the whole cluster.", "roleRef": "The ClusterRole. Cannot be changed.",
        "subjects": "Who gets it.",
    },
    "rbac.PolicyRule": {
        "": "Something that may be done.",
        "nonResourceURLs": "Paths that are no resources; only in ClusterRoles. A \"*\" may be the last part.",
    },
    "rbac.RoleRef": {"": "A role.", "kind": "Role or ClusterRole."},
    "rbac.Subject": {
        "": "A user, a group or a service account.", "kind": "User, Group or ServiceAccount.",
        "namespace": "The namespace of the service account.",
    },
    "scheduling.PriorityClass": {
        "": "A name for a priority of pods.",
        "description": "When this class is to be used.",
        "globalDefault": "Whether pods without a class get it.",
        "value": "The priority; higher goes first.",
    },
}
