"""Requests to scheduler extenders and the use of their responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.scheduler.config.model import ExtenderConfig, ManagedResource
from orchd.scheduler.extenders import HttpExtender, make_extenders
from orchd.scheduler.interfaces import ExtenderError, ExtenderVictims
from orchd.scheduler.pods import Pod, Templates
from orchd.testing.doubles.informers import MemoryInformers

NODES = {name: {"metadata": {"name": name}} for name in ("n1", "n2", "n3")}
POD: dict[str, Any] = {"metadata": {"namespace": "s", "name": "p", "uid": "u0"}, "spec": {"containers": []}}
TEMPLATES = Templates()


def pod(name: str, uid: str, **requests: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": requests}}
    return {"metadata": {"namespace": "s", "name": name, "uid": uid}, "spec": {"containers": [container]}}


PODS = {"a": pod("a", "ua"), "b": pod("b", "ub")}


class Connection:
    """Records what is posted and returns the next response."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.posted: list[tuple[str, Any, bool]] = []

    async def post(self, verb: str, document: Any, *, again: bool = True) -> Any:
        self.posted.append((verb, document, again))
        return self.answer


class Objects:
    def __init__(self, objects: Mapping[str, Any]) -> None:
        self._objects = objects

    def get(self, namespace: str, name: str) -> Any:
        return self._objects.get(name)


class Snapshot:
    """Node n1 has the two pods."""

    def row_of(self, name: str) -> int:
        return list(NODES).index(name) if name in NODES else -1

    def pods(self, row: int) -> list[Pod]:
        return [TEMPLATES.pod(each) for each in PODS.values()] if row == 0 else []


def made(answer: Any, **settings: Any) -> tuple[HttpExtender, Connection]:
    connection = Connection(answer)
    config = ExtenderConfig(url_prefix="http://x", **settings)
    nodes, pods, snapshot = cast("Any", Objects(NODES)), cast("Any", Objects(PODS)), cast("Any", Snapshot())
    return HttpExtender(config, cast("Any", connection), nodes, pods, snapshot), connection


def result(coroutine: Any) -> Any:
    found: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(found.append)
    if hasattr(found[0], "raiseException"):
        found[0].raiseException()
    return found[0]


FULL = {"filter_verb": "f", "prioritize_verb": "p", "preempt_verb": "v", "bind_verb": "b"}


def test_node_names_are_sent_to_extenders_with_a_cache() -> None:
    """An extender with a node cache gets names, others get objects."""
    extender, connection = made({"Nodes": {"items": [NODES["n2"]]}}, **FULL)
    assert result(extender.filter(POD, ["n1", "n2"])).nodes == ["n2"]
    assert connection.posted == [
        ("f", {"Pod": POD, "Nodes": {"metadata": {}, "items": [NODES["n1"], NODES["n2"]]}, "NodeNames": None}, True)
    ]
    extender, connection = made({"NodeNames": ["n2", "n1"]}, node_cache_capable=True, **FULL)
    assert result(extender.filter(POD, ["n1", "n2", "n3"])).nodes == ["n1", "n2"]
    assert connection.posted == [("f", {"Pod": POD, "Nodes": None, "NodeNames": ["n1", "n2", "n3"]}, True)]


def test_node_names_are_ignored_from_extenders_without_a_cache() -> None:
    """NodeNames of an extender that got whole nodes are ignored: no node is left."""
    extender, _ = made({"NodeNames": ["n1"]}, **FULL)
    assert result(extender.filter(POD, ["n1"])).nodes == []


def test_failed_nodes_come_with_reasons() -> None:
    """Failed nodes have reasons, resolvable or not; member names are case-insensitive."""
    answer = {"nodenames": [], "failedNodes": {"n1": "no"}, "FAILEDANDUNRESOLVABLENODES": {"n2": "never"}}
    extender, _ = made(answer, node_cache_capable=True, **FULL)
    verdict = result(extender.filter(POD, ["n1", "n2"]))
    assert (verdict.failed, verdict.unresolvable) == ({"n1": "no"}, {"n2": "never"})


def test_extender_without_a_verb_is_not_called() -> None:
    """Without a filter verb all nodes pass; without a prioritize verb the score is 0."""
    extender, connection = made(None)
    assert result(extender.filter(POD, ["n1"])).nodes == ["n1"]
    assert result(extender.prioritize(POD, ["n1"])) == {"n1": 0}
    assert connection.posted == []


def test_extender_scores() -> None:
    """The response is a list of host scores."""
    extender, connection = made([{"Host": "n1", "Score": 7}, {"host": "n2"}], **FULL)
    assert result(extender.prioritize(POD, ["n1", "n2"])) == {"n1": 7, "n2": 0}
    assert connection.posted[0][0] == "p"


