"""Validation of the core group by table: an object and all of its errors in order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext.structs import go_quantity
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch

SETTINGS = ObjectSettings(dialect=ORCH, allow_privileged=True)
CATALOG = builtin_catalog(ORCH)
Object = dict[str, Any]


def _complete(plural: str, obj: Object) -> Object:
    resource = CATALOG.resource("", "v1", plural)
    assert resource is not None
    metadata = {"name": "a", **({"namespace": "b"} if resource.namespaced else {}), **obj.get("metadata", {})}
    return default.apply(shape.canonical({**obj, "metadata": metadata}, resource.type), resource, SETTINGS)


def causes(plural: str, obj: Object, old: Object | None = None, sub: str = "") -> list[str]:
    """``field: Reason`` of every error, in order."""
    return [line.partition(" | ")[0] for line in messages(plural, obj, old, sub)]


def messages(plural: str, obj: Object, old: Object | None = None, sub: str = "") -> list[str]:
    """``field: Reason | message`` of every error, in order."""
    resource = CATALOG.resource("", "v1", plural)
    assert resource is not None
    if old is None:
        causes = dispatch.validate_create(_complete(plural, obj), resource, SETTINGS)
    else:
        causes = dispatch.validate_update(
            _complete(plural, obj), _complete(plural, old), resource, SETTINGS, subresource=sub
        )
    return [f"{c.field}: {c.reason.removeprefix('FieldValue')} | {c.message}" for c in causes]


# --- pods ---------------------------------------------------------------------------------------


def pod(*volumes: Object, **container: Any) -> Object:
    spec: Object = {"serviceAccountName": "x", "containers": [{"name": "c", "image": "i", **container}]}
    if volumes:
        spec["volumes"] = list(volumes)
    return {"spec": spec}


def in_pod(**spec: Any) -> Object:
    return {"spec": {"serviceAccountName": "x", "containers": [{"name": "c", "image": "i"}], **spec}}


V, K = "spec.volumes[0]", "spec.containers[0]"
ISCSI = {
    "targetPortal": "p" * 60,
    "iqn": "iqn.2001-04.com.example:a",
    "lun": 0,
    "initiatorName": "iqn.2001-04.com.example:b",
}
BAD_PROBE: Object = {"exec": {"command": []}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        # One source each; two sources have another name in the error for having too many.
        (pod({"name": "v", "emptyDir": {}, "cephfs": {"monitors": ["m"]}}), [f"{V}.cephFS: Forbidden"]),
        (pod({"name": "v", "emptyDir": {}, "downwardAPI": {}}), [f"{V}.downwarAPI: Forbidden"]),
        (pod({"name": "v", "iscsi": ISCSI}), []),
        (pod({"name": "volume", "iscsi": ISCSI}), [f"{V}.name: Invalid"]),
        (pod({"name": "v", "iscsi": {**ISCSI, "secretRef": {}}}), []),
        (pod({"name": "v", "quobyte": {"registry": "a:1,b", "volume": "v"}}), [f"{V}.quobyte.registry: Invalid"]),
        (pod({"name": "v", "quobyte": {"registry": ":,[::1]:2", "volume": "v"}}), []),
        (
            pod({"name": "v", "quobyte": {"registry": "b", "volume": "v", "tenant": "t" * 65}}),
            [f"{V}.quobyte.tenant: Required"],
        ),
        (pod({"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "A"}}}), [f"{V}.csi.name: Invalid"]),
        (
            pod({"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {}}}),
            [f"{V}.csi.nodePublishSecretRef .name: Required"],
        ),
        (
            pod(
                {
                    "name": "v",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "metadata": {"name": "n", "uid": "u"},
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
                        }
                    },
                }
            ),
            [f"{V}.ephemeral.volumeClaimTemplate.metadata.{m}: Forbidden" for m in ("name", "uID")],
        ),
        # A startup probe is validated twice.
        (pod(startupProbe=BAD_PROBE), [f"{K}.startupProbe.exec.command: Required"] * 2),
        (
            pod(
                startupProbe={**BAD_PROBE, "successThreshold": 2},
                livenessProbe={"exec": {"command": ["a"]}, "successThreshold": 3},
            ),
            [
                f"{K}.startupProbe.exec.command: Required",
                f"{K}.livenessProbe.successThreshold: Invalid",
                f"{K}.startupProbe.exec.command: Required",
                f"{K}.startupProbe.successThreshold: Invalid",
            ],
        ),
        # An invalid port name is not checked for duplicates.
        (
            pod(ports=[{"name": "A", "containerPort": 1}, {"name": "A", "containerPort": 2}]),
            [f"{K}.ports[0].name: Invalid"] * 2 + [f"{K}.ports[1].name: Invalid"] * 2,
        ),
        (pod(envFrom=[{"secretRef": {"name": "a-"}}]), []),
        (
            pod(resources={"requests": {"hugepages-2Mi": "1"}}),
            [
                f"{K}.resources.limits: Required",
                f"{K}.resources.requests[hugepages-2Mi]: Invalid",
                f"{K}.resources: Forbidden",
            ],
        ),
        (
            pod(securityContext={"windowsOptions": {"runAsUserName": ""}}),
            [f"{K}.securityContext.windowsOptions.runAsUserName: Invalid"],
        ),
        (
            pod(securityContext={"windowsOptions": {"runAsUserName": "a?\\.."}}),
            [f"{K}.securityContext.windowsOptions.runAsUserName: Invalid"] * 2,
        ),
        (pod(securityContext={"windowsOptions": {"runAsUserName": "my domain\\me"}}), []),
        # Without a service account there are no tokens.
        (
            in_pod(
                serviceAccountName="",
                volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "p"}}]}}],
            ),
            [f"{V}.projected.sources[0].serviceAccountToken: Forbidden"],
        ),
        (in_pod(dnsPolicy="None", dnsConfig={}), ["spec.dnsConfig.nameservers: Required"]),
    ],
)
def test_pod_rules(obj: Object, expected: list[str]) -> None:
    assert causes("pods", obj) == expected


@pytest.mark.parametrize(
    ("cost", "fine"),
    [
        ("0", True),
        ("-5", True),
        ("-05", True),
        ("2147483647", True),
        ("2147483648", False),
        ("+1", False),
        ("01", False),
        ("²", False),
        ("", False),
        ("1.5", False),
    ],
)
def test_deletion_costs_are_integers(cost: str, fine: bool) -> None:
    annotated = {**pod(), "metadata": {"annotations": {"controller.orch.io/pod-deletion-cost": cost}}}
    assert (causes("pods", annotated) == []) is fine


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{}", "json: cannot unmarshal object into Go value of type []core.Toleration"),
        ("[1]", "json: cannot unmarshal number into Go value of type core.Toleration"),
        ('[{"KEY": 1}]', "json: cannot unmarshal number into Go struct field Toleration.Key of type string"),
    ],
)
def test_tolerations_in_annotations_are_read_as_the_reference_reads_them(text: str, why: str) -> None:
    key = "scheduler.alpha.orch.io/tolerations"
    errors = messages("pods", {**pod(), "metadata": {"annotations": {key: text}}})
    assert errors == [f'metadata.annotations: Invalid | Invalid value: "{key}": {why}']


def test_ephemeral_container_rules() -> None:
    """Ephemeral containers need a name, and must not set some fields of ordinary containers, not even to empty
    values."""
    new = in_pod(ephemeralContainers=[{"image": "i"}, {"name": "d", "image": "i ", "lifecycle": {}, "resources": {}}])
    assert causes("pods", new, in_pod(), "ephemeralcontainers") == [
        "spec.ephemeralContainers[0]: Required",
        "spec.ephemeralContainers[1][0].image: Invalid",
        "spec.ephemeralContainers[1].lifecycle: Forbidden",
    ]


def test_images_are_validated_on_create_and_update() -> None:
    """Images with white space and missing images are rejected in new and updated pods."""
    old = pod(imagePullPolicy="Never")
    assert causes("pods", pod(image=" i", imagePullPolicy="Never"), old) == [f"{K}.image: Invalid"] * 2
    assert causes("pods", pod(image="", imagePullPolicy="Never"), old) == [f"{K}.image: Required"] * 2


def status(**members: Any) -> Object:
    return {**in_pod(), "status": members}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            status(conditions=[{"type": "Ready", "status": "True"}, {"type": "a b", "status": "True"}]),
            ["metadata.conditions[1].Type: Invalid"],
        ),
        (
            status(podIPs=[{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]),
            ["status.podIPs: Invalid", "status.podIPs[1]: Duplicate"],
        ),
        (status(podIPs=[{"ip": "1.1.1.1"}, {"ip": "fd00::1"}]), []),
        (
            status(podIPs=[{"ip": "1.1.1.1"}, {"ip": "x"}]),
            ["status.podIPs[1]: Invalid", "status.podIPs: InternalError", "status.podIPs: Invalid"],
        ),
    ],
)
def test_pod_status_rules(new: Object, expected: list[str]) -> None:
    assert causes("pods", new, in_pod(), "status") == expected


def test_pod_addresses_are_shown_as_structs() -> None:
    errors = messages("pods", status(podIPs=[{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]), in_pod(), "status")
    assert errors[1] == 'status.podIPs[1]: Duplicate | Duplicate value: core.PodIP{IP:"1.1.1.1"}'


# --- volumes and claims -------------------------------------------------------------------------


def volume(annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "metadata": {"annotations": annotations or {}},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec},
    }


CSI = {"driver": "d", "volumeHandle": "h"}
MOUNT = {"volume.beta.orch.io/mount-options": "ro"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (volume(nfs={"server": "s", "path": "/p"}, flexVolume={"driver": "d"}), []),
        (volume(hostPath={"path": "/a"}, cephfs={"monitors": ["m"]}), ["spec.cephFS: Forbidden"]),
        (
            volume(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": ""}),
            ["spec.glusterfs.endpointsNamespace: Invalid"],
        ),
        (
            volume(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": "A"}),
            ["spec.glusterfs.endpointsNamespace: Invalid"],
        ),
        (
            volume(csi={**CSI, "controllerPublishSecretRef": {"name": "a.b"}}),
            ["spec.csi.name: Invalid", "spec.csi.controllerPublishSecretRef.namespace: Required"],
        ),
        (
            volume(csi={**CSI, "nodePublishSecretRef": {"namespace": "n"}}),
            ["spec.csi.nodePublishSecretRef .name: Required"],
        ),
        (volume(csi={**CSI, "nodeStageSecretRef": {}}), []),
        (
            volume(iscsi={**ISCSI, "targetPortal": "p" * 63, "secretRef": {}}),
            ["spec.iscsi.targetportal: Invalid", "spec.iscsi.secretRef.name: Required"],
        ),
        (
            volume(hostPath={"path": "//"}, persistentVolumeReclaimPolicy="Recycle"),
            ["spec.persistentVolumeReclaimPolicy: Forbidden"],
        ),
        (volume(MOUNT, nfs={"server": "s", "path": "/p"}), []),
        (volume(MOUNT, hostPath={"path": "/a"}), ["metadata.annotations.volume.beta.orch.io/mount-options: Forbidden"]),
    ],
)
def test_persistent_volume_rules(obj: Object, expected: list[str]) -> None:
    assert causes("persistentvolumes", obj) == expected


def test_inline_volumes_have_rules_of_their_own() -> None:
    """An attachment with an inline volume may set few of the volume's fields."""
    resource = CATALOG.resource(ORCH("storage.{abbr}.io"), "v1", "volumeattachments")
    assert resource is not None
    inline = {
        "claimRef": {},
        "capacity": {"storage": "1"},
        "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": {},
        "persistentVolumeReclaimPolicy": "Delete",
        "hostPath": {"path": "/a"},
        "storageClassName": "x",
        "volumeMode": "Block",
    }
    obj = {
        "metadata": {"name": "a"},
        "spec": {"attacher": "d", "nodeName": "n", "source": {"inlineVolumeSpec": inline}},
    }
    causes = dispatch.validate_create(shape.canonical(obj, resource.type), resource, SETTINGS)
    at = "spec.source.inlineVolumeSpec"
    expected = [
        f"{at}.{m}"
        for m in (
            "claimRef",
            "capacity",
            "csi",
            "persistentVolumeReclaimPolicy",
            "nodeAffinity",
            "storageClassName",
            "volumeMode",
        )
    ]
    assert [c.field for c in causes if c.field.startswith(at)] == expected


