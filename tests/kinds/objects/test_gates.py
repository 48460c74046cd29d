"""Fields of feature gates."""

from __future__ import annotations

from typing import Any

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.feature_gates import drop_disabled, drop_job_tracking
from orchd.kinds.objects.settings import ObjectSettings

CATALOG = builtin_catalog(ORCH)
SETTINGS = ObjectSettings(dialect=ORCH)


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
    assert dropped("core/v1.Pod", {"spec": spec}) == {"spec": {"containers": [{"securityContext": {"procMount": "Default"}}]}}
    claim = {"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    assert dropped("core/v1.PersistentVolumeClaim", claim) is claim
    other = {"spec": {"dataSource": {"apiGroup": "x.example.com", "kind": "X", "name": "a"}}}
    assert dropped("core/v1.PersistentVolumeClaim", other) == {"spec": {}}


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
    assert drop_job_tracking(job, SETTINGS) == {"metadata": {"name": "j"}}
