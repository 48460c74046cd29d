"""Values that few clients send, and that release 1.35 refuses or accepts as the reference does."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.dialect import ORCH
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.quantities import is_integer
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.pki.certificates import self_signed
from tests.kinds.objects.validate.test_later_rules import container, resource, workload

Object = dict[str, Any]
SETTINGS = ObjectSettings(dialect=ORCH, release=NEWEST)
SIGNED = self_signed("a", names=(), now=datetime(2026, 1, 1, tzinfo=UTC)).certificate
CERTIFICATE = base64.b64encode(SIGNED.public_bytes(Encoding.DER)).decode()


@pytest.mark.parametrize(
    ("amount", "whole"),
    [("5", True), ("1.5", False), ("1" * 15, True), ("9" * 22, False), ("12345678901234567", False), ("1E", True)],
)
def test_amounts_of_many_digits(amount: str, whole: bool) -> None:
    """The low 64 bits of the thousandths decide."""
    assert is_integer(amount) is whole


def causes_of_pods(spec: Object) -> list[str]:
    of = resource(NEWEST, "apps", "v1", "daemonsets")
    return [cause.field for cause in dispatch.validate_create(workload(**spec), of, SETTINGS)]


def test_rules_of_init_containers_need_a_policy() -> None:
    """Without a restart policy the rules of an init container are not examined."""
    init = container(name="i", restartPolicyRules=[{"action": "x"}])
    fields = causes_of_pods({"initContainers": [init]})
    at = "spec.template.spec.initContainers[0]."
    assert f"{at}restartPolicy" in fields and f"{at}restartPolicyRules[0].action" not in fields
    fields = causes_of_pods({"initContainers": [{**init, "restartPolicy": "Never"}]})
    assert f"{at}restartPolicyRules[0].action" in fields


@pytest.mark.parametrize(
    ("metadata", "spec", "field"),
    [
        ({"deletionGracePeriodSeconds": 0}, {}, "metadata.deletionGracePeriodSeconds"),
        ({}, {"dataSourceRef": {"kind": "A", "apiGroup": "a.b", "name": "n", "namespace": "A"}}, "spec.dataSourceRef.namespace"),
    ],
)  # fmt: skip
def test_templates_of_claims(metadata: Object, spec: Object, field: str) -> None:
    """Metadata that templates do not have, and namespaces of sources, which are names of namespaces."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": metadata, "spec": claim}}}
    at = "spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate."
    assert at + field in causes_of_pods({"volumes": [volume]})


def test_status_of_replica_sets() -> None:
    value = {**workload(), "status": {"replicas": 0, "terminatingReplicas": -1}}
    of = resource(NEWEST, "apps", "v1", "replicasets")
    causes = dispatch.validate_update(value, workload(), of, SETTINGS, subresource="status")
    assert "status.terminatingReplicas" in [cause.field for cause in causes]


def _block(content: str, label: str = "CERTIFICATE") -> str:
    return f"-----BEGIN {label}-----\n{content}\n-----END {label}-----\n"


NO_BLOCK = "must contain at least one CERTIFICATE PEM block"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", NO_BLOCK),
        ("no block\n", NO_BLOCK),
        (_block("MII"), NO_BLOCK),
        (_block("MII", "KEY"), NO_BLOCK),
        (_block("MIIB"), "x509: malformed certificate"),
        (_block("MIIB", "KEY"), 'only CERTIFICATE PEM blocks are allowed, found "KEY"'),
        (_block("a: b\n\nMIIB"), "no PEM block headers are permitted"),
        (_block("a: b\n\nMIIB", "KEY"), 'only CERTIFICATE PEM blocks are allowed, found "KEY"'),
        (_block(CERTIFICATE), ""),
        (_block("MII") + _block(CERTIFICATE), ""),
        (_block(CERTIFICATE) * 2, ""),
        (_block(CERTIFICATE) + _block("MIIB"), "x509: malformed certificate"),
    ],
)
def test_signed_certificates(text: str, problem: str) -> None:
    """Blocks of PEM, all of them certificates; those that are not base64 are skipped, as by readers of PEM."""
    old = {"metadata": {"name": "a"}, "spec": {"signerName": "a.b/c", "usages": ["digital signature"]}, "status": {}}
    value = {**old, "status": {"certificate": base64.b64encode(text.encode()).decode()}}
    of = resource(NEWEST, "certificates.{abbr}.io", "v1", "certificatesigningrequests")
    causes = dispatch.validate_update(value, old, of, SETTINGS, subresource="status")
    messages = [cause.message for cause in causes if cause.field == "status.certificate"]
    assert messages == ([f'Invalid value: "<certificate data>": {problem}'] if problem and text else [])


