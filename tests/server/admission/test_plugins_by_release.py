"""The built-in plugins, where releases differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World

#: Classes, the mark of default ones, and what gets them.
CLASSES = [
    ("storage.{abbr}.io", "storageclasses", "storageclass", "", "persistentvolumeclaims", "storageClassName"),
    ("networking.{abbr}.io", "ingressclasses", "ingressclass", "networking.{abbr}.io", "ingresses", "ingressClassName"),
]


@pytest.mark.parametrize(("class_group", "classes", "mark", "group", "plural", "member"), CLASSES)
def test_several_default_classes(
    world: type[World], class_group: str, classes: str, mark: str, group: str, plural: str, member: str
) -> None:
    """The release of the specification refuses objects; later ones take the newest class, and the first by name of
    equally old ones."""
    for release in (SPECIFICATION, NEWEST):
        w = world(release=release)
        marks = {ORCH(f"{mark}.{{long}}.io/is-default-class"): "true"}
        for name, created in (
            ("a", "2026-01-01T00:00:00Z"),
            ("c", "2026-01-02T00:00:00Z"),
            ("b", "2026-01-02T00:00:00Z"),
        ):
            metadata = {"name": name, "annotations": marks, "creationTimestamp": created}
            w.put(classes, {"metadata": metadata}, class_group)
        new: Object = {"metadata": {"name": "x"}, "spec": {}}
        if release is SPECIFICATION:
            assert "3 default" in w.refusal(plural, new, group=group).message
        else:
            assert w.run(plural, new, group=group)["spec"][member] == "b"


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        ({"enforce": "restricted"}, "restricted:latest"),
        ({"enforce": "restricted", "enforce-version": "v1.30"}, "restricted:v1.30"),
        ({"enforce": "restricted", "enforce-version": "v1.30", "warn-version": "v1.29"}, "restricted:v1.29"),
        ({"enforce": "restricted", "warn": "privileged"}, ""),
        ({"enforce": "unknown"}, ""),
        ({"audit": "restricted"}, ""),
        ({"audit": "unknown"}, ""),
    ],
)
def test_enforced_pod_security_warns_of_controllers(world: type[World], labels: dict[str, str], warned: str) -> None:
    """Release 1.35 warns by the enforced level where no level of warnings is set."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment: Object = {"metadata": {"name": "d"}, "spec": {"template": template}}
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["PodSecurity"], release=release)
        w.namespace("ns", {ORCH(f"pod-security.{{long}}.io/{name}"): value for name, value in labels.items()})
        w.run("deployments", deployment, group="apps")
        expected = warned if release is NEWEST else ""
        assert [text.partition('"')[2].partition('"')[0] for text in w.warnings] == [expected] * bool(expected)
        assert not [note for note in w.notes if "audit-violations" in note] or labels == {"audit": "restricted"}


def _sized(name: str, cpu: str = "", **more: str) -> Object:
    amounts = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}} if cpu else {}
    return {"name": name, "image": "i", "resources": amounts, **more}


def _quota(**hard: str) -> Object:
    hard = {name.replace("_", "."): value for name, value in hard.items()}
    metadata = {"name": "q", "namespace": "ns", "uid": "q", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"hard": hard}, "status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}


def test_quota_refuses_containers_without_requests(world: type[World], pod: Callable[..., Object]) -> None:
    """Release 1.35 names the containers too, and asks nothing of those of a pod that has resources as a whole."""
    words = {SPECIFICATION: "limits.cpu,requests.cpu", NEWEST: "limits.cpu for: d,i; requests.cpu for: d,i"}
    for release, expected in words.items():
        w = world(only=["ResourceQuota"], release=release)
        w.put("resourcequotas", _quota(requests_cpu="9", limits_cpu="9"))
        containers = {"containers": [_sized("c", "1"), _sized("d")], "initContainers": [_sized("i")]}
        assert w.refusal("pods", pod(**containers)).message.endswith(f"failed quota: q: must specify {expected}")
        w.run("pods", pod(**containers, resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}))


@pytest.mark.parametrize(
    ("spec", "used"),
    [
        ({"containers": [_sized("c", "2")], "initContainers": [_sized("i", "3")]}, ("3", "3")),
        ({"containers": [_sized("c", "2")], "initContainers": [_sized("s", "1", restartPolicy="Always"), _sized("i", "4")]}, ("5", "5")),
        ({"containers": [_sized("c", "2")], "resources": {"requests": {"cpu": "3"}}}, ("3", "2")),
        ({"containers": [_sized("c", "2")], "resources": {"limits": {"cpu": "4"}}, "overhead": {"cpu": "1"}}, ("3", "5")),
    ],
)  # fmt: skip
def test_quota_counts_sidecars_and_resources_of_pods(
    world: type[World], pod: Callable[..., Object], spec: Object, used: tuple[str, str]
) -> None:
    """Init containers that keep running count beside the others; what a pod has as a whole replaces the sum of its
    containers."""
    w = world(only=["ResourceQuota"], release=NEWEST)
    w.put("resourcequotas", _quota(requests_cpu="9", limits_cpu="9"))
    w.run("pods", pod(**spec))
    held = w.informers.informer(ResourceRef("", "v1", "resourcequotas")).get("ns", "q")
    assert held is not None
    assert (held["status"]["used"]["requests.cpu"], held["status"]["used"]["limits.cpu"]) == used


def test_quota_counts_resizes_of_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """What a resize adds is charged, and refused beyond the quota; what it gives back remains until the quota is
    counted."""
    w = world(only=["ResourceQuota"], release=NEWEST)
    w.put("resourcequotas", _quota(requests_cpu="4", limits_cpu="9"))
    small, large, huge = (pod(containers=[_sized("c", amount)]) for amount in ("2", "3", "5"))
    w.run("pods", small)

    def used() -> str:
        held = w.informers.informer(ResourceRef("", "v1", "resourcequotas")).get("ns", "q")
        assert held is not None
        return str(held["status"]["used"]["requests.cpu"])

    w.run("pods", large, small, operation=UPDATE, sub="resize")
    assert used() == "3"
    refusal = w.refusal("pods", huge, large, operation=UPDATE, sub="resize")
    assert (
        "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=3, limited: requests.cpu=4" in refusal.message
    )
    w.run("pods", small, large, operation=UPDATE, sub="resize")
    w.run("pods", huge, large, operation=UPDATE)
    assert used() == "3"


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST], ids=str)
def test_limit_ranges_apply_to_init_containers(
    world: type[World], pod: Callable[..., Object], release: Release
) -> None:
    """Limits of containers are those of init containers too; sidecars, which release 1.23 has not, count with the
    containers of a pod."""
    w = world(only=["LimitRanger"], release=release)
    limits = [{"type": "Container", "max": {"cpu": "2"}}, {"type": "Pod", "max": {"cpu": "3"}}]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    w.run("pods", pod(containers=[_sized("c", "2")], initContainers=[_sized("i", "2")]))
    message = w.refusal("pods", pod(containers=[_sized("c", "1")], initContainers=[_sized("i", "3")])).message
    assert "maximum cpu usage per Container is 2, but limit is 3" in message
    beside = pod(containers=[_sized("c", "2")], initContainers=[_sized("i", "2", restartPolicy="Always")])
    if release is SPECIFICATION:
        w.run("pods", beside)
    else:
        assert "maximum cpu usage per Pod is 3, but limit is 4" in w.refusal("pods", beside).message