def claim(annotation: str | None = None, phase: str = "Pending", **spec: Any) -> Object:
    annotations = {} if annotation is None else {"volume.beta.orch.io/storage-class": annotation}
    return {
        "metadata": {"annotations": annotations},
        "status": {"phase": phase},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }


LESS = {"requests": {"storage": "500Mi"}}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (claim(volumeName="v"), claim(), []),
        (claim(volumeName="w"), claim(volumeName="v"), ["spec: Forbidden"]),
        (claim("c", storageClassName="c"), claim("c"), []),
        (claim(storageClassName="c"), claim("c"), []),
        (claim("d"), claim("c"), ["metadata.annotations.volume.beta.orch.io/storage-class: Invalid"]),
        (claim(phase="Bound", resources={"requests": {"storage": "2Gi"}}), claim(phase="Bound"), []),
        (claim(resources={"requests": {"storage": "2Gi"}}), claim(), ["spec: Forbidden"]),
        (claim(phase="Bound", resources=LESS), claim(phase="Bound"), ["spec.resources.requests.storage: Forbidden"]),
        (claim(volumeMode="Block"), claim(), ["spec: Forbidden", "volumeMode: Invalid"]),
    ],
)
def test_claim_update_rules(new: Object, old: Object, expected: list[str]) -> None:
    assert causes("persistentvolumeclaims", new, old) == expected


