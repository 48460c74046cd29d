"""The pods that objects select, updated with every change of a pod."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.controllers.loop import RetryError
from orchd.controllers.podviews import PodsByOwner, view
from orchd.controllers.selection import SelectedPods
from orchd.kinds.fields import spec
from orchd.kinds.objects.selectors import LabelSelector
from orchd.testing.doubles.informers import MemoryInformer
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start


def owner(name: str, **selector: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "a"}, "spec": {"selector": {"matchLabels": selector}}}


def pod(name: str, namespace: str = "a", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": name, "labels": labels}, "spec": {}, "status": {}}


def select(each: dict[str, Any]) -> LabelSelector:
    return LabelSelector.from_object(spec(each)["selector"])


class Bench:
    """Selected pods over an informer whose events they follow."""

    def __init__(self) -> None:
        self.clock, self.informer = Clock(), MemoryInformer()
        self.selected = SelectedPods(self.informer, select, self.clock)
        self.informer.add_listener(lambda event, old, new: self.selected.observe(old, new))

    def names(self, each: dict[str, Any]) -> str:
        return "".join(sorted(found["metadata"]["name"] for found in run(self.selected.find(each))))


@pytest.mark.parametrize("selector", [{"x": "1"}, {}])
def test_groups_follow_pod_changes(selector: dict[str, str]) -> None:
    """Added, relabelled and deleted pods are in the groups of their labels, in their newest state."""
    bench, one = Bench(), owner("s", **selector)
    for each in (pod("p", x="1"), pod("q", x="2"), pod("r", "b", x="1")):
        bench.informer.put(each)
    everything = not selector
    assert bench.names(one) == ("pq" if everything else "p") and bench.selected.count(("a", "s")) == (
        2 if everything else 1
    )
    bench.informer.put(pod("t", x="1"))
    bench.informer.put(pod("q", x="1"))
    bench.informer.put(pod("u", "b", x="1"))
    assert bench.names(one) == "pqt"
    bench.informer.put({**pod("q", x="1"), "status": {"phase": "Failed"}})
    assert [found["status"] for found in run(bench.selected.find(one)) if found["metadata"]["name"] == "q"] == [
        {"phase": "Failed"}
    ]
    bench.informer.put(pod("p", x="2"))
    bench.informer.remove("a", "t")
    assert bench.names(one) == ("pq" if everything else "q")


def test_changed_selector_has_another_group() -> None:
    """An object with a changed selector has a new group, a deleted object none."""
    bench = Bench()
    for each in (pod("p", x="1"), pod("q", x="2")):
        bench.informer.put(each)
    assert bench.names(owner("s", x="1")) == "p" and bench.names(owner("t", x="1")) == "p"
    assert bench.names(owner("s", x="2")) == "q"
    bench.informer.remove("a", "p")
    assert bench.names(owner("t", x="1")) == ""
    bench.selected.forget(("a", "s"))
    bench.selected.forget(("a", "t"))
    bench.informer.put(pod("r", x="2"))
    assert bench.selected.count(("a", "s")) == 0 and bench.names(owner("s", x="2")) == "qr"


def filling(bench: Bench) -> Any:
    """A group that is being filled."""
    for number in range(100):
        bench.informer.put(pod(f"p{number:02}", x="1"))
    outcome: list[Any] = []
    start(bench.selected.find(owner("s", x="1"))).addBoth(outcome.append)
    assert not outcome
    return outcome


def end(bench: Bench) -> None:
    for _ in range(10):
        bench.clock.advance(0)


def test_changes_during_a_fill_are_included() -> None:
    """A large group is filled over several turns; it includes changes that happen meanwhile."""
    bench = Bench()
    outcome = filling(bench)
    bench.informer.remove("a", "p99")
    bench.informer.put(pod("p98", x="2"))
    bench.informer.put(pod("new", x="1"))
    bench.informer.remove("a", "p00")
    end(bench)
    names = {found["metadata"]["name"] for found in outcome[0]}
    assert names == {f"p{n:02}" for n in range(1, 98)} | {"new"}


def test_changed_owner_restarts_the_fill() -> None:
    """When its owner changes, the fill is abandoned and repeated."""
    bench = Bench()
    outcome = filling(bench)
    bench.selected.forget(("a", "s"))
    end(bench)
    assert outcome[0].check(RetryError) and bench.selected.count(("a", "s")) == 0
    bench.informer.remove("a", "p00")
    again = filling(bench)
    end(bench)
    assert len(again[0]) == 100


def controlled(name: str, uid: str, kind: str = "Job") -> dict[str, Any]:
    made = pod(name)
    made["metadata"]["ownerReferences"] = [{"kind": kind, "name": "o", "uid": uid, "controller": True}]
    return made


def test_pods_are_found_by_owner() -> None:
    """Pods are found by namespace and controller of one kind, or without a controller; those in other namespaces are
    not."""
    views = PodsByOwner("Job")

    def names(owner_uid: str, within: str = "a") -> list[str]:
        return [found["metadata"]["name"] for found in views.controlled(within, owner_uid)]

    views.observe(None, pod("p"))
    views.observe(None, controlled("q", "u"))
    views.observe(None, controlled("r", "u", "ReplicaSet"))
    assert (names(""), names("u"), views.count("a", "u")) == (["p"], ["q"], 1)
    foreign = controlled("q", "u")
    views.observe(None, {**foreign, "metadata": {**foreign["metadata"], "namespace": "b"}})
    assert (views.count("a", "u"), names("u", "b")) == (1, ["q"])
    views.observe(pod("p"), controlled("p", "u"))
    views.observe(controlled("q", "u"), pod("q"))
    assert (names(""), names("u")) == (["q"], ["p"])
    views.observe(controlled("p", "u"), controlled("p", "v", "ReplicaSet"))
    views.observe(pod("q"), None)
    assert (names(""), names("u"), names("v"), views.count("a", "u")) == ([], [], [], 0)


def test_pod_views_keep_the_pods_shape() -> None:
    """A view has a subset of the pod's fields, in the same structure."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    port = {"name": "web", "containerPort": 80}
    whole = {
        "metadata": {**pod("p", x="1")["metadata"], "managedFields": [{}], "annotations": {"index": "3", "other": "x" * 1000}},
        "spec": {"nodeName": "n", "affinity": {"nodeAffinity": {}}, "containers": [{"name": "c", "image": "i", "ports": [port]}, {"name": "d"}]},
        "status": {
            "phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Initialized", "status": "True"}, ready],
            "containerStatuses": [{"name": "c", "restartCount": 2}, {"name": "d", "restartCount": 0}],
        },
    }  # fmt: skip
    assert view(whole, "index") == {
        "metadata": {**pod("p", x="1")["metadata"], "annotations": {"index": "3"}},
        "spec": {"nodeName": "n", "containers": [{"ports": [port]}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [ready],
            "containerStatuses": [{"restartCount": 2}],
        },
    }
    waiting = {**whole, "spec": {"affinity": {"nodeAffinity": {}}}}
    assert view(waiting)["spec"] == {"affinity": {"nodeAffinity": {}}}
