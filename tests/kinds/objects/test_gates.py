"""Fields of feature gates."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gates import ALPHA, BETA, Gate
from orchd.kinds.objects.feature_gates import drop_disabled, drop_disabled_status, for_update
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import Release

CATALOG = builtin_catalog(ORCH)


def dropped(type: str, obj: Any, old: Any = None, **features: bool) -> Any:
    return drop_disabled(obj, old, CATALOG.type(type), ObjectSettings(dialect=ORCH, features=features))


def test_fields_of_disabled_features_are_dropped() -> None:
    """Fields of features that are off by default are dropped: the pod's OS, a probe's grace period, retention policies,
    hints."""
    probe = {"grpc": {"port": 1}, "terminationGracePeriodSeconds": 5}
    pod = {"spec": {"os": {"name": "linux"}, "containers": [{"name": "c", "livenessProbe": probe}]}}
    expected = {"spec": {"containers": [{"name": "c", "livenessProbe": {"grpc": {"port": 1}}}]}}
    assert dropped("core/v1.Pod", pod) == expected
    assert dropped("core/v1.Pod", expected) is expected


def test_stored_fields_of_disabled_features_are_kept() -> None:
    """A field that the stored object has is kept on update; with the gate on all fields are kept."""
    pod = {"spec": {"os": {"name": "linux"}}}
    assert dropped("core/v1.Pod", pod, old={"spec": {"os": {"name": "windows"}}}) is pod
    assert dropped("core/v1.Pod", pod, old={"spec": {}}) == {"spec": {}}
    assert dropped("core/v1.Pod", pod, IdentifyPodOS=True) is pod


def test_disabled_values_are_replaced() -> None:
    """procMount falls back to its default; a claim's data source is dropped unless it is a claim or a snapshot."""
    spec = {"containers": [{"securityContext": {"procMount": "Unmasked"}}]}
    assert dropped("core/v1.Pod", {"spec": spec}) == {
        "spec": {"containers": [{"securityContext": {"procMount": "Default"}}]}
    }
    claim = {"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    assert dropped("core/v1.PersistentVolumeClaim", claim) is claim
    reference = {"spec": {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    assert dropped("core/v1.PersistentVolumeClaim", reference) == {"spec": {}}


def test_fields_of_a_feature_turned_off_are_dropped() -> None:
    """Fields of features that are on by default are dropped when their gate is off."""
    service = {"spec": {"internalTrafficPolicy": "Local", "type": "ClusterIP"}}
    assert dropped("core/v1.Service", service) is service
    assert dropped("core/v1.Service", service, ServiceInternalTrafficPolicy=False) == {"spec": {"type": "ClusterIP"}}


def test_gated_fields_of_other_groups() -> None:
    """Signing requests, runtime classes, priority classes and security policies have gated fields, too."""
    for type, obj, gate in (
        ("certificates/v1.CertificateSigningRequest", {"spec": {"expirationSeconds": 600}}, "CSRDuration"),
        ("node/v1.RuntimeClass", {"overhead": {"podFixed": {"cpu": "1"}}}, "PodOverhead"),
        ("scheduling/v1.PriorityClass", {"preemptionPolicy": "Never"}, "NonPreemptingPriority"),
    ):
        assert dropped(type, obj) is obj
        assert dropped(type, obj, **{gate: False}) in ({}, {"spec": {}})
    policy = {"spec": {"allowedProcMountTypes": ["Default"]}}
    assert dropped("policy/v1beta1.PodSecurityPolicy", policy)["spec"].get("allowedProcMountTypes") is None


def test_job_tracking_annotation_is_dropped_while_disabled() -> None:
    """Clients cannot request tracking with finalizers while the gate is off."""
    job = {"metadata": {"name": "j", "annotations": {ORCH("batch.{long}.io/job-tracking"): ""}}}
    assert dropped("batch/v1.Job", job) == {"metadata": {"name": "j"}}
    assert dropped("batch/v1.Job", job, old=job) is job
    assert dropped("batch/v1.Job", job, JobTrackingWithFinalizers=True) is job


def test_updates_keep_drop_or_restore_fields() -> None:
    """A field is kept on updates where its row says so, dropped always where it says so, and the suspension of a job
    stays as it is stored unless the job is suspended."""
    runtime_class = {"overhead": {"podFixed": {"cpu": "1"}}}
    assert dropped("node/v1.RuntimeClass", runtime_class, PodOverhead=False) == {}
    assert dropped("node/v1.RuntimeClass", runtime_class, old={}, PodOverhead=False) == runtime_class
    policy = {"spec": {"allowedCSIDrivers": [{"name": "a"}]}}
    assert dropped("policy/v1beta1.PodSecurityPolicy", policy, old=policy, CSIInlineVolume=False) == {"spec": {}}
    for stored, given, expected in ((None, True, None), (False, True, False), (True, False, False), (True, None, None)):
        old, new = ({"spec": {"suspend": each} if each is not None else {}} for each in (stored, given))
        found = dropped("batch/v1.Job", new, old=old, SuspendJob=False)
        assert found["spec"].get("suspend") == expected, (stored, given)


def test_annotations_of_a_disabled_feature_are_dropped() -> None:
    """AppArmor annotations are dropped from pods and templates; others stay, and so do all if the stored pod has
    one."""
    key = ORCH("container.apparmor.security.beta.{long}.io/c")
    pod = {"metadata": {"name": "p", "annotations": {key: "runtime/default", "a": "b"}}}
    assert dropped("core/v1.Pod", pod, AppArmor=False) == {"metadata": {"name": "p", "annotations": {"a": "b"}}}
    assert dropped("core/v1.Pod", pod, old=pod, AppArmor=False) is pod
    template = {"template": {"metadata": {"annotations": {key: ""}}}}
    assert dropped("core/v1.PodTemplate", template, AppArmor=False) == {"template": {"metadata": {}}}


def test_fields_of_whole_objects_are_dropped_from_them_alone() -> None:
    """dataSourceRef is dropped from claims, and kept in the claim templates of a stateful set."""
    claim = {"spec": {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    stateful = {"spec": {"volumeClaimTemplates": [claim]}}
    assert dropped("core/v1.PersistentVolumeClaim", claim, old=claim) == {"spec": {}}
    assert dropped("apps/v1.StatefulSet", stateful) is stateful


def test_uses_of_one_gate_may_be_apart() -> None:
    """A stored resize status keeps the field, not the allocated resources."""
    type_ = CATALOG.type("core/v1.PersistentVolumeClaimStatus")
    status = {"resizeStatus": "", "allocatedResources": {"storage": "1"}}
    settings = ObjectSettings(dialect=ORCH)
    assert drop_disabled_status(status, {"resizeStatus": ""}, type_, settings) == {"resizeStatus": ""}
    assert drop_disabled_status(status, None, type_, settings) == {}


def test_validation_of_updates_tolerates_what_is_stored() -> None:
    """A feature that is off counts as on for the validation of an update if the stored object uses it."""
    settings = ObjectSettings(dialect=ORCH, features={"DownwardAPIHugePages": False})
    field = {"resourceFieldRef": {"resource": "limits.hugepages-2Mi"}}
    old = {"spec": {"containers": [{"env": [{"name": "x", "valueFrom": field}]}]}}
    type_ = CATALOG.type("core/v1.Pod")
    assert for_update(settings, old, type_).feature("DownwardAPIHugePages")
    assert for_update(settings, {"spec": {}}, type_) is settings
    quota = {"spec": {"scopes": ["CrossNamespacePodAffinity"]}}
    off = ObjectSettings(dialect=ORCH, features={"PodAffinityNamespaceSelector": False})
    assert for_update(off, quota, CATALOG.type("core/v1.ResourceQuota")).feature("PodAffinityNamespaceSelector")


def test_each_release_has_its_stage_of_a_gate() -> None:
    """A gate has the stage that began last, and none before the first or after the end."""
    gate = Gate(name="G", stages=(("1.23", ALPHA), ("1.27", BETA), ("1.30", None)), component="server", effect="")
    releases = [Release(minor, 0) for minor in (22, 23, 26, 27, 29, 30, 35)]
    assert [gate.stage(each) for each in releases] == [None, ALPHA, ALPHA, BETA, BETA, None, None]
    assert [gate.default(each) for each in releases] == [False, False, False, True, True, True, True]
    with pytest.raises(KeyError):
        ObjectSettings(dialect=ORCH).feature("NoSuchGate")
