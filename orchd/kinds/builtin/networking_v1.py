"""networking/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import ALL_METADATA, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "networking.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.networking.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("IngressRuleValue",))

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
        changes=(("1.24", {"error_group": ""}), ("1.33", {"warnings": "validate.later_warnings.ingress"}),),
        table=Table("tabulate.network.ingress", ("Name|name", "Class", "Hosts", "Address", "Ports", "Age")),
        validation=Validation(create="validate.networking.create_ingress", update="validate.networking.update_ingress"),
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
        changes=(("1.24", {"error_group": ""}), ("1.33", {"warnings": "validate.later_warnings.network_policy"}),),
        table=Table("tabulate.network.network_policy", ("Name|name", "Pod-Selector", "Age")),
        validation=Validation(create="validate.networking.create_policy", update="validate.networking.update_policy"),
        generation=("spec",),
    ),
    KindRow(
        kind="IPAddress",
        plural="ipaddresses",
        short_names=("ip",),
        key="ipaddresses",
        table=Table("tabulate.network.ip_address", ("Name|name", "ParentRef")),
        validation=Validation(
            create="validate.cluster_addresses.create_address", update="validate.cluster_addresses.update_address"
        ),
        since="1.33",
    ),
    KindRow(
        kind="ServiceCIDR",
        plural="servicecidrs",
        key="servicecidrs",
        writes_status=True,
        table=Table(
            "tabulate.network.service_cidr",
            ("Name|name", "CIDRs", "Age"),
            {"CIDRs": "The ranges that addresses of services are taken from"},
        ),
        validation=Validation(
            create="validate.cluster_addresses.create_range", update="validate.cluster_addresses.update_range"
        ),
        subresources=(
            Subresource(
                name="status",
                update="validate.cluster_addresses.update_range_status",
                keeps_metadata=ALL_METADATA,
                resets=(),
            ),
        ),
        since="1.33",
    ),
)

TYPES: Final[Types] = {
    **object_types("IPAddress IngressClass NetworkPolicy", status=""),
    **object_types("Ingress ServiceCIDR"),
    "HTTPIngressPath": (
        ("path", 1, "string", "omit"),
        ("pathType", 3, "string", "required ptr enum=Exact|ImplementationSpecific|Prefix@1.35"),
        ("backend", 2, "IngressBackend", "required"),
    ),
    "HTTPIngressRuleValue": (("paths", 1, "[]HTTPIngressPath", "required list=atomic"),),
    "IPAddressSpec": (("parentRef", 1, "ParentReference", "required omit ptr"),),
    "IPBlock": (("cidr", 1, "string", "required"), ("except", 2, "[]string", "omit list=atomic@1.35")),
    "IngressBackend": (
        ("service", 4, "IngressServiceBackend", "omit ptr"),
        ("resource", 3, "core/v1.TypedLocalObjectReference", "omit ptr"),
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
    "IngressLoadBalancerIngress": (
        ("ip", 1, "string", "omit"),
        ("hostname", 2, "string", "omit"),
        ("ports", 4, "[]IngressPortStatus", "omit list=atomic"),
    ),
    "IngressLoadBalancerStatus": (("ingress", 1, "[]IngressLoadBalancerIngress", "omit list=atomic"),),
    "IngressPortStatus": (
        ("port", 1, "int32", "required"),
        ("protocol", 2, "string", "required enum=SCTP|TCP|UDP"),
        ("error", 3, "string", "omit ptr"),
    ),
    "IngressRule": (("host", 1, "string", "omit"), ("", 2, "IngressRuleValue", "inline")),
    "IngressRuleValue": (("http", 1, "HTTPIngressRuleValue", "omit ptr"),),
    "IngressServiceBackend": (("name", 1, "string", "required"), ("port", 2, "ServiceBackendPort", "omit atomic@1.35")),
    "IngressSpec": (
        ("ingressClassName", 4, "string", "omit ptr"),
        ("defaultBackend", 1, "IngressBackend", "omit ptr"),
        ("tls", 2, "[]IngressTLS", "omit list=atomic"),
        ("rules", 3, "[]IngressRule", "omit list=atomic"),
    ),
    "IngressStatus": (
        ("loadBalancer", 1, "core/v1.LoadBalancerStatus", "omit until=1.35"),
        ("loadBalancer", 1, "IngressLoadBalancerStatus", "omit since=1.35"),
    ),
    "IngressTLS": (("hosts", 1, "[]string", "omit list=atomic"), ("secretName", 2, "string", "omit")),
    "NetworkPolicyEgressRule": (
        ("ports", 1, "[]NetworkPolicyPort", "omit list=atomic@1.35"),
        ("to", 2, "[]NetworkPolicyPeer", "omit list=atomic@1.35"),
    ),
    "NetworkPolicyIngressRule": (
        ("ports", 1, "[]NetworkPolicyPort", "omit list=atomic@1.35"),
        ("from", 2, "[]NetworkPolicyPeer", "omit list=atomic@1.35"),
    ),
    "NetworkPolicyPeer": (
        ("podSelector", 1, "meta/v1.LabelSelector", "omit ptr"),
        ("namespaceSelector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("ipBlock", 3, "IPBlock", "omit ptr"),
    ),
    "NetworkPolicyPort": (
        ("protocol", 1, "string", "omit ptr enum=SCTP|TCP|UDP@1.35"),
        ("port", 2, "int-or-string", "omit ptr"),
        ("endPort", 3, "int32", "omit ptr"),
    ),
    "NetworkPolicySpec": (
        ("podSelector", 1, "meta/v1.LabelSelector", "required until=1.35"),
        ("podSelector", 1, "meta/v1.LabelSelector", "since=1.35"),
        ("ingress", 2, "[]NetworkPolicyIngressRule", "omit list=atomic@1.35"),
        ("egress", 3, "[]NetworkPolicyEgressRule", "omit list=atomic@1.35"),
        ("policyTypes", 4, "[]string", "omit enum=Egress|Ingress@1.35 list=atomic@1.35"),
    ),
    "ParentReference": (
        ("group", 1, "string", "omit"),
        ("resource", 2, "string", "required omit"),
        ("namespace", 3, "string", "omit"),
        ("name", 4, "string", "required omit"),
    ),
    "ServiceBackendPort": (("name", 1, "string", "omit"), ("number", 2, "int32", "omit")),
    "ServiceCIDRSpec": (("cidrs", 1, "[]string", "omit list=atomic"),),
    "ServiceCIDRStatus": (("conditions", 1, "[]meta/v1.Condition", "omit merge=type keys=type"),),
}
