"""LimitRanger: defaults and bounds of amounts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World


def test_limit_range_defaults(world: type[World], pod: Callable[..., Object]) -> None:
    """Missing requests and limits get defaults, which an annotation lists."""
    w = world(only=["LimitRanger"])
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1", "memory": "1Gi"}}]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    stored_pod = w.run("pods", pod())
    assert stored_pod["spec"]["containers"][0].items() >= pod()["spec"]["containers"][0].items()
    assert stored_pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "2"},
    }
    assert stored_pod["metadata"]["annotations"] == {
        ORCH("{long}.io/limit-ranger"): "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu limit for container c"
    }


def test_several_limit_ranges(world: type[World], pod: Callable[..., Object]) -> None:
    """Of several defaults the one of the first limit range by name counts."""
    w = world(only=["LimitRanger"])
    for name, amount in (("b", "2"), ("a", "1"), ("c", "3")):
        limits = [{"type": "Container", "defaultRequest": {"cpu": amount}}]
        w.put("limitranges", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"limits": limits}})
    assert w.run("pods", pod())["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}


def test_limit_range_counts_the_larger_of_containers_and_largest_init_container(
    world: type[World], pod: Callable[..., Object]
) -> None:
    """The limits of a pod apply to the sum of its containers, or to the largest init container if that is more."""
    w = world(only=["LimitRanger"])
    item = {"type": "Pod", "max": {"cpu": "4"}}
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": [item]}})

    def sized(name: str, cpu: str) -> Object:
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}

    def made(containers: str, inits: str) -> Object:
        return pod(
            containers=[sized(f"c{i}", cpu) for i, cpu in enumerate(containers.split())],
            initContainers=[sized(f"i{i}", cpu) for i, cpu in enumerate(inits.split())],
        )

    w.run("pods", made("2 2", "3 4 1"))
    for containers, inits, total in (("2 3", "1", 5), ("1", "5 2", 5), ("1", "2 6", 6), ("3 2", "", 5)):
        message = w.refusal("pods", made(containers, inits)).message
        assert f"maximum cpu usage per Pod is 4, but limit is {total}" in message


def test_limit_range_ignores_objects_that_are_being_deleted(world: type[World]) -> None:
    """An update of a claim that is being deleted, such as the removal of its finalizers, is not checked."""
    w = world(only=["LimitRanger"])
    item = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": [item]}})
    claim: Object = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    leaving = {**claim, "metadata": {"name": "c", "deletionTimestamp": "2030-01-01T00:00:00Z"}}
    message = w.refusal("persistentvolumeclaims", claim, claim, operation=UPDATE).message
    assert "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi" in message
    assert w.run("persistentvolumeclaims", leaving, claim, operation=UPDATE) == leaving


@pytest.mark.parametrize(
    ("bound", "request_", "limit", "problem"),
    [
        ("min=2", "", "", "minimum cpu usage per Container is 2.  No request is specified"),
        ("min=2", "1", "3", "minimum cpu usage per Container is 2, but request is 1"),
        ("min=2", "2", "1", "minimum cpu usage per Container is 2, but limit is 1"),
        ("min=2", "2", "", ""),
        ("min=2", "2", "2", ""),
        ("max=2", "1", "", "maximum cpu usage per Container is 2.  No limit is specified"),
        ("max=2", "1", "3", "maximum cpu usage per Container is 2, but limit is 3"),
        ("max=2", "3", "2", "maximum cpu usage per Container is 2, but request is 3"),
        ("max=2", "2", "2", ""),
        ("max=2", "", "2", ""),
        ("maxLimitRequestRatio=2", "", "1", "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"),
        ("maxLimitRequestRatio=2", "1", "", "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
        ("maxLimitRequestRatio=2", "1", "0", "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
        ("maxLimitRequestRatio=2", "2", "5", "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000"),
        ("maxLimitRequestRatio=2", "2", "4", ""),
    ],
)  # fmt: skip
def test_limit_range_bounds_of_containers(
    world: type[World], pod: Callable[..., Object], bound: str, request_: str, limit: str, problem: str
) -> None:
    """Amounts at a bound are allowed, those beyond it and missing ones are not; an update of a pod is not checked."""
    w = world(only=["LimitRanger"])
    name, _, value = bound.partition("=")
    limits = [{"type": "Container", name: {"cpu": value}}]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    requests, most = ({"cpu": each} if each else {} for each in (request_, limit))
    made = pod(containers=[{"name": "c", "image": "i", "resources": {"requests": requests, "limits": most}}])
    w.run("pods", made, made, operation=UPDATE)
    if problem:
        assert w.refusal("pods", made).message.endswith(f" is forbidden: {problem}")
    else:
        w.run("pods", made)


@pytest.mark.parametrize(
    ("bound", "request_", "problem"),
    [
        ("min=2Gi", "1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"),
        ("min=2Gi", "2Gi", ""),
        ("max=2Gi", "", "maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified"),
        ("max=2Gi", "3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        ("max=2Gi", "2Gi", ""),
    ],
)
def test_limit_range_bounds_of_claims(world: type[World], bound: str, request_: str, problem: str) -> None:
    """Requests of claims at a bound are allowed; items of other types do not apply to claims."""
    w = world(only=["LimitRanger"])
    name, _, value = bound.partition("=")
    limits = [
        {"type": "PersistentVolumeClaim", name: {"storage": value}},
        {"type": "Container", "max": {"storage": "1"}},
    ]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    requests = {"storage": request_} if request_ else {}
    claim: Object = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": requests}}}
    if problem:
        assert w.refusal("persistentvolumeclaims", claim).message.endswith(f" is forbidden: {problem}")
    else:
        assert w.run("persistentvolumeclaims", claim) == claim
