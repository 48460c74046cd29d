"""Parameters of policies: which ones, and the wait for their informer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.kinds.jsonvalues import Object
from orchd.server.admission.policies.parameters import ParameterError, Parameters
from orchd.testing.doubles.results import result_of
from orchd.txkit.coroutines import start
from tests.server.admission.conftest import World

KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


class Late:
    """An informer that has no objects before `ready` fires."""

    def __init__(self) -> None:
        self.synced = False
        self.ready: Deferred[None] = Deferred()

    async def wait_synced(self) -> None:
        await self.ready

    def get(self, namespace: str, name: str) -> Object:
        return {"metadata": {"name": name, "namespace": namespace}}


async def _no_pause() -> None:
    """Nothing else runs."""


def _parameters(world: World, **runtime: Any) -> Parameters:
    return Parameters(replace(world.context, runtime=replace(world.context.runtime, **runtime)), _no_pause)


def test_informers_that_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first write waits for a second; where nothing can wait, it fails at once."""
    late = Late()
    monkeypatch.setattr(Parameters, "informer", lambda self, resource: late)
    says = "paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}` not yet synced to use for admission"
    with pytest.raises(ParameterError) as refused:
        result_of(_parameters(World()).collect(KIND, {"name": "a"}, "ns"))
    assert str(refused.value) == says
    for ready in (False, True):
        clock, outcome = Clock(), list[Any]()
        late.ready = Deferred()
        start(_parameters(World(), reactor=clock).collect(KIND, {"name": "a"}, "ns")).addBoth(outcome.append)
        clock.advance(0.9)
        assert outcome == []
        if ready:
            late.ready.callback(None)
            assert outcome == [[{"metadata": {"name": "a", "namespace": "ns"}}]]
        else:
            clock.advance(0.2)
            assert str(outcome[0].value) == says


def _map(name: str, namespace: str = "ns", **labels: str) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


@pytest.mark.parametrize(
    ("reference", "namespace", "names"),
    [
        (None, "ns", None), ({"name": "b"}, "ns", ["b"]), ({"name": "none"}, "ns", []), ({"name": "c", "namespace": "other"}, "ns", ["c"]),
        ({"selector": {"matchLabels": {"x": "y"}}}, "ns", ["a", "b"]), ({"selector": {}}, "ns", ["a", "b", "d"]), ({}, "ns", ["a", "b", "d"]),
        ({"selector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}}, "ns", ["d"]), ({"selector": {"matchLabels": {"x": "z"}}}, "ns", []),
        ({"name": "b"}, "", "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"),
        ({"name": "none", "parameterNotFoundAction": "Deny"}, "ns", "no params found for policy binding with `Deny` parameterNotFoundAction"),
        ({"name": "none", "parameterNotFoundAction": "Allow"}, "ns", []), ({"name": "b", "parameterNotFoundAction": "Deny"}, "ns", ["b"]),
    ],
)  # fmt: skip
def test_parameters_of_a_binding(reference: Any, namespace: str, names: Any) -> None:
    """The object of a name or those of a selector, by name, in the namespace of the reference or of the write."""
    world = World()
    for obj in (_map("b", x="y"), _map("a", x="y"), _map("d"), _map("c", "other", x="y")):
        world.put("configmaps", obj)
    chosen = _parameters(world).collect(KIND, reference, namespace)
    if isinstance(names, str):
        with pytest.raises(ParameterError) as refused:
            result_of(chosen)
        assert str(refused.value) == names
    else:
        listed = result_of(chosen)
        assert [each and each["metadata"]["name"] for each in listed] == ([None] if names is None else names)


def test_kinds_of_parameters() -> None:
    """A kind that is not served is an error; one without namespaces takes no namespace."""
    parameters = _parameters(World())
    for kind, name in (
        ({"apiVersion": "a/v1", "kind": "B"}, "'a/v1, Kind=B'"),
        ({"kind": "B"}, "'/, Kind=B'"),
        ({"apiVersion": "v1"}, "'/v1, Kind='"),
    ):
        with pytest.raises(ParameterError, match=name):
            parameters.resource(kind)
    reference = {"name": "a", "namespace": "ns"}
    with pytest.raises(ParameterError, match=r"paramRef\.namespace must not be provided for a cluster-scoped"):
        result_of(parameters.collect({"apiVersion": "v1", "kind": "Namespace"}, reference, "ns"))
    assert len(result_of(parameters.collect({"apiVersion": "v1", "kind": "Namespace"}, {"name": "ns"}, ""))) == 1
    assert result_of(parameters.collect(None, reference, "ns")) == (None,)