def test_extender_preemption() -> None:
    """Victims are sent as objects or uids, and returned as uids of pods on the node."""
    victims = {"n1": ExtenderVictims([TEMPLATES.pod(PODS["a"])], 2), "n2": ExtenderVictims([], 0)}
    answer = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "ub"}], "NumPDBViolations": 1}}}
    extender, connection = made(answer, **FULL)
    victims_left = result(extender.preempt(POD, victims))
    assert [each.name for each in victims_left["n1"].pods] == ["b"]
    assert victims_left["n1"].violations == 1
    assert list(victims_left) == ["n1"]
    told = {"n1": {"Pods": [PODS["a"]], "NumPDBViolations": 2}, "n2": {"Pods": [], "NumPDBViolations": 0}}
    assert connection.posted == [("v", {"Pod": POD, "NodeNameToVictims": told, "NodeNameToMetaVictims": None}, True)]
    extender, connection = made(answer, node_cache_capable=True, **FULL)
    result(extender.preempt(POD, victims))
    assert connection.posted[0][1]["NodeNameToMetaVictims"]["n1"] == {"Pods": [{"UID": "ua"}], "NumPDBViolations": 2}


def test_extender_binding_is_not_retried() -> None:
    """A binding has the pod and the node, and is not retried."""
    extender, connection = made({}, **FULL)
    assert result(extender.bind(TEMPLATES.pod(PODS["a"]), "n1")) is None
    assert connection.posted == [("b", {"PodName": "a", "PodNamespace": "s", "PodUID": "ua", "Node": "n1"}, False)]


def test_managed_resources_select_pods() -> None:
    """An extender with managed resources gets only pods that request, or limit, one of them."""
    managed = (ManagedResource("x/y", True), ManagedResource("x/z", False))
    extender, _ = made(None, managed_resources=managed)
    plain, wanting = TEMPLATES.pod(PODS["a"]), TEMPLATES.pod(pod("c", "uc", **{"x/z": "1"}))
    assert not extender.interested(plain)
    assert extender.interested(wanting)
    assert extender.ignored_resources == {"x/y"}
    assert made(None)[0].interested(plain)


FAILURES: dict[str, tuple[str, Any, str]] = {
    "error": ("filter", {"Error": "extender says no"}, "extender says no"),
    "unknown node": (
        "filter", {"NodeNames": ["n9"]}, 'extender "http://x" claims a filtered node "n9" which is not found in the input node list',
    ),
    "not an object": ("filter", [], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
    "wrong member": ("filter", {"NodeNames": "n1"}, "json: cannot unmarshal string into Go struct field NodeNames"),
    "not a list": ("prioritize", {}, "json: cannot unmarshal object into Go value of type v1.HostPriorityList"),
    "wrong score": ("prioritize", [{"Host": "n1", "Score": "7"}], "json: cannot unmarshal string into Go struct field Score"),
    "wrong name": ("filter", {"NodeNames": [["n1"]]}, "json: cannot unmarshal array into Go value of type string"),
    "score beyond 64 bits": ("prioritize", [{"Host": "n1", "Score": 2**64 - 1}], "json: cannot unmarshal number into Go struct field Score"),
    "score of a boolean": ("prioritize", [{"Host": "n1", "Score": True}], "json: cannot unmarshal bool into Go struct field Score"),
    "unknown victim": (
        "preempt",
        {"NodeNameToMetaVictims": {"n2": {"Pods": [{"UID": "ua"}]}}},
        "extender: http://x claims to preempt pod (UID: &{ua}) on node: n2, but the pod is not found on that node",
    ),
    "unknown node of victims": ("preempt", {"NodeNameToMetaVictims": {"n9": {}}}, 'nodeinfo not found for node name "n9"'),
    "refused binding": ("bind", {"Error": "refused"}, "refused"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_failed_extender_calls_are_extender_errors(case: str) -> None:
    """An error response, or none at all, raises ExtenderError with the reason."""
    verb, answer, expected = FAILURES[case]
    extender, _ = made(answer, node_cache_capable=True, **FULL)
    calls: dict[str, Callable[[], Any]] = {
        "filter": lambda: extender.filter(POD, ["n1"]),
        "prioritize": lambda: extender.prioritize(POD, ["n1"]),
        "preempt": lambda: extender.preempt(POD, {}),
        "bind": lambda: extender.bind(TEMPLATES.pod(PODS["a"]), "n1"),
    }
    with pytest.raises(ExtenderError) as caught:
        result(calls[verb]())
    assert str(caught.value) == expected


def test_ignorable_extenders_come_last() -> None:
    """Otherwise the order of the configuration is kept."""
    configs = [ExtenderConfig(url_prefix=f"http://{name}", ignorable=name in "ac") for name in "abcd"]
    extenders = make_extenders(
        configs, reactor=Clock(), dialect=ORCH, informers=MemoryInformers(), snapshot=cast("Any", Snapshot())
    )
    assert [each.name for each in extenders] == ["http://b", "http://d", "http://a", "http://c"]
