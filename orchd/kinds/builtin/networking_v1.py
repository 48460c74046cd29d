"""networking/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Subresource, Table, Validation

GROUP: Final = "networking.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.networking.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset(("IngressRuleValue",))
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="IngressClass",
        plural="ingressclasses",
        key="ingressclasses",
        table=Table("tabulate.network.ingress_class", ("Name|name", "Controller", "Parameters", "Age")),
        validation=Validation(create="validate.networking.create_class", update="validate.networking.update_class"),
        generation=("spec",),
    ),
    KindRow(
        kind="Ingress",
        plural="ingresses",
        namespaced=True,
        short_names=("ing",),
        key="ingress",
        error_group="extensions",
        table=Table("tabulate.network.ingress", ("Name|name", "Class", "Hosts", "Address", "Ports", "Age")),
        validation=Validation(
            create="validate.networking.create_ingress",
            update="validate.networking.update_ingress",
        ),
        generation=("spec",),
        subresources=(Subresource(name="status", update="validate.networking.update_ingress_status"),),
    ),
    KindRow(
        kind="NetworkPolicy",
        plural="networkpolicies",
        namespaced=True,
        short_names=("netpol",),
        key="networkpolicies",
        error_group="extensions",
        table=Table("tabulate.network.network_policy", ("Name|name", "Pod-Selector", "Age")),
        validation=Validation(create="validate.networking.create_policy", update="validate.networking.update_policy"),
        generation=("spec",),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "HTTPIngressPath": (
        ("path", 1, "string", "omit"),
        ("pathType", 3, "string", "required ptr"),
        ("backend", 2, "IngressBackend", "required"),
    ),
    "HTTPIngressRuleValue": (
        ("paths", 1, "[]HTTPIngressPath", "required list=atomic"),
    ),
    "IPBlock": (
        ("cidr", 1, "string", "required"),
        ("except", 2, "[]string", "omit"),
    ),
    "Ingress": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "IngressSpec", "omit"),
        ("status", 3, "IngressStatus", "omit"),
    ),
    "IngressBackend": (
        ("service", 4, "IngressServiceBackend", "omit ptr"),
        ("resource", 3, "core/v1.TypedLocalObjectReference", "omit ptr"),
    ),
    "IngressClass": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "IngressClassSpec", "omit"),
    ),
    "IngressClassList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]IngressClass", "required"),
    ),
    "IngressClassParametersReference": (
        ("apiGroup", 1, "string", "omit ptr"),
        ("kind", 2, "string", "required"),
        ("name", 3, "string", "required"),
        ("scope", 4, "string", "ptr"),
        ("namespace", 5, "string", "omit ptr"),
    ),
    "IngressClassSpec": (
        ("controller", 1, "string", "omit"),
        ("parameters", 2, "IngressClassParametersReference", "omit ptr"),
    ),
    "IngressList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]Ingress", "required"),
    ),
    "IngressRule": (
        ("host", 1, "string", "omit"),
        ("", 2, "IngressRuleValue", "inline"),
    ),
    "IngressRuleValue": (
        ("http", 1, "HTTPIngressRuleValue", "omit ptr"),
    ),
    "IngressServiceBackend": (
        ("name", 1, "string", "required"),
        ("port", 2, "ServiceBackendPort", "omit"),
    ),
    "IngressSpec": (
        ("ingressClassName", 4, "string", "omit ptr"),
        ("defaultBackend", 1, "IngressBackend", "omit ptr"),
        ("tls", 2, "[]IngressTLS", "omit list=atomic"),
        ("rules", 3, "[]IngressRule", "omit list=atomic"),
    ),
    "IngressStatus": (
        ("loadBalancer", 1, "core/v1.LoadBalancerStatus", "omit"),
    ),
    "IngressTLS": (
        ("hosts", 1, "[]string", "omit list=atomic"),
        ("secretName", 2, "string", "omit"),
    ),
    "NetworkPolicy": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "NetworkPolicySpec", "omit"),
    ),
    "NetworkPolicyEgressRule": (
        ("ports", 1, "[]NetworkPolicyPort", "omit"),
        ("to", 2, "[]NetworkPolicyPeer", "omit"),
    ),
    "NetworkPolicyIngressRule": (
        ("ports", 1, "[]NetworkPolicyPort", "omit"),
        ("from", 2, "[]NetworkPolicyPeer", "omit"),
    ),
    "NetworkPolicyList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]NetworkPolicy", "required"),
    ),
    "NetworkPolicyPeer": (
        ("podSelector", 1, "meta/v1.LabelSelector", "omit ptr"),
        ("namespaceSelector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("ipBlock", 3, "IPBlock", "omit ptr"),
    ),
    "NetworkPolicyPort": (
        ("protocol", 1, "string", "omit ptr"),
        ("port", 2, "int-or-string", "omit ptr"),
        ("endPort", 3, "int32", "omit ptr"),
    ),
    "NetworkPolicySpec": (
        ("podSelector", 1, "meta/v1.LabelSelector", "required"),
        ("ingress", 2, "[]NetworkPolicyIngressRule", "omit"),
        ("egress", 3, "[]NetworkPolicyEgressRule", "omit"),
        ("policyTypes", 4, "[]string", "omit"),
    ),
    "ServiceBackendPort": (
        ("name", 1, "string", "omit"),
        ("number", 2, "int32", "omit"),
    ),
}
