"""Descriptions of the kinds that configure a cluster: admission, access, flow control, networking, scheduling."""

from __future__ import annotations

from typing import Final

from orchd.kinds.openapi.descriptions.pods import Texts
from orchd.kinds.openapi.descriptions.policies import MATCH_CONDITIONS

_WEBHOOK: Final[dict[str, str]] = {
    "": "Admission webhook and the requests it is called for.",
    "admissionReviewVersions": "AdmissionReview versions that the webhook accepts, in order of preference.",
    "failurePolicy": "Handling of a webhook that cannot be called: Fail (the default) or Ignore.",
    "matchConditions": MATCH_CONDITIONS,
    "matchPolicy": "Exact (only the versions that rules name) or Equivalent (any version, the default).",
    "name": "Name of the webhook, a domain name of at least three segments.",
    "namespaceSelector": "Label selector of the namespaces of the objects. An empty selector matches all.",
    "objectSelector": "Label selector of the objects, matched against the old and the new object. An empty selector matches all.",
    "reinvocationPolicy": "Never (the default), or IfNeeded to call the webhook again when later plugins changed the object.",
    "rules": "Requests for which the webhook is called. At least one rule must match.",
    "sideEffects": "Side effects of calls: None or NoneOnDryRun.",
    "timeoutSeconds": "Timeout of a call in seconds, from 1 to 30. Default: 10.",
}
_SERVICE: Final[dict[str, str]] = {
    "": "Reference to a Service.",
    "name": "Name of the Service.",
    "namespace": "Namespace of the Service.",
    "path": "URL path of the requests.",
    "port": "Port of the Service. Default: 443.",
}
_CLIENT: Final[dict[str, str]] = {
    "": "Address of a webhook: either url or service.",
    "url": "HTTPS URL of a webhook outside of the cluster.",
}
_CONDITION: Final[dict[str, str]] = {"": "Condition of the object.", "status": "True, False or Unknown.",
                                     "type": "Type of the condition."}
_ONE_ATTRIBUTES: Final = "Exactly one of resourceAttributes and nonResourceAttributes must be set."