@pytest.mark.parametrize(
    ("release", "kind", "entry", "mode"),
    [
        (NEWEST, "LoadBalancer", {"ip": "1.2.3.4"}, "VIP"),
        (NEWEST, "LoadBalancer", {"ip": "1.2.3.4", "ipMode": "Proxy"}, "Proxy"),
        (NEWEST, "LoadBalancer", {"hostname": "a.b"}, None),
        (NEWEST, "ClusterIP", {"ip": "1.2.3.4"}, None),
        (SPECIFICATION, "LoadBalancer", {"ip": "1.2.3.4"}, None),
    ],
)
def test_modes_of_balanced_addresses(release: Release, kind: str, entry: Object, mode: str | None) -> None:
    """An address of a load balancer is virtual unless it says otherwise, since release 1.30."""
    of = resource(release, "", "v1", "services")
    service = {"spec": {"type": kind, "ports": []}, "status": {"loadBalancer": {"ingress": [entry]}, "conditions": []}}
    status = default.apply(service, of, ObjectSettings(dialect=ORCH, release=release))["status"]
    assert [each.get("ipMode") for each in status["loadBalancer"]["ingress"]] == [mode]
    assert status["conditions"] == []


@pytest.mark.parametrize(("release", "told"), [(NEWEST, True), (SPECIFICATION, False)])
def test_mirror_pods_get_no_ephemeral_containers(release: Release, told: bool) -> None:
    """Since release 1.26 they are refused for that alone, whatever else is wrong."""
    of = resource(release, "", "v1", "pods")
    settings = ObjectSettings(dialect=ORCH, release=release)
    old: Object = {"metadata": {"name": "a", "annotations": {ORCH("{long}.io/config.mirror"): "x"}}, "spec": {}}
    new = {**old, "spec": {"ephemeralContainers": [{"name": "d"}]}}
    causes = dispatch.validate_update(new, old, of, settings, subresource="ephemeralcontainers")
    messages = [cause.message for cause in causes]
    assert (messages == ["Forbidden: static pods do not support ephemeral containers"]) is told and messages


def test_mounts_are_read_only_throughout_only_if_they_are_read_only() -> None:
    """The field and the reason of a recursively read-only mount that is writable."""
    mount = {"name": "v", "mountPath": "/v", "recursiveReadOnly": "Enabled"}
    spec = workload(containers=[container(volumeMounts=[mount])], volumes=[{"name": "v", "emptyDir": {}}])
    causes = dispatch.validate_create(spec, resource(NEWEST, "apps", "v1", "daemonsets"), SETTINGS)
    at = "spec.template.spec.containers[0].volumeMounts.recursiveReadOnly"
    assert [(c.field, c.message) for c in causes] == [(at, "Forbidden: may only be specified when readOnly is true")]


@pytest.mark.parametrize(("claims", "count"), [([], 0), ([{"name": "r", "resourceClaimName": "c"}], 1)])
@pytest.mark.parametrize("mirrors", [True, False])
def test_mirror_pods_claim_no_devices(claims: list[Object], count: int, mirrors: bool) -> None:
    """Each claim of a static pod is an error; other pods may have them."""
    annotations = {ORCH("{long}.io/config.mirror"): "x"} if mirrors else {}
    spec = {**workload(resourceClaims=claims)["spec"]["template"]["spec"], "nodeName": "n"}
    value = {"metadata": {"name": "a", "namespace": "b", "annotations": annotations}, "spec": spec}
    causes = dispatch.validate_create(value, resource(NEWEST, "", "v1", "pods"), SETTINGS)
    why = "Forbidden: static pods do not support resource claims"
    assert [cause.message for cause in causes].count(why) == (count if mirrors else 0)


@pytest.mark.parametrize(
    ("old", "new", "changes"), [({}, {"value": 0}, False), ({"value": 0}, {}, False), ({}, {"value": 1}, True), ({"value": 5}, {}, True)]
)  # fmt: skip
def test_values_of_priority_classes_stay(old: Object, new: Object, changes: bool) -> None:
    """No value is 0."""
    before, after = ({"metadata": {"name": "a"}, **each} for each in (old, new))
    of = resource(NEWEST, "scheduling.{abbr}.io", "v1", "priorityclasses")
    causes = dispatch.validate_update(after, before, of, SETTINGS)
    assert any("value" in cause.field for cause in causes) is changes


