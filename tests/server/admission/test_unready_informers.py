"""Plugins do not judge by informers that have not read their resources yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World

CLAIM: Object = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
BOUND: Object = {**CLAIM, "spec": {**CLAIM["spec"], "storageClassName": "s"}, "status": {"phase": "Bound"}}
GROWN: Object = {**BOUND, "spec": {**BOUND["spec"], "resources": {"requests": {"storage": "2Gi"}}}}
NAMESPACE: Object = {"metadata": {"name": "n"}}
ENFORCED: Object = {"metadata": {"name": "n", "labels": {ORCH("pod-security.{long}.io/enforce"): "restricted"}}}
INGRESS: Object = {"metadata": {"name": "i"}, "spec": {}}
DEFAULT_CLASS: Object = {"metadata": {"name": "a"}, "globalDefault": True, "value": 1}
BINDING: Object = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}


@pytest.mark.parametrize(
    ("plugin", "plural", "obj", "more"),
    [
        ("NamespaceLifecycle", "configmaps", NAMESPACE, {}),
        ("NamespaceExists", "configmaps", NAMESPACE, {}),
        ("NamespaceAutoProvision", "configmaps", NAMESPACE, {}),
        ("LimitRanger", "persistentvolumeclaims", CLAIM, {}),
        ("ResourceQuota", "configmaps", NAMESPACE, {}),
        ("ServiceAccount", "pods", None, {}),
        ("Priority", "pods", None, {}),
        ("Priority", "priorityclasses", DEFAULT_CLASS, {"group": "scheduling.{abbr}.io"}),
        ("RuntimeClass", "pods", {"runtimeClassName": "r"}, {}),
        ("PodNodeSelector", "pods", None, {}),
        ("PodTolerationRestriction", "pods", None, {}),
        ("PodSecurity", "pods", None, {}),
        ("PodSecurity", "namespaces", ENFORCED, {"old": NAMESPACE, "operation": UPDATE}),
        ("PodSecurityPolicy", "pods", None, {}),
        ("DefaultStorageClass", "persistentvolumeclaims", CLAIM, {}),
        ("DefaultIngressClass", "ingresses", INGRESS, {"group": "networking.{abbr}.io"}),
        ("PersistentVolumeClaimResize", "persistentvolumeclaims", GROWN, {"old": BOUND, "operation": UPDATE}),
        ("PodTopologyLabels", "pods", BINDING, {"sub": "binding"}),
        ("ValidatingAdmissionPolicy", "configmaps", NAMESPACE, {}),
    ],
)
def test_writes_wait_for_what_a_plugin_reads(
    world: type[World], pod: Callable[..., Object], plugin: str, plural: str, obj: Any, more: Any
) -> None:
    """While an informer of a plugin has not synced, a write that the plugin judges by it is rejected."""
    release = NEWEST if plugin in ("PodTopologyLabels", "ValidatingAdmissionPolicy") else SPECIFICATION
    w = world(only=[plugin], release=release)
    (judge,) = w.chain.plugins
    for group, version, resource in judge.informers:  # type: ignore[attr-defined]
        w.informers.informer(ResourceRef(ORCH(group), version, resource)).synced = False
    if plural == "pods" and "metadata" not in (obj or {}):
        obj = pod("n", **(obj or {}))
    error = w.refusal(plural, obj, more.pop("old", None), **more)
    assert (error.code, error.message.partition(": ")[2]) == (403, "not yet ready to handle request")
