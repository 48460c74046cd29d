"""Warnings about objects that are accepted: what each release says, and where."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.later_warnings import service_status
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.rows import resolve

Object = dict[str, Any]
CATALOGS = {
    release: builtin_catalog(KUBERNETES, release, enabled=lambda group, version, default: True)
    for release in (SPECIFICATION, NEWEST)
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FUTURE = "will be considered invalid in a future Kubernetes release"


def warnings(path: str, obj: Object, old: Object | None = None, release: Release = NEWEST) -> list[str]:
    """The warnings about an object of the resource ``[GROUP/]VERSION/PLURAL``."""
    group, version, plural = path.rpartition("/")[0].rpartition("/")[0], *path.split("/")[-2:]
    resource = CATALOGS[release].resource(group, version, plural)
    assert resource is not None, path
    settings = ObjectSettings(dialect=KUBERNETES, release=release)
    return list(resolve(resource.row.warnings)(obj, old, resource, settings)) if resource.row.warnings else []


def annotated(*keys: str, **members: Any) -> Object:
    return {"metadata": {"name": "a", "annotations": dict.fromkeys(keys, "x")}, **members}


SERVICES: list[tuple[Object, list[str]]] = [
    ({"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None"}, []),
    (
        {"type": "ClusterIP", "clusterIPs": ["10.0.0.1", "010.0.0.2"], "sessionAffinity": "ClientIP"},
        [f'spec.clusterIPs[1]: non-standard IP address "010.0.0.2" {FUTURE}: use "10.0.0.2"'],
    ),
    # The addresses of a headless service are not looked at.
    ({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["010.0.0.2"], "sessionAffinity": "None"}, []),
    (
        {
            "type": "ClusterIP",
            "clusterIP": "None",
            "loadBalancerIP": "1.2.3.4",
            "externalIPs": ["1.2.3.4"],
            "sessionAffinity": "ClientIP",
        },
        [
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    ),
    # Neither a service without an address yet, nor one of another type, is headless.
    ({"type": "LoadBalancer", "clusterIP": "None", "loadBalancerIP": "1.2.3.4"}, []),
    (
        {
            "type": "LoadBalancer",
            "clusterIP": "10.0.0.1",
            "externalIPs": ["1.2.3.4", "2001:DB8::1"],
            "loadBalancerIP": "01.2.3.4",
            "loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.1/8"],
        },
        [
            'spec.externalIPs[1]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
            f'spec.loadBalancerIP: non-standard IP address "01.2.3.4" {FUTURE}: use "1.2.3.4"',
            'spec.loadBalancerSourceRanges[1]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be '
            '"10.0.0.0/8" or "10.0.0.1/32"?)',
        ],
    ),
    (
        {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.2.3.4"]},
        ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ),
    ({"type": "ExternalName", "externalName": "a.b"}, []),
    (
        {"type": "NodePort", "externalName": "a.b"},
        ['spec.externalName is ignored when spec.type is not "ExternalName"'],
    ),
    (
        {"type": "NodePort", "trafficDistribution": "PreferClose"},
        ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ),
    ({"type": "NodePort", "trafficDistribution": "PreferSameNode"}, []),
]


@pytest.mark.parametrize("spec, expected", SERVICES)
def test_services(spec: Object, expected: list[str]) -> None:
    assert warnings("v1/services", {"spec": spec}) == expected


def test_hints_of_services() -> None:
    """The annotation for hints has another name now."""
    assert warnings("v1/services", annotated("service.kubernetes.io/topology-mode", spec={})) == []
    assert warnings("v1/services", annotated("service.kubernetes.io/topology-aware-hints", spec={})) == [
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead"
    ]


ODD = [{"ip": "01.2.3.4"}]
SAID = f'non-standard IP address "01.2.3.4" {FUTURE}: use "1.2.3.4"'


@pytest.mark.parametrize(
    "path, obj, expected",
    [
        (
            "v1/endpoints",
            {"subsets": [{"addresses": [{"ip": "1.2.3.4"}, *ODD]}, {"notReadyAddresses": ODD}]},
            [f"subsets[0].addresses[1].ip: {SAID}", f"subsets[1].notReadyAddresses[0].ip: {SAID}"],
        ),
        (
            "v1/endpoints",
            {
                "metadata": {"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}},
                "subsets": [{"addresses": ODD}],
            },
            [],
        ),
        (
            "discovery.k8s.io/v1/endpointslices",
            {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4", "01.2.3.4"]}]},
            [f"endpoints[0].addresses[1]: {SAID}"],
        ),
        *(
            (
                "discovery.k8s.io/v1/endpointslices",
                {
                    "metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": manager}},
                    "endpoints": [{"addresses": ["01.2.3.4"]}],
                },
                expected,
            )
            for manager, expected in (
                ("endpointslice-controller.k8s.io", []),
                ("endpointslicemirroring-controller.k8s.io", []),
                ("someone", [f"endpoints[0].addresses[0]: {SAID}"]),
            )
        ),
        (
            "networking.k8s.io/v1/networkpolicies",
            {
                "spec": {
                    "ingress": [{"from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.1/8"}}]}],
                    "egress": [
                        {},
                        {"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/9", "010.0.0.0/9"]}}]},
                    ],
                }
            },
            [
                'spec.ingress[0].from[1].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be '
                '"10.0.0.0/8" or "10.0.0.1/32"?)',
                f'spec.egress[1].to[0].ipBlock.except[1]: non-standard CIDR value "010.0.0.0/9" {FUTURE}: use "10.0.0.0/9"',
            ],
        ),
        (
            "v1/nodes",
            {"spec": {"configSource": {}, "externalID": "a", "podCIDRs": ["10.0.0.1/24"]}},
            [
                "spec.configSource: the feature is removed",
                "spec.externalID: this field is deprecated, and is unused by Kubernetes",
                'spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or '
                '"10.0.0.1/32"?)',
            ],
        ),
        ("v1/nodes", {"spec": {"podCIDRs": ["10.0.0.0/24"]}}, []),
        (
            "v1/persistentvolumes",
            annotated("volume.beta.kubernetes.io/storage-class", "volume.beta.kubernetes.io/mount-options", spec={}),
            [
                "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
                '"storageClassName" attribute instead',
                "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "
                '"mountOptions" attribute instead',
            ],
        ),
        (
            "v1/persistentvolumes",
            {
                "spec": {
                    "persistentVolumeReclaimPolicy": "Recycle",
                    "storageos": {},
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "kubernetes.io/os"}, {"key": "beta.kubernetes.io/os"}]}
                            ]
                        }
                    },
                }
            },
            [
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
                "approach is to use dynamic provisioning.",
                "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: beta.kubernetes.io/os is "
                'deprecated since v1.14; use "kubernetes.io/os" instead',
                "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
            ],
        ),
        ("v1/persistentvolumes", {"spec": {"persistentVolumeReclaimPolicy": "Retain", "csi": {}}}, []),
        (
            "v1/persistentvolumeclaims",
            annotated(
                "volume.beta.kubernetes.io/storage-class",
                spec={"resources": {"requests": {"storage": "1500m"}, "limits": {"storage": "2Gi"}}},
            ),
            [
                "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
                '"storageClassName" attribute instead',
                'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
            ],
        ),
        (
            "storage.k8s.io/v1/storageclasses",
            {
                "allowedTopologies": [
                    {},
                    {"matchLabelExpressions": [{"key": "x"}, {"key": "failure-domain.beta.kubernetes.io/zone"}]},
                ]
            },
            [
                "allowedTopologies[1].matchLabelExpressions[1].key: deprecated since v1.17; use "
                '"topology.kubernetes.io/zone" instead'
            ],
        ),
        (
            "storage.k8s.io/v1/csistoragecapacities",
            {
                "nodeTopology": {
                    "matchLabels": {"x": "", "beta.kubernetes.io/arch": "a"},
                    "matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/region"}],
                }
            },
            [
                "nodeTopology.matchExpressions[0].key: failure-domain.beta.kubernetes.io/region is deprecated since "
                'v1.17; use "topology.kubernetes.io/region" instead',
                'nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "kubernetes.io/arch" instead',
            ],
        ),
        (
            "node.k8s.io/v1/runtimeclasses",
            {"scheduling": {"nodeSelector": {"x": "", "beta.kubernetes.io/instance-type": ""}}},
            ['scheduling.nodeSelector: deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
        ),
    ],
)
def test_fields_and_values(path: str, obj: Object, expected: list[str]) -> None:
    """Values in forms that are no longer usual, and fields without effect."""
    assert warnings(path, obj) == expected


INGRESS = "networking.k8s.io/v1/ingresses"
CLASS = "kubernetes.io/ingress.class"
SLICES = "resource.k8s.io/v1/resourceslices"
DRIVERS = "storage.k8s.io/v1/csidrivers"
ENFORCED = "kubernetes.io/enforce-mountable-secrets"
TOKENS: Object = {"spec": {"tokenRequests": [{"audience": "a"}]}}


@pytest.mark.parametrize(
    "path, obj, old, count",
    [
        (INGRESS, annotated(CLASS, spec={}), None, 1),
        (INGRESS, annotated(CLASS, spec={}), annotated(CLASS, spec={}), 0),
        (INGRESS, annotated(CLASS, spec={"ingressClassName": "a"}), None, 0),
        (INGRESS, {"spec": {}}, None, 0),
        ("discovery.k8s.io/v1/endpointslices", {"addressType": "FQDN"}, None, 1),
        ("discovery.k8s.io/v1/endpointslices", {"addressType": "FQDN"}, {"addressType": "FQDN"}, 0),
        ("v1/serviceaccounts", annotated(ENFORCED), None, 1),
        ("v1/serviceaccounts", annotated(ENFORCED), annotated(), 1),
        ("v1/serviceaccounts", annotated(ENFORCED), annotated(ENFORCED), 0),
        ("v1/serviceaccounts", annotated(), None, 0),
        (SLICES, {"spec": {"driver": "A.example"}}, None, 1),
        (SLICES, {"spec": {"driver": "A.example"}}, {"spec": {"driver": "A.example"}}, 0),
        (SLICES, {"spec": {"driver": "a.example"}}, None, 0),
        (DRIVERS, TOKENS, None, 1),
        (DRIVERS, TOKENS, {"spec": {}}, 1),
        (DRIVERS, TOKENS, TOKENS, 0),
        (DRIVERS, {"spec": {}}, None, 0),
        (DRIVERS, {"spec": {**TOKENS["spec"], "serviceAccountTokenInSecrets": False}}, None, 0),
    ],
)
def test_only_changes_are_warned_of(path: str, obj: Object, old: Object | None, count: int) -> None:
    """What an object had before is not warned of again."""
    assert len(warnings(path, obj, old)) == count


PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nx").decode()
OTHER = base64.b64encode(b"none").decode()


@pytest.mark.parametrize(
    "type_, data, expected",
    [
        ("kubernetes.io/tls", {"tls.crt": PEM, "tls.key": PEM}, []),
        ("kubernetes.io/tls", {"tls.crt": OTHER, "tls.key": OTHER}, ["certificate"]),
        ("kubernetes.io/tls", {"tls.crt": PEM, "tls.key": OTHER}, ["key"]),
        ("Opaque", {"tls.crt": OTHER}, []),
    ],
)
def test_secrets(type_: str, data: Object, expected: list[str]) -> None:
    """The first part of a TLS secret that is no PEM is named."""
    said = [f"tls: failed to find any PEM data in {words} input" for words in expected]
    assert warnings("v1/secrets", {"type": type_, "data": data}) == said


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": spec}


def own_term(*keys: str) -> Object:
    return {"matchExpressions": [{"key": key} for key in keys]}


ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
NEW_ZONE = f'{ZONE} is deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
NEW_REGION = f'{REGION} is deprecated since v1.17; use "topology.kubernetes.io/region" instead'
NULL = "a null labelSelector results in matching no pod"
FRACTION = 'fractional byte value "1m" is invalid, must be an integer'
BOTH = (SPECIFICATION, NEWEST)

#: Spec of a pod, releases, warnings.
PODS: list[tuple[Object, tuple[Release, ...], list[str]]] = [
    ({"containers": [{"name": "a"}]}, BOTH, []),
    (
        {"nodeSelector": {"x": "", "beta.kubernetes.io/os": ""}},
        BOTH,
        ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (
        {
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [own_term("x", ZONE)]},
                    PREFERRED: [{"preference": own_term(REGION)}],
                }
            }
        },
        BOTH,
        [
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[1].key: {NEW_ZONE}",
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].key: {NEW_REGION}",
        ],
    ),
    (
        {"topologySpreadConstraints": [{"topologyKey": "x"}, {"topologyKey": ZONE}]},
        (SPECIFICATION,),
        [f"spec.topologySpreadConstraints[1].topologyKey: {NEW_ZONE}"],
    ),
    (
        {"topologySpreadConstraints": [{"topologyKey": "x", "labelSelector": {}}, {"topologyKey": ZONE}]},
        (NEWEST,),
        [
            f"spec.topologySpreadConstraints[1].topologyKey: {NEW_ZONE}",
            f"spec.topologySpreadConstraints[1].labelSelector: {NULL}",
        ],
    ),
    (
        {
            "affinity": {
                "podAffinity": {REQUIRED: [{"labelSelector": {}}, {}]},
                "podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"labelSelector": {}}}, {"podAffinityTerm": {}}]},
            }
        },
        (NEWEST,),
        [
            f"spec.affinity.podAffinity.{REQUIRED}[1].labelSelector: {NULL}",
            f"spec.affinity.podAntiAffinity.{PREFERRED}[1].podAffinityTerm.labelSelector: {NULL}",
        ],
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "storageos": {}}]},
        (SPECIFICATION,),
        ["spec.volumes[1].storageOS: deprecated in v1.22, support removal is planned in v1.26"],
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "storageos": {}}, {"name": "c", "rbd": {}}]},
        (NEWEST,),
        [
            "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
            "spec.volumes[2].rbd: deprecated in v1.28, non-functional in v1.31+",
        ],
    ),
    (
        {
            "volumes": [
                {
                    "name": "a",
                    "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1m"}}}}},
                }
            ]
        },
        (NEWEST,),
        [f"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: {FRACTION}"],
    ),
    (
        {
            "hostAliases": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}],
            "imagePullSecrets": [{"name": "a"}, {"name": "b"}, {"name": "b"}, {}],
        },
        BOTH,
        [
            'spec.hostAliases[2].ip: duplicate ip "1.1.1.1"',
            'spec.imagePullSecrets[2].name: duplicate name "b"',
            'spec.imagePullSecrets[3].name: invalid empty name ""',
        ],
    ),
    (
        {
            "overhead": {"memory": "1m", "cpu": "1m"},
            "initContainers": [{"name": "a", "resources": {"limits": {"memory": "1m"}, "requests": {"memory": "1"}}}],
            "containers": [{"name": "a", "resources": {"requests": {"ephemeral-storage": "1m"}}}],
        },
        BOTH,
        [
            f"spec.overhead[memory]: {FRACTION}",
            f"spec.initContainers[0].resources.limits[memory]: {FRACTION}",
            f"spec.containers[0].resources.requests[ephemeral-storage]: {FRACTION}",
        ],
    ),
    (
        {"containers": [{"name": "a", "env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]}]},
        (SPECIFICATION,),
        ['spec.containers[0].env[2].name: duplicate name "A"'],
    ),
    (
        # A variable that is built from the one that it hides is no mistake.
        {
            "containers": [
                {
                    "name": "a",
                    "env": [
                        {"name": "A", "value": "1"},
                        {"name": "A", "value": "$(A):2"},
                        {"name": "A", "value": "$(A)"},
                        {"name": "A", "value": "3"},
                        {"name": "A", "valueFrom": {}, "value": "$(A):2"},
                    ],
                }
            ]
        },
        (NEWEST,),
        [
            f'spec.containers[0].env[{i}]: hides previous definition of "A", which may be dropped when using apply'
            for i in (2, 3, 4)
        ],
    ),
    (
        {"terminationGracePeriodSeconds": -1},
        (NEWEST,),
        ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"],
    ),
    ({"terminationGracePeriodSeconds": 0}, (NEWEST,), []),
    (
        {"dnsConfig": {"nameservers": ["1.2.3.4", "01.2.3.4"]}, "hostAliases": ODD},
        (NEWEST,),
        [f"spec.dnsConfig.nameservers[1]: {SAID}", f"spec.hostAliases[0].ip: {SAID}"],
    ),
    (
        {
            "containers": [
                {"name": "a", "ports": [{"containerPort": 1, "name": "p", "hostIP": "1.2.3.4", "protocol": "TCP"}]},
                {"name": "b", "ports": [{"containerPort": 2, "name": "p"}, {"containerPort": 3, "name": "q"}]},
                {"name": "c", "ports": [{"containerPort": 3}]},
            ]
        },
        (NEWEST,),
        [
            "spec.containers[0].ports[0]: hostIP set without hostPort: "
            "{Name:p HostPort:0 ContainerPort:1 Protocol:TCP HostIP:1.2.3.4}",
            "spec.containers[2].ports[0]: duplicate port definition with spec.containers[1].ports[1]",
            'spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes '
            "that select ports by name will use spec.containers[0].ports[0]",
        ],
    ),
]


@pytest.mark.parametrize("spec, releases, expected", PODS)
def test_pods(spec: Object, releases: tuple[Release, ...], expected: list[str]) -> None:
    """Of a new pod everything is said; of one that was there before nothing."""
    for release in releases:
        assert warnings("v1/pods", pod(**spec), None, release) == expected
        assert warnings("v1/pods", pod(**spec), pod(**spec), release) == []


def test_values_of_preferences() -> None:
    """A preference for a value that no label can have is warned of, since it has no effect."""
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["fine", "not fine"]}]}
    affinity = {"nodeAffinity": {PREFERRED: [{"preference": {}}, {"preference": term}]}}
    [text] = warnings("v1/pods", pod(affinity=affinity))
    at = f"spec.affinity.nodeAffinity.{PREFERRED}[1].preference.matchExpressions[0].values[1]"
    assert text.startswith(f"{at}: not fine is invalid, a valid label")


@pytest.mark.parametrize(
    "volume, where, expected",
    [
        (
            {"configMap": {"name": "m", "items": [{"path": "a/"}, {"path": "a/b"}]}},
            '(ConfigMap "m")',
            ['"a/b" with "a"'],
        ),
        ({"secret": {"secretName": "s", "items": [{"path": "a"}, {"path": "a"}]}}, '(Secret "s")', ['"a" with "a"']),
        ({"secret": {"secretName": "s", "items": [{"path": "a"}, {"path": "b"}]}}, "", []),
        ({"downwardAPI": {"items": [{"path": "a/b"}, {"path": "a"}]}}, "(DownwardAPI)", ['"a" with "a/b"']),
        (
            {
                "projected": {
                    "sources": [
                        {"configMap": {"name": "m", "items": [{"path": "a"}]}},
                        {"secret": {"name": "s", "items": [{"path": "a/b"}]}},
                        {"downwardAPI": {"items": [{"path": "c"}]}},
                        {"serviceAccountToken": {"path": "c"}},
                        {"clusterTrustBundle": {"path": "t", "signerName": "i/o"}},
                        {"clusterTrustBundle": {"path": "t", "name": "n"}},
                        {"podCertificate": {"keyPath": "k", "certificateChainPath": "k/x"}},
                        {"podCertificate": {"credentialBundlePath": "k"}},
                        {"configMap": {"name": "whole"}},
                    ]
                }
            },
            "(Projected)",
            [
                '"a/b" (Secret "s") with "a" (ConfigMap "m")',
                '"c" (ServiceAccountToken) with "c" (DownwardAPI)',
                '"t" (ClusterTrustBundle "n") with "t" (ClusterTrustBundle "i/o")',
                '"k" (PodCertificate key) with "k/x" (PodCertificate chain)',
                '"k" (PodCertificate credential bundle) with "k/x" (PodCertificate chain)',
                '"k" (PodCertificate credential bundle) with "k" (PodCertificate key)',
            ],
        ),
    ],
)
def test_overlapping_files(volume: Object, where: str, expected: list[str]) -> None:
    """Files of a volume at the same path, or one below the other, are named with their sources."""
    said = [f'volume "v" {where}: overlapping paths: {words}' for words in expected]
    assert sorted(warnings("v1/pods", pod(volumes=[{"name": "v", **volume}]))) == sorted(said)


def test_projections_without_sources() -> None:
    volume = {"name": "v", "projected": {"sources": [{}, {"secret": {"name": "a"}}]}}
    assert warnings("v1/pods", pod(volumes=[volume])) == ['volume "v" (Projected) has no sources provided']


POD_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
OWN_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/c"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
PROFILE = {"type": "RuntimeDefault"}


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    "key, spec, context, warned",
    [
        (POD_SECCOMP, {}, {}, True),
        (POD_SECCOMP, {"securityContext": {"seccompProfile": PROFILE}}, {}, False),
        (POD_SECCOMP, {}, {"seccompProfile": PROFILE}, True),
        (OWN_SECCOMP, {}, {}, True),
        (OWN_SECCOMP, {}, {"seccompProfile": PROFILE}, False),
        (OWN_SECCOMP + "x", {}, {}, False),
        ("scheduler.alpha.kubernetes.io/critical-pod", {}, {}, True),
        ("other", {}, {}, False),
    ],
)
def test_annotations_with_fields(release: Release, key: str, spec: Object, context: Object, warned: bool) -> None:
    """An annotation is warned of where the field that replaces it is not set."""
    containers = [{"name": "c", "securityContext": context}]
    texts = warnings("v1/pods", annotated(key, spec={**spec, "containers": containers}), None, release)
    assert [text.partition(": ")[0] for text in texts] == [f"metadata.annotations[{key}]"] * warned


@pytest.mark.parametrize(
    "value, spec, context, warned",
    [
        ("runtime/default", {}, {}, True),
        ("runtime/default", {}, {"appArmorProfile": PROFILE}, False),
        ("runtime/default", {"securityContext": {"appArmorProfile": PROFILE}}, {}, False),
        ("unconfined", {"securityContext": {"appArmorProfile": PROFILE}}, {}, True),
    ],
)
def test_app_armor_of_templates(value: str, spec: Object, context: Object, warned: bool) -> None:
    """Templates, whose annotations are not copied to the fields, are warned of; pods are not."""
    body = {
        "metadata": {"name": "a", "annotations": {APP_ARMOR: value}},
        "spec": {**spec, "containers": [{"name": "c", "securityContext": context}]},
    }
    assert warnings("v1/pods", body) == []
    texts = warnings("apps/v1/deployments", {"metadata": {"name": "a"}, "spec": {"template": body}})
    at = f"spec.template.metadata.annotations[{APP_ARMOR}]"
    assert texts == [f'{at}: deprecated since v1.30; use the "appArmorProfile" field instead'] * warned


def workload(generation: int = 1, **spec: Any) -> Object:
    template = {"metadata": {}, "spec": {"nodeSelector": {"beta.kubernetes.io/os": ""}}}
    return {"metadata": {"name": "a", "generation": generation}, "spec": {"template": template, **spec}}


TEMPLATE = 'nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'


@pytest.mark.parametrize("path", ["apps/v1/deployments", "apps/v1/statefulsets", "batch/v1/jobs", "apps/v1/daemonsets"])
@pytest.mark.parametrize("release", BOTH)
def test_templates(path: str, release: Release) -> None:
    """Templates are looked at when an object is new or its generation changes."""
    said = [f"spec.template.spec.{TEMPLATE}"]
    assert warnings(path, workload(), None, release) == said
    assert warnings(path, workload(2), workload(1), release) == said
    assert warnings(path, workload(2), workload(2), release) == []


def test_templates_of_replication_controllers() -> None:
    """Early releases name the template without its spec."""
    path = "v1/replicationcontrollers"
    assert warnings(path, workload(), None, SPECIFICATION) == [f"template.spec.{TEMPLATE}"]
    assert warnings(path, workload()) == [f"spec.template.spec.{TEMPLATE}"]


@pytest.mark.parametrize(
    "path, use",
    [
        ("v1/pods", "the Pod's hostname"),
        ("apps/v1/deployments", "Pod names and hostnames"),
        ("batch/v1/jobs", "Pod names and hostnames"),
    ],
)
def test_names_that_are_no_labels(path: str, use: str) -> None:
    """Later releases warn of names that cannot be those of hosts, when an object is new."""
    obj = {"metadata": {"name": "a.b"}, "spec": {}}
    [text] = warnings(path, obj)
    assert text.startswith(
        f"metadata.name: this is used in {use}, which can result in surprising behavior; a DNS label is"
    )
    assert warnings(path, obj, obj) == warnings(path, obj, None, SPECIFICATION) == []


def test_stateful_sets() -> None:
    """The claims of a stateful set, whose path differs in updates, and its history."""
    spec = {
        "volumeClaimTemplates": [{}, {"spec": {"resources": {"limits": {"storage": "1m"}}}}],
        "revisionHistoryLimit": -1,
    }
    sets: Object = {"metadata": {"name": "a"}, "spec": spec}
    history = (
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    )
    at = "spec.volumeClaimTemplates[1]"
    assert warnings("apps/v1/statefulsets", sets) == [f"{at}.resources.limits[storage]: {FRACTION}", history]
    assert warnings("apps/v1/statefulsets", sets, sets) == [f"{at}.Spec.resources.limits[storage]: {FRACTION}", history]
    kept = {"metadata": {"name": "a"}, "spec": {"revisionHistoryLimit": 0}}
    assert warnings("apps/v1/statefulsets", kept) == []
    assert warnings("apps/v1/statefulsets", sets, None, SPECIFICATION) == []


def test_schedules_with_time_zones() -> None:
    """Time zones in schedules: warned of when they were accepted, later only of those that are there already."""
    jobs = {"metadata": {"name": "a"}, "spec": {"schedule": "CRON_TZ=UTC * * * * *"}}
    [early] = warnings("batch/v1/cronjobs", jobs, None, SPECIFICATION)
    assert early.startswith(
        "CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see https://kubernetes.io/"
    )
    assert warnings("batch/v1/cronjobs", jobs) == []
    [later] = warnings("batch/v1/cronjobs", jobs, jobs)
    assert later.startswith(
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/"
    )
    plain = {"metadata": {"name": "a"}, "spec": {"schedule": "* * * * *"}}
    assert (
        warnings("batch/v1/cronjobs", plain, plain) == warnings("batch/v1/cronjobs", plain, None, SPECIFICATION) == []
    )


@pytest.mark.parametrize(
    ("ingress", "texts"),
    [
        ({"ip": "1.2.3.4"}, []),
        ({"hostname": "a.b"}, []),
        ({"ip": "010.0.0.1"}, ['status.loadBalancer.ingress[0]: non-standard IP address "010.0.0.1"']),
    ],
)
def test_addresses_of_load_balancers(ingress: Object, texts: list[str]) -> None:
    """Addresses that a load balancer reports are looked at like those of a spec."""
    settings = ObjectSettings(dialect=KUBERNETES, release=NEWEST)
    said = service_status({"status": {"loadBalancer": {"ingress": [ingress]}}}, settings)
    assert [text.partition(FUTURE)[0].strip() for text in said] == texts