def test_amounts_in_statuses_are_rounded_away_from_zero() -> None:
    new = {**claim(), "status": {"capacity": {"storage": "-1500m"}}}
    assert messages("persistentvolumeclaims", new, claim(), "status") == [
        "status.capacity[storage]: Invalid | Invalid value: -2: must be a valid resource quantity"
    ]


# --- services -----------------------------------------------------------------------------------


def service(annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"annotations": annotations or {}}, "spec": {"ports": [{"port": 80}], **spec}}


LOCAL: Object = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
TWO = [{"name": "a", "port": 1}, {"name": "b", "port": 2, "protocol": "UDP"}]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (service(**LOCAL), ["spec.healthCheckNodePort: Required"]),
        (service(**LOCAL, healthCheckNodePort=70000), ["spec.healthCheckNodePort: Invalid"]),
        (service(externalTrafficPolicy="x"), ["spec.externalTrafficPolicy: Invalid"]),
        (service(healthCheckNodePort=-1), ["spec.healthCheckNodePort: Invalid"]),
        (service(type="LoadBalancer", ports=[{"port": 10250}]), ["spec.ports[0]: Invalid"]),
        (
            service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"], ipFamilies=["IPv5"]),
            ["spec.ipFamilies[0]: NotSupported"],
        ),
        (service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1", "::ffff:10.0.0.2"]), ["spec.clusterIPs: Invalid"]),
        (service(clusterIP="None", clusterIPs=["None", "10.0.0.1"]), ["spec.clusterIPs: Invalid"]),
        (
            service(externalIPs=["::ffff:127.0.0.1", "ff12::1"]),
            ["spec.externalIPs[0]: Invalid", "spec.externalIPs[1]: Invalid"],
        ),
        (
            service({"service.beta.orch.io/load-balancer-source-ranges": "x"}),
            [
                "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]: Forbidden",
                "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]: Invalid",
            ],
        ),
        (service(type="LoadBalancer", ports=TWO), ["spec.ports: Invalid"]),
    ],
)
def test_service_rules(obj: Object, expected: list[str]) -> None:
    assert causes("services", obj) == expected


