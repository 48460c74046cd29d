"""Rules of validation that depend on feature gates."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch

CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
Object = dict[str, Any]
CONTAINER = {
    "name": "c", "image": "i", "terminationMessagePolicy": "File", "imagePullPolicy": "Always", "resources": {},
}  # fmt: skip
POD_SPEC: Object = {
    "containers": [CONTAINER], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 1,
}  # fmt: skip
CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
COST = ORCH("controller.{long}.io/pod-deletion-cost")


def errors_of(path: str, obj: Object, old: Object | None = None, sub: str = "", /, **features: bool) -> list[str]:
    group, version, plural = ORCH(path).split("/")
    resource = CATALOG.resource(group, version, plural)
    assert resource is not None
    settings = ObjectSettings(dialect=ORCH, features=features)
    head = {"name": "a", "resourceVersion": "1", **({"namespace": "b"} if resource.namespaced else {})}
    new = {**obj, "apiVersion": resource.api_version, "metadata": {**head, **obj.get("metadata", {})}}
    if old is None:
        causes = dispatch.validate_create(new, resource, settings)
    else:
        before = {**old, "metadata": {**head, **old.get("metadata", {})}}
        causes = dispatch.validate_update(new, before, resource, settings, subresource=sub)
    return [f"{cause.field}: {cause.message.partition(chr(10))[0]}" for cause in causes]


def pod(spec: Object | None = None, **container: Any) -> Object:
    return {"spec": {**POD_SPEC, "containers": [{**CONTAINER, **container}], **(spec or {})}}


def stateful(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
    return {"spec": {
        "podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}, "replicas": 1, "serviceName": "s",
        "selector": {"matchLabels": {"a": "b"}}, "template": template, **spec,
    }}  # fmt: skip


def daemons(**rolling: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, "updateStrategy": strategy}}


HUGE = [{"name": "x", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "0"}}}]
DRIVER = {"spec": {"attachRequired": True, "podInfoOnMount": True}}
ATTACHMENT = {"spec": {"attacher": "a", "nodeName": "n", "source": {}}}
QUOTA = {"spec": {"hard": {"pods": "1"}, "scopes": ["CrossNamespacePodAffinity"]}}


@pytest.mark.parametrize(
    ("path", "obj", "gate", "off", "on"),
    [
        ("/v1/pods", {**pod(), "metadata": {"annotations": {COST: "x"}}}, "PodDeletionCost", "",
         f'metadata.annotations[{COST}]: Invalid value: "x": must be a 32bit integer'),
        ("/v1/pods", pod(env=HUGE), "DownwardAPIHugePages",
         "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value", ""),
        ("/v1/pods", pod({"os": {"name": "linux"}}), "IdentifyPodOS",
         "spec.os: Forbidden: cannot be set when IdentifyPodOS feature is not enabled", ""),
        ("/v1/pods", pod({"os": {"name": "dos"}}), "IdentifyPodOS", "spec.os: Forbidden",
         'spec.os: Unsupported value: "dos": supported values: "linux", "windows"'),
        ("/v1/pods", pod({"os": {"name": "linux"}}, securityContext={"windowsOptions": {}}), "IdentifyPodOS", "spec.os: Forbidden",
         "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"),
        ("/v1/pods", pod({"os": {"name": "windows"}, "hostPID": True, "securityContext": {}}), "IdentifyPodOS",
         "spec.os: Forbidden", "spec.hostPID: Forbidden: cannot be set for a windows pod"),
        ("/v1/pods", pod({"os": {"name": "windows"}}, securityContext={"runAsUser": 1}), "IdentifyPodOS", "spec.os: Forbidden",
         "spec.containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod"),
        ("apps/v1/statefulsets", stateful(minReadySeconds=-1), "StatefulSetMinReadySeconds", "",
         "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"),
        ("apps/v1/daemonsets", daemons(maxUnavailable=0, maxSurge=1), "DaemonSetUpdateSurge",
         "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}: cannot be 0",
         ""),
        ("storage.{abbr}.io/v1/csidrivers", DRIVER, "CSIStorageCapacity", "", "spec.storageCapacity: Required value"),
        ("storage.{abbr}.io/v1/volumeattachments", ATTACHMENT, "CSIMigration",
         "spec.source: Required value: must specify persistentVolumeName when CSIMigration feature is disabled",
         "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
        ("/v1/resourcequotas", QUOTA, "PodAffinityNamespaceSelector", "spec.scopes: Invalid value", ""),
    ],
)  # fmt: skip
def test_creation(path: str, obj: Object, gate: str, off: str, on: str) -> None:
    """The first error of a new object with the gate off and on; "" for none."""
    for value, expected in ((False, off), (True, on)):
        errors = errors_of(path, obj, **{gate: value})
        assert errors[0].startswith(expected) if expected else errors == [], (gate, value, errors)


@pytest.mark.parametrize(
    ("requested", "capacity", "features", "expected"),
    [
        ("3Gi", "2Gi", {}, ""),
        ("3Gi", "2Gi", {"ExpandPersistentVolumes": False}, "spec: Forbidden: field is immutable after creation"),
        ("1Gi", "512Mi", {}, "spec.resources.requests.storage: Forbidden: field can not be less than previous value"),
        ("1Gi", "512Mi", {"RecoverVolumeExpansionFailure": True}, ""),
        ("1Gi", "1Gi", {"RecoverVolumeExpansionFailure": True},
         "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"),
    ],
)  # fmt: skip
def test_size_of_bound_claims(requested: str, capacity: str, features: dict[str, bool], expected: str) -> None:
    """A bound claim may grow, and behind a gate shrink to above its capacity."""
    status = {"phase": "Bound", "capacity": {"storage": capacity}}
    new = {"spec": {**CLAIM, "resources": {"requests": {"storage": requested}}}, "status": status}
    errors = errors_of("/v1/persistentvolumeclaims", new, {"spec": CLAIM, "status": status}, **features)
    assert (errors[0] if errors else "") == expected


def test_expansion_in_the_status_of_claims() -> None:
    """The members of a failed expansion are checked with their gate on."""
    old = {"spec": CLAIM, "status": {}}
    new = {**old, "status": {"resizeStatus": "Odd", "allocatedResources": {"cpu": "1", "storage": "-1"}}}
    assert errors_of("/v1/persistentvolumeclaims", new, old, "status") == []
    assert errors_of("/v1/persistentvolumeclaims", new, old, "status", RecoverVolumeExpansionFailure=True) == [
        'status.resizeStatus: Unsupported value: "Odd": supported values: "", "ControllerExpansionFailed", '
        '"ControllerExpansionInProgress", "NodeExpansionFailed", "NodeExpansionInProgress", "NodeExpansionPending"',
        'status.allocatedResources: Unsupported value: cpu: supported values: "storage"',
        "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
    ]


def test_changes_of_stateful_sets() -> None:
    """minReadySeconds may change with its gate on, and the message says what may."""
    for on, words in (
        (True, "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are"),
        (False, "'updateStrategy' and 'persist"),
    ):
        errors = errors_of("apps/v1/statefulsets", stateful(serviceName="x"), stateful(), StatefulSetMinReadySeconds=on)
        assert words in errors[0]
    changed = errors_of(
        "apps/v1/statefulsets", stateful(minReadySeconds=5), stateful(), StatefulSetMinReadySeconds=True
    )
    assert changed == []
    assert errors_of("apps/v1/statefulsets", stateful(minReadySeconds=5), stateful(), StatefulSetMinReadySeconds=False)
