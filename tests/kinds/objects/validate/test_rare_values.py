"""Values that few clients send, and that release 1.35 refuses or accepts as the reference does."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.quantities import is_integer
from orchd.kinds.release import NEWEST
from tests.kinds.objects.validate.test_later_rules import container, resource, workload

Object = dict[str, Any]
SETTINGS = ObjectSettings(dialect=ORCH, release=NEWEST)


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


def test_certificates_that_are_not_base64() -> None:
    """Such a block is skipped, as by readers of PEM."""
    block = b"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
    old = {"metadata": {"name": "a"}, "spec": {"signerName": "a.b/c", "usages": ["digital signature"]}, "status": {}}
    value = {**old, "status": {"certificate": base64.b64encode(block).decode()}}
    of = resource(NEWEST, "certificates.{abbr}.io", "v1", "certificatesigningrequests")
    causes = dispatch.validate_update(value, old, of, SETTINGS, subresource="status")
    assert ["must contain at least one" in c.message for c in causes if c.field == "status.certificate"] == [True]


def test_mounts_are_read_only_throughout_only_if_they_are_read_only() -> None:
    """The field and the reason of a recursively read-only mount that is writable."""
    mount = {"name": "v", "mountPath": "/v", "recursiveReadOnly": "Enabled"}
    spec = workload(containers=[container(volumeMounts=[mount])], volumes=[{"name": "v", "emptyDir": {}}])
    causes = dispatch.validate_create(spec, resource(NEWEST, "apps", "v1", "daemonsets"), SETTINGS)
    at = "spec.template.spec.containers[0].volumeMounts.recursiveReadOnly"
    assert [(c.field, c.message) for c in causes] == [(at, "Forbidden: may only be specified when readOnly is true")]