TEXTS: Final[Texts] = {
    "admissionregistration.MutatingWebhook": _WEBHOOK,
    "admissionregistration.MutatingWebhookConfiguration": {
        "": "Admission webhooks that may change objects.", "webhooks": "List of webhooks.",
    },
    "admissionregistration.ValidatingWebhook": _WEBHOOK,
    "admissionregistration.ValidatingWebhookConfiguration": {
        "": "Admission webhooks that may reject requests.", "webhooks": "List of webhooks.",
    },
    "admissionregistration.RuleWithOperations": {
        "": "Operations and resources for which a webhook is called.",
        "operations": "CREATE, UPDATE, DELETE, CONNECT, or \"*\" for all.",
        "resources": "Resources, such as pods, pods/status, */scale or */*.",
        "scope": "Cluster, Namespaced, or \"*\" (the default) for both.",
    },
    "admissionregistration.ServiceReference": _SERVICE,
    "admissionregistration.WebhookClientConfig": _CLIENT,
    "apiregistration.APIService": {"": "API group and version, and the server that serves it."},
    "apiregistration.APIServiceCondition": {**_CONDITION, "type": "Available."},
    "apiregistration.APIServiceSpec": {
        "": "API group and version, and the server that serves it.",
        "group": "Name of the API group.",
        "groupPriorityMinimum": "Minimum priority of the group. Groups with higher values are preferred by clients.",
        "insecureSkipTLSVerify": "Disables the verification of the server's certificate. Default: false.",
        "service": "Service of the extension server. When unset, this server handles the version itself.",
        "versionPriority": "Priority of the version in its group. Higher values are preferred.",
    },
    "apiregistration.APIServiceStatus": {"": "Availability of an API version."},
    "apiregistration.ServiceReference": _SERVICE,
    "apiserverinternal.StorageVersion": {"": "Encoding versions of a resource, per API server."},
    "apiserverinternal.StorageVersionCondition": _CONDITION,
    "apiserverinternal.StorageVersionSpec": {"": "Empty."},
    "apiserverinternal.StorageVersionStatus": {
        "": "Encoding versions of a resource, per API server.",
        "commonEncodingVersion": "Encoding version that all servers share, if there is one.",
        "storageVersions": "Versions that each server encodes and decodes.",
    },
    "apiserverinternal.ServerStorageVersion": {
        "": "Versions that one server encodes and decodes.",
        "apiServerID": "Identifier of the API server.",
        "decodableVersions": "Versions that the server can decode.",
        "encodingVersion": "Version that the server encodes.",
        "servedVersions": "Versions that the server serves.",
    },
    "authentication.TokenRequest": {"": "Requests a token of a service account."},
    "authentication.TokenRequestSpec": {
        "": "Properties of the requested token.",
        "boundObjectRef": "Object the token is bound to. The token becomes invalid when the object is deleted.",
        "expirationSeconds": (
            "Requested lifetime in seconds, at least 600. Default: 3600. The server may choose a different one."
        ),
    },
    "authentication.TokenRequestStatus": {"": "Result of a token request.", "token": "Issued token."},
    "authentication.BoundObjectReference": {
        "": "Object that a token is bound to.",
        "kind": "Pod or Secret.",
        "uid": "UID of the object.",
    },
    "authentication.SelfSubjectReview": {"": "Returns the attributes of the user who creates it."},
    "authentication.SelfSubjectReviewStatus": {
        "": "Result of the review.",
        "userInfo": "Attributes of the requesting user, after impersonation.",
    },
    "authentication.TokenReview": {"": "Requests the authentication of a token."},
    "authentication.TokenReviewSpec": {
        "": "Token to authenticate.", "audiences": "Audiences accepted for the token. Default: the audiences of the API server.",
        "token": "Token to authenticate.",
    },
    "authentication.TokenReviewStatus": {
        "": "Result of the authentication of a token.",
        "authenticated": "Whether the token is valid.",
        "error": "Reason why the token could not be verified.",
        "user": "Attributes of the user that the token belongs to.",
    },
    "authentication.UserInfo": {
        "": "Attributes of an authenticated user.",
        "uid": "Unique identifier of the user. A recreated user of the same name has a different one.",
    },
    **{
        f"authorization.{kind}": {"": text}
        for kind, text in (
            ("LocalSubjectAccessReview", "Checks whether a user may perform a request in one namespace."),
            ("SelfSubjectAccessReview", "Checks whether the current user may perform a request."),
            ("SelfSubjectAccessReviewSpec", f"Request to be authorized. {_ONE_ATTRIBUTES}"),
            ("SelfSubjectRulesReview", "Lists the permissions of the current user in a namespace, for display purposes."),
            ("SubjectAccessReview", "Checks whether a user may perform a request."),
        )
    },
    "authorization.SelfSubjectRulesReviewSpec": {"": "Scope of the review.", "namespace": "Namespace to evaluate rules for."},
    "authorization.SubjectAccessReviewSpec": {
        "": f"User and request to be authorized. {_ONE_ATTRIBUTES}",
        "uid": "Unique identifier of the user.",
        "user": "Name of the user.",
    },
    "authorization.SubjectAccessReviewStatus": {
        "": "Result of the authorization.",
        "allowed": "Whether the request is allowed.",
        "denied": "Whether the request is denied explicitly. With both false, no authorizer has an opinion.",
        "reason": "Human-readable reason.",
    },
    "authorization.SubjectRulesReviewStatus": {
        "": "Rules that apply to the user.",
        "incomplete": "Whether the list may lack rules, because an authorizer cannot enumerate them.",
    },
    "authorization.ResourceAttributes": {
        "": "Attributes of a request to a resource.",
        "fieldSelector": "Field selector of the request. Authorizers may limit the permission to it.",
        "group": "API group; \"*\" means all.",
        "labelSelector": "Label selector of the request. Authorizers may limit the permission to it.",
        "name": "Name of the object. Empty means all.",
        "namespace": "Namespace of the request. Empty for cluster-scoped resources, or all namespaces.",
        "resource": "Name of the resource; \"*\" means all.",
        "subresource": "Name of the subresource, such as status. Empty means none.",
        "verb": "Verb of the request: get, list, watch, create, update, patch, delete ... \"*\" means all.",
        "version": "API version; \"*\" means all.",
    },
    "authorization.NonResourceAttributes": {
        "": "Attributes of a request to a non-resource path.",
        "path": "URL path of the request.",
        "verb": "HTTP method of the request in lower case.",
    },
    "authorization.ResourceRule": {
        "": "Actions allowed on resources.",
        "resources": "Resources that the rule applies to; \"*\" matches all.",
    },
    "authorization.NonResourceRule": {"": "Actions allowed on non-resource paths."},
    "certificates.CertificateSigningRequest": {"": "Request for a certificate, to be approved and then signed."},
    "certificates.CertificateSigningRequestSpec": {
        "": "Properties of the requested certificate and of the requester.",
        "groups": "Groups of the requester. Set by the server.",
        "request": "PEM-encoded PKCS#10 certificate request, in base64.",
        "signerName": "Signer to handle the request, as DOMAIN/PATH.",
        "uid": "UID of the requester. Set by the server.",
        "usages": "Requested key usages, such as digital signature or client auth.",
        "username": "Name of the requester. Set by the server.",
    },
    "certificates.CertificateSigningRequestStatus": {
        "": "Result of a certificate signing request.",
        "certificate": "Issued certificate chain, PEM in base64.",
    },
    "certificates.CertificateSigningRequestCondition": {**_CONDITION, "type": "Approved, Denied or Failed."},
    "flowcontrol.FlowSchema": {"": "Classifies requests into flows and assigns them to a priority level."},
    "flowcontrol.FlowSchemaSpec": {
        "": "Rules and priority level of a FlowSchema.",
        "distinguisherMethod": "How requests are divided into flows. When unset, all requests form one flow.",
        "matchingPrecedence": "Order of evaluation: of all matching schemas, the one with the lowest value applies.",
        "priorityLevelConfiguration": "Priority level of matching requests.",
        "rules": "Rules, at least one of which must match the request.",
    },
    "flowcontrol.FlowSchemaStatus": {"": "Observed state of a FlowSchema."},
    "flowcontrol.FlowSchemaCondition": {**_CONDITION, "type": "Dangling: the referenced priority level does not exist."},
    "flowcontrol.FlowDistinguisherMethod": {"": "How requests are divided into flows.", "type": "ByUser or ByNamespace."},
    "flowcontrol.PolicyRulesWithSubjects": {"": "Matches requests by subject and by resource or path."},
    "flowcontrol.ResourcePolicyRule": {
        "": "Matches requests to resources.", "clusterScope": "Whether requests without a namespace match. Default: false.",
        "namespaces": "Namespaces of matching requests; \"*\" matches all.",
        "resources": "Resources that the rule applies to; \"*\" matches all.",
    },
    "flowcontrol.NonResourcePolicyRule": {"": "Matches requests to non-resource paths."},
    "flowcontrol.Subject": {
        "": "A user, a group or a service account.",
        "kind": "User, Group or ServiceAccount.",
        "group": "Group that is matched.",
        "serviceAccount": "Service account that is matched.",
        "user": "User that is matched.",
    },
    "flowcontrol.UserSubject": {"": "User by name; \"*\" matches all.", "name": "Name of the user; \"*\" matches all."},
    "flowcontrol.GroupSubject": {
        "": "Group by name; \"*\" matches all.",
        "name": "Name of the group; \"*\" matches all.",
    },
    "flowcontrol.ServiceAccountSubject": {
        "": "Service account by namespace and name; the name \"*\" matches all of the namespace.",
        "name": "Name of the service account; \"*\" matches all of the namespace.",
        "namespace": "Namespace of the service account.",
    },
    "flowcontrol.PriorityLevelConfiguration": {"": "Concurrency limit and queuing of a priority level."},
    "flowcontrol.PriorityLevelConfigurationSpec": {
        "": "Configuration of a priority level.", "limited": "Limits of the level. Only used with type Limited.",
        "exempt": "Concurrency shares of an exempt level. Only used with type Exempt.",
        "type": "Exempt (not limited) or Limited.",
    },
    "flowcontrol.PriorityLevelConfigurationStatus": {"": "Observed state of a priority level."},
    "flowcontrol.PriorityLevelConfigurationCondition": _CONDITION,
    "flowcontrol.PriorityLevelConfigurationReference": {
        "": "Reference to a priority level by name.",
        "name": "Name of the priority level.",
    },
    "flowcontrol.LimitedPriorityLevelConfiguration": {
        "": "Limits of a priority level.",
        "assuredConcurrencyShares": "Shares of the server's total concurrency assigned to the level. Default: 30.",
        "borrowingLimitPercent": (
            "Concurrency that the level may borrow from others, in percent of its own. When unset, it is not limited."
        ),
        "lendablePercent": (
            "Part of the level's concurrency that other levels may borrow, in percent from 0 to 100. Default: 0."
        ),
        "limitResponse": "Handling of requests that cannot be executed immediately.",
        "nominalConcurrencyShares": "Shares of the server's total concurrency assigned to the level. Default: 30.",
    },
    "flowcontrol.LimitResponse": {"": "Handling of requests that cannot be executed immediately.", "type": "Queue or Reject."},
    "flowcontrol.QueuingConfiguration": {
        "": "Queues of a priority level.",
        "handSize": "Number of queues that each flow is assigned to by shuffle sharding. Default: 8.",
        "queueLengthLimit": "Maximum number of requests in one queue. Default: 50.",
        "queues": "Number of queues. Default: 64.",
    },
    "networking.Ingress": {"": "Routes external HTTP traffic to services by host and path."},
    "networking.IngressSpec": {
        "": "Desired routing of an Ingress.",
        "defaultBackend": "Backend of requests that match no rule.",
        "ingressClassName": "Name of the IngressClass that implements the Ingress.",
        "rules": "Routing rules by host. Without rules, all traffic goes to the default backend.",
        "tls": "TLS certificates by host.",
    },
    "networking.IngressStatus": {"": "Observed state of an Ingress."},
    "networking.IngressRule": {
        "": "Routing of a host.",
        "host": "Fully qualified host name, or *.DOMAIN. Empty matches all.",
        "http": "Routing by path.",
    },
    "networking.HTTPIngressRuleValue": {"": "Routing by path.", "paths": "Paths and their backends."},
    "networking.HTTPIngressPath": {
        "": "Path and its backend.", "backend": "Backend of the path.", "path": "URL path, beginning with a slash.",
        "pathType": "Exact, Prefix or ImplementationSpecific.",
    },
    "networking.IngressBackend": {
        "": "Backend of a path: a service or a resource.",
        "resource": "Object in the namespace of the Ingress.",
        "service": "Service in the namespace of the Ingress.",
    },
    "networking.IngressServiceBackend": {
        "": "Port of a Service.",
        "name": "Name of the Service.",
        "port": "Port of the Service, by name or number.",
    },
    "networking.ServiceBackendPort": {
        "": "Port of a Service, by name or number.",
        "name": "Name of the port.",
        "number": "Port number.",
    },
    "networking.IngressTLS": {
        "": "TLS certificate of hosts.",
        "hosts": "Hosts that the certificate covers.",
        "secretName": "Name of the Secret with certificate and key.",
    },
    "networking.IngressClass": {"": "Class of Ingresses, implemented by one controller."},
    "networking.IngressClassSpec": {
        "": "Properties of an IngressClass.",
        "controller": "Name of the controller that implements the class, as DOMAIN/PATH. Immutable.",
        "parameters": "Object with additional configuration of the controller.",
    },
    "networking.IngressClassParametersReference": {
        "": "Reference to an object with configuration of the controller.",
        "namespace": "Namespace of the object. Required with scope Namespace, else forbidden.",
        "scope": "Cluster (the default) or Namespace.",
    },
    "networking.NetworkPolicy": {"": "Network traffic allowed for pods."},
    "networking.NetworkPolicySpec": {
        "": "Pods and the traffic allowed for them.",
        "egress": "Allowed outgoing traffic. If the policy covers egress, traffic that matches no rule is denied.",
        "ingress": "Allowed incoming traffic. If the policy covers ingress, traffic that matches no rule is denied.",
        "podSelector": "Label selector of the pods that the policy applies to. An empty selector matches all.",
    },
    "networking.NetworkPolicyIngressRule": {
        "": "Allowed incoming traffic.", "from": "Allowed sources. Empty allows all.",
        "ports": "Allowed ports of the pods. Empty allows all.",
    },
    "networking.NetworkPolicyEgressRule": {
        "": "Allowed outgoing traffic.", "ports": "Allowed destination ports. Empty allows all.",
        "to": "Allowed destinations. Empty allows all.",
    },
    "networking.NetworkPolicyPeer": {"": "Source or destination of traffic: pods or IP addresses."},
    "networking.NetworkPolicyPort": {
        "": "Port or range of ports.",
        "endPort": "Last port of the range that begins with port.",
        "port": "Port, by number or name.",
    },
    "networking.IPBlock": {
        "": "IP range.",
        "cidr": "IP range in CIDR notation.",
        "except": "Ranges within cidr that are excluded.",
    },
    "node.RuntimeClass": {
        "": "Class of container runtimes.", "handler": "Name of the handler in the configuration of the container runtime.",
        "overhead": "Resources that a pod of this class requires in addition to its containers.",
    },
    "node.RuntimeClassSpec": {
        "": "Properties of a RuntimeClass.",
        "overhead": "Resources that a pod of this class requires in addition to its containers.",
        "runtimeHandler": "Name of the handler in the configuration of the container runtime.",
    },
    "node.Overhead": {"": "Resource overhead of running a pod.", "podFixed": "Fixed overhead per pod, by resource."},
    "node.Scheduling": {
        "": "Nodes that support a RuntimeClass.",
        "nodeSelector": "Labels that a node must have to run pods of the class.",
        "tolerations": "Tolerations added to the pods of the class.",
    },
    "rbac.Role": {"": "Permissions within one namespace.", "rules": "Permissions of the role."},
    "rbac.ClusterRole": {
        "": "Permissions in the whole cluster, or in the namespaces in which the role is bound.",
        "aggregationRule": "Selects ClusterRoles whose rules replace those of this one.",
        "rules": "Permissions of the role.",
    },
    "rbac.AggregationRule": {
        "": "Selects the ClusterRoles to aggregate.",
        "clusterRoleSelectors": "Label selectors of the ClusterRoles.",
    },
    "rbac.RoleBinding": {
        "": "Grants a role to subjects within one namespace.", "roleRef": "Role or ClusterRole that is granted. Immutable.",
        "subjects": "Users, groups and service accounts that the role is granted to.",
    },
    "rbac.ClusterRoleBinding": {
        "": "Grants a ClusterRole to subjects in the whole cluster.", "roleRef": "ClusterRole that is granted. Immutable.",
        "subjects": "Users, groups and service accounts that the role is granted to.",
    },
    "rbac.PolicyRule": {
        "": "Permission: verbs allowed on resources or paths.",
        "nonResourceURLs": "Non-resource paths, allowed in ClusterRoles only. \"*\" may be the last path segment.",
        "resources": "Resources that the rule applies to; \"*\" matches all.",
    },
    "rbac.RoleRef": {"": "Reference to a role.", "kind": "Role or ClusterRole.", "name": "Name of the role."},
    "rbac.Subject": {
        "": "A user, a group or a service account.", "kind": "User, Group or ServiceAccount.",
        "name": "Name of the user, group or service account.",
        "namespace": "Namespace of the service account.",
    },
    "scheduling.PriorityClass": {
        "": "Maps a name to a priority of pods.",
        "description": "Intended use of the class.",
        "globalDefault": "Whether pods without a class get this one. Default: false.",
        "value": "Priority of the pods. Higher values take precedence.",
    },
    "authorization.FieldSelectorAttributes": {
        "": "Field selector of a request. At most one member may be set.",
        "rawSelector": "Selector in query string format. Set by clients only.",
        "requirements": "Parsed requirements; all must be met.",
    },
    "authorization.LabelSelectorAttributes": {
        "": "Label selector of a request. At most one member may be set.",
        "rawSelector": "Selector in query string format. Set by clients only.",
        "requirements": "Parsed requirements; all must be met.",
    },
    "flowcontrol.ExemptPriorityLevelConfiguration": {
        "": "Concurrency shares of an exempt priority level, whose requests are never limited.",
        "lendablePercent": (
            "Part of the level's concurrency that other levels may borrow, in percent from 0 to 100. Default: 0."
        ),
        "nominalConcurrencyShares": "Shares of the server's total concurrency reserved for the level. Default: 0.",
    },
    "networking.IngressLoadBalancerStatus": {
        "": "Status of a load balancer.",
        "ingress": "Ingress points of the load balancer.",
    },
    "networking.IngressLoadBalancerIngress": {"": "Ingress point of a load balancer.", "ports": "Status of the ports."},
    "networking.IngressPortStatus": {
        "": "Status of a port of a load balancer.",
        "error": "Machine-readable reason why the port does not work.",
        "port": "Port number.",
    },
    "networking.IPAddress": {"": "IP address in use. Its name is the address in canonical form."},
    "networking.IPAddressSpec": {"": "User of an IP address.", "parentRef": "Object that uses the address."},
    "networking.ParentReference": {
        "": "Reference to the object that uses an IP address.",
        "group": "API group of the object. Empty for the core group.",
        "namespace": "Namespace of the object.",
        "resource": "Resource of the object, such as services.",
    },
    "networking.ServiceCIDR": {"": "Range of IP addresses for Services."},
    "networking.ServiceCIDRSpec": {
        "": "Range of IP addresses for Services.",
        "cidrs": "IP ranges in CIDR notation, at most one per IP family. Immutable, except for adding a second family.",
    },
    "networking.ServiceCIDRStatus": {"": "Observed state of a ServiceCIDR."},
}