def addressed(*addresses: str, **spec: Any) -> Object:
    return service(clusterIP=addresses[0], clusterIPs=list(addresses), **spec)


ONE: Object = {"ipFamilies": ["IPv4"]}
BOTH: Object = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (addressed("10.0.0.2", **ONE), addressed("10.0.0.1", **ONE), ["spec.clusterIPs[0]: Invalid"]),
        (addressed("10.0.0.1", "fd00::1", **BOTH), addressed("10.0.0.1", **ONE), []),
        (
            addressed("10.0.0.1", **ONE),
            addressed("10.0.0.1", "fd00::1", **BOTH),
            ["spec.ipFamilyPolicy: Invalid", "spec.ipFamilyPolicy: Invalid"],
        ),
        (addressed("10.0.0.1", **ONE, ipFamilyPolicy="SingleStack"), addressed("10.0.0.1", "fd00::1", **BOTH), []),
        (service(**ONE), addressed("10.0.0.1", **ONE), ["spec.clusterIPs[0]: Invalid"]),
        (addressed("None", **ONE), addressed("None", ipFamilies=["IPv6"]), []),
        (
            service(type="LoadBalancer", loadBalancerClass="a b"),
            service(type="LoadBalancer", loadBalancerClass="a b"),
            ["spec.loadBalancerClass: Invalid"] * 2,
        ),
        (
            service(type="LoadBalancer", loadBalancerClass="b"),
            service(type="LoadBalancer", loadBalancerClass="a"),
            ["spec.loadBalancerClass: Invalid"],
        ),
        (
            service(**LOCAL, healthCheckNodePort=2),
            service(**LOCAL, healthCheckNodePort=1),
            ["spec.healthCheckNodePort: Forbidden"],
        ),
        (service(type="LoadBalancer", ports=TWO), service(), ["spec.ports: Invalid"]),
        (service(type="LoadBalancer", ports=TWO), service(type="LoadBalancer", ports=TWO), []),
    ],
)
def test_service_update_rules(new: Object, old: Object, expected: list[str]) -> None:
    assert causes("services", new, old) == expected