@pytest.mark.parametrize("number", [1.5, -0.25, 2.0**63, -1e20, 1e22, 1.5e300])
def test_numbers_that_are_no_integers(number: float) -> None:
    """A number with a fraction, or too large to be written as an integer, stays as it is; others are integers."""
    of = resource(NEWEST, "apiextensions.{abbr}.io", "v1", "customresourcedefinitions")

    def read(value: float) -> Any:
        schema = {"openAPIV3Schema": {"maximum": value}}
        obj = shape.canonical({"spec": {"versions": [{"name": "v", "schema": schema}]}}, of.type)
        return obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["maximum"]

    assert read(number) == number and isinstance(read(number), float)
    for whole in (2.0, float(2**62), -float(2**62)):
        assert read(whole) == whole and isinstance(read(whole), int)


@pytest.mark.parametrize("bound", [1e20, -1e20, 1e300])
def test_schemas_have_bounds_of_any_size(bound: float) -> None:
    """A definition whose schema has a bound beyond 64 bits is valid."""
    schema = {"type": "object", "properties": {"a": {"type": "number", "maximum": bound}}}
    value = {
        "metadata": {"name": "as.b.c"},
        "spec": {
            "group": "b.c", "scope": "Namespaced", "names": {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
        "status": {"storedVersions": ["v1"]},
    }  # fmt: skip
    of = resource(NEWEST, "apiextensions.{abbr}.io", "v1", "customresourcedefinitions")
    shaped = default.apply(shape.canonical(value, of.type), of, SETTINGS)
    assert dispatch.validate_create(shaped, of, SETTINGS) == []


@pytest.mark.parametrize(
    ("source", "reference", "why"),
    [
        ({}, {}, ""),
        ({}, {"namespace": ""}, ""),
        ({}, {"namespace": "n"}, "may not be specified when dataSourceRef.namespace is specified"),
        ({}, {"name": "y"}, "must match dataSourceRef"),
        ({"apiGroup": ""}, {}, "must match dataSourceRef"),
    ],
)
def test_both_sources_of_a_claim_are_the_same(source: Object, reference: Object, why: str) -> None:
    """An empty group is another one than none; a reference to another namespace goes alone."""
    claim = {"kind": "PersistentVolumeClaim", "name": "x"}
    sources = {"dataSource": {**claim, **source}, "dataSourceRef": {**claim, **reference}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **sources}
    for release, value in ((NEWEST, "{}"), (SPECIFICATION, '"spec.dataSource"')):
        of = resource(release, "", "v1", "persistentvolumeclaims")
        settings = ObjectSettings(dialect=ORCH, release=release)
        causes = dispatch.validate_create({"metadata": {"name": "c", "namespace": "n"}, "spec": spec}, of, settings)
        assert [(cause.field, cause.message) for cause in causes] == (
            [("spec", f"Invalid value: {value}: {why}")] if why else []
        )


def event(**members: Any) -> Object:
    """An event of events/v1."""
    head = {"name": "e", "namespace": "b", "resourceVersion": "1"}
    reporter = {"reportingController": "a.b/c", "reportingInstance": "i", "action": "a", "reason": "r"}
    time = {"type": "Normal", "eventTime": "2026-01-01T00:00:00.000000Z"}
    return {"metadata": head, "regarding": {"namespace": "b"}, **reporter, **time, **members}


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({}, []),
        ({"metadata": {"name": "A b", "namespace": "b"}}, ["metadata.name"]),
        ({"regarding": {}}, ["involvedObject.namespace"]),
        ({"regarding": {}, "metadata": {"name": "e", "namespace": "default"}}, []),
        ({"regarding": {}, "metadata": {"name": "e", "namespace": "orch-system"}}, []),
        ({"series": {"count": 1, "lastObservedTime": "x"}}, ["series.count"]),
        ({"series": {"count": 2}}, ["series.lastObservedTime"]),
    ],
)
def test_events(members: Object, fields: list[str]) -> None:
    """The namespace of an event is that of its object; objects without one have events in two namespaces."""
    of = resource(NEWEST, "events.{abbr}.io", "v1", "events")
    assert [cause.field for cause in dispatch.validate_create(event(**members), of, SETTINGS)] == fields


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({}, []),
        ({"metadata": {**event()["metadata"], "uid": "2"}}, ["metadata.uid"] * 2),
        ({"action": "b"}, ["action"]),
        ({"series": {"count": 2, "lastObservedTime": "x"}}, []),
        ({"series": {"count": 1, "lastObservedTime": "x"}}, ["series.count"]),
    ],
)
def test_only_the_series_of_an_event_changes(members: Object, fields: list[str]) -> None:
    of = resource(NEWEST, "events.{abbr}.io", "v1", "events")
    assert [cause.field for cause in dispatch.validate_update(event(**members), event(), of, SETTINGS)] == fields


