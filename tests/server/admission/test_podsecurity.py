"""PodSecurity: when pods and namespaces are evaluated, and what is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World


def test_stricter_pod_security_level_warns_of_existing_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """The warnings list pods that would be rejected, those of one controller once."""
    w = world(only=["PodSecurity"])
    privileged = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    for name in ("p36", "p37"):
        w.put("pods", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"containers": [privileged]}})
    old = {"metadata": {"name": "ns", "labels": {}}}
    new = {"metadata": {"name": "ns", "labels": {ORCH("pod-security.{long}.io/enforce"): "baseline"}}}
    w.run("namespaces", new, old, operation=UPDATE)
    assert w.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "p36 (and 1 other pod): privileged",
    ]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        (
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            ['hostPath volumes (volume "v")', 'restricted volume type "hostPath"'],
        ),
        (
            {"containers": [{"name": "c", "image": "i", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
            ["non-default capabilities", "unrestricted capabilities"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u"}}},
            ["seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: )"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u", "type": "t"}}},
            ['securityContext.seLinuxOptions: type "t"; user may not be set)'],
        ),
    ],
)
def test_restricted_pods_are_judged_by_the_baseline_too(world: type[World], spec: Object, named: list[str]) -> None:
    """At the restricted level a pod is refused with the violations of the baseline, and then with those of that
    level."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    new = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    message = w.refusal("pods", new).message
    places = [message.find(text) for text in named]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({"spec": {"containers": [{"name": "c", "image": "j"}]}}, True),
        ({"spec": {"initContainers": [{"name": "i", "image": "j"}]}}, True),
        ({"spec": {"ephemeralContainers": [{"name": "e", "image": "j"}]}}, True),
        ({"annotations": {"seccomp.security.alpha.{long}.io/pod": "unconfined"}}, True),
        ({"annotations": {"container.seccomp.security.alpha.{long}.io/c": "unconfined"}}, True),
        ({"annotations": {"example.org/a": "b"}}, False),
        ({"labels": {"a": "b"}}, False),
        ({"spec": {"activeDeadlineSeconds": 5, "tolerations": [{"operator": "Exists"}]}}, False),
    ],
)
def test_pod_security_evaluates_relevant_updates_only(world: type[World], change: Object, judged: bool) -> None:
    """Only new images, containers or profiles are evaluated; pods older than the policy may change otherwise."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    old: Object = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {**old["metadata"], "labels": change.get("labels", {})}
    metadata["annotations"] = {ORCH(key): value for key, value in change.get("annotations", {}).items()}
    new = {"metadata": metadata, "spec": {**old["spec"], **change.get("spec", {})}}
    if judged:
        assert "violates PodSecurity" in w.refusal("pods", new, old, operation=UPDATE).message
    else:
        w.run("pods", new, old, operation=UPDATE)