# --- nodes, quotas, limits ----------------------------------------------------------------------


def node(annotations: dict[str, Any] | None = None, **spec: Any) -> Object:
    texts = {
        f"scheduler.alpha.orch.io/{k}": v if isinstance(v, str) else json.dumps(v)
        for k, v in (annotations or {}).items()
    }
    return {"metadata": {"annotations": texts}, "spec": spec}


A = "metadata.annotations.scheduler.alpha.orch.io"
FIXED = "spec.podCIDRs: Forbidden"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (node({"taints": [{"Key": "a", "Effect": "x"}]}), [f"{A}/taints[0].effect: NotSupported"]),
        (node({"taints": "x"}), ["metadata.annotations: Invalid"]),
        (node({"preferAvoidPods": {"preferAvoidPods": [{}]}}), [f"{A}/preferAvoidPods[0].PodSignature: Required"]),
        (
            node(
                {"preferAvoidPods": {"preferAvoidPods": [{"podSignature": {"podController": {"controller": False}}}]}}
            ),
            [f"{A}/preferAvoidPods[0].PodSignature.PodController.Controller: Invalid"],
        ),
        (node({"preferAvoidPods": [1]}), ["metadata.annotations.AvoidPods: Invalid"]),
        (
            node(podCIDRs=["10.0.0.0/24", "x"]),
            ["spec.podCIDRs[1]: Invalid", "spec.podCIDRs: InternalError", "spec.podCIDRs: Invalid"],
        ),
    ],
)
def test_node_rules(obj: Object, expected: list[str]) -> None:
    assert causes("nodes", obj) == expected


@pytest.mark.parametrize(
    ("new", "expected"),
    [(["10.0.0.0/24", "fd00::/64"], []), (["10.1.0.0/24", "fd01::/64"], [FIXED] * 2), (["10.0.0.0/24"], [FIXED])],
)
def test_pod_cidrs_of_a_node_are_immutable(new: list[str], expected: list[str]) -> None:
    """If two CIDRs differ both are reported; if their number differs there is one error."""
    assert causes("nodes", node(podCIDRs=new), node(podCIDRs=["10.0.0.0/24", "fd00::/64"])) == expected


def test_limits_that_must_be_equal_blame_the_request() -> None:
    limit = {"type": "Container", "default": {"example.com/x": "2"}, "defaultRequest": {"example.com/x": "1"}}
    errors = messages("limitranges", {"spec": {"limits": [limit]}})
    assert [line.partition(": resource")[0] for line in errors] == [
        "spec.limits[0].defaultRequest[example.com/x]: Invalid | Invalid value"
    ]


def test_quota_scopes_are_compared_as_sets() -> None:
    new, old = ({"spec": {"scopes": s}} for s in (["Terminating", "Terminating"], ["Terminating"]))
    assert causes("resourcequotas", new, old) == []


def test_quota_selectors_are_shown_as_structs() -> None:
    selector = {
        "matchExpressions": [
            {"scopeName": "BestEffort", "operator": "Exists"},
            {"scopeName": "NotBestEffort", "operator": "Exists"},
        ]
    }
    errors = messages("resourcequotas", {"spec": {"hard": {"cpu": "1"}, "scopeSelector": selector}})
    at, listed = "spec.scopeSelector.matchExpressions", "core.ScopedResourceSelectorRequirement"
    exists = 'Operator:"Exists", Values:[]string(nil)}'
    assert errors == [
        f"{at}: Invalid | Invalid value: core.ScopeSelector{{MatchExpressions:[]{listed}{{"
        f'{listed}{{ScopeName:"BestEffort", {exists}, {listed}{{ScopeName:"NotBestEffort", {exists}}}}}: '
        "unsupported scope applied to resource",
        f"{at}: Invalid | Invalid value: []core.ResourceQuotaScope(nil): conflicting scopes",
    ]


@pytest.mark.parametrize(("text", "short", "shown"), [
    ("500m", False, "500, scale:-3"), ("500m", True, "5, scale:-1"), ("2", True, "2, scale:0"), ("1k", False, "1000, scale:0"),
    ("2M", False, "2, scale:6"), ("1e3", False, "1, scale:3"), ("2Gi", False, "2147483648, scale:0"), ("-1", False, "-1, scale:0"),
])  # fmt: skip
def test_quantities_are_shown_as_structs(text: str, short: bool, shown: str) -> None:
    """The Go value of a canonical quantity is not known; the more likely one is printed."""
    assert f"int64Amount{{value:{shown}}}" in go_quantity(text, short=short)