MALFORMED = "a/b/c"


@pytest.mark.parametrize(
    ("target", "described", "before", "fields"),
    [
        ("apps/v1", "v1", None, []),
        (MALFORMED, MALFORMED, None, ["spec.scaleTargetRef", "spec.metrics[0].object.describedObject"]),
        ("v1", "v1", None, ["spec.scaleTargetRef"]),
        # What is stored stays valid: the target itself, and all objects if one of them is malformed.
        (MALFORMED, MALFORMED, (MALFORMED, MALFORMED), []),
        ("v1", "v1", ("v1", "v1"), []),
        ("v1", "v1", ("apps/v1", "v1"), ["spec.scaleTargetRef"]),
        (MALFORMED, "x/y/z", ("v1", MALFORMED), ["spec.scaleTargetRef"]),
        ("apps/v1", MALFORMED, ("apps/v1", "v1"), ["spec.metrics[0].object.describedObject"]),
    ],
)
def test_versions_of_what_autoscalers_name(
    target: str, described: str, before: tuple[str, str] | None, fields: list[str]
) -> None:
    """Since release 1.34 the target is of a named group, and versions are well-formed."""

    def scaler(target: str, described: str) -> Object:
        reference = {"kind": "Deployment", "name": "d"}
        source = {"describedObject": {**reference, "apiVersion": described}, "metric": {"name": "m"}}
        metric = {"type": "Object", "object": {**source, "target": {"type": "Value", "value": "1"}}}
        spec = {"maxReplicas": 1, "scaleTargetRef": {**reference, "apiVersion": target}, "metrics": [metric]}
        head = {"name": "a", "namespace": "b", "resourceVersion": "1"}
        return {"apiVersion": "autoscaling/v2", "metadata": head, "spec": spec}

    for release in (NEWEST, SPECIFICATION):
        of = resource(release, "autoscaling", "v2", "horizontalpodautoscalers")
        settings = ObjectSettings(dialect=ORCH, release=release)
        if before is None:
            causes = dispatch.validate_create(scaler(target, described), of, settings)
        else:
            causes = dispatch.validate_update(scaler(target, described), scaler(*before), of, settings)
        expected = [f"{field}.apiVersion" for field in fields] if release is NEWEST else []
        assert [cause.field for cause in causes] == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (str(2**63 - 1), ""),
        (str(-(2**63)), ""),
        ("0", ""),
        (str(2**63), "value out of range"),
        (str(-(2**63) - 1), "value out of range"),
        ("1" * 21, "value out of range"),
        ("x", "invalid syntax"),
        ("", "invalid syntax"),
        ("1.5", "invalid syntax"),
    ],
)
def test_generations_of_the_templates_of_daemon_sets(text: str, problem: str) -> None:
    """The annotation is a 64-bit integer, 0 without it."""
    of, key = resource(NEWEST, "apps", "v1", "daemonsets"), "deprecated.daemonset.template.generation"
    value = {**workload(), "metadata": {"name": "a", "namespace": "b", "annotations": {key: text}}}
    if problem:
        with pytest.raises(shape.ShapeError) as caught:
            default.apply(value, of, SETTINGS)
        assert str(caught.value) == f'strconv.ParseInt: parsing "{text}": {problem}'
        return
    assert default.apply(value, of, SETTINGS)["metadata"]["annotations"] == {key: text}
    without = default.apply(workload(), of, SETTINGS)
    assert without["metadata"]["annotations"] == {key: "0"}


def test_scheduling_gates_have_names() -> None:
    """Gates without a name, and repeated ones, are errors."""
    gates = [{}, {"name": "a"}, {"name": "a"}, {"name": "A b"}]
    value = {
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {**workload()["spec"]["template"]["spec"], "schedulingGates": gates},
    }
    causes = dispatch.validate_create(value, resource(NEWEST, "", "v1", "pods"), SETTINGS)
    at = "spec.schedulingGates"
    assert {cause.field for cause in causes} == {f"{at}[0]", f"{at}[2]", f"{at}[3]"}
