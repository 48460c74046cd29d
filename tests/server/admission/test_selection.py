"""Selection of writes by labels, and objects in other versions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE
from orchd.server.admission.selection import Namespaces, in_version, objects_match
from orchd.testing.doubles.results import result_of
from tests.server.admission.conftest import World, configmap

NAMESPACES = ResourceRef("", "v1", "namespaces")
LABELLED: Object = {"metadata": {"name": "a", "labels": {"a": "b"}}}
CONVERTED: Object = {"metadata": {"name": "converted"}}
SELECTOR = LabelSelector.from_object({"matchLabels": {"a": "b"}})


@pytest.mark.parametrize(
    ("obj", "old", "matches"),
    [
        (LABELLED, None, True), (configmap(), LABELLED, True), (None, LABELLED, True), (configmap(), configmap(), False), (None, None, False),
        ({"kind": "X"}, None, False),
    ],
)  # fmt: skip
def test_objects(world: type[World], obj: Any, old: Any, matches: bool) -> None:
    """The new or the old object has to match; without a selector every write does."""
    review = world().review("configmaps", obj, old)
    assert objects_match(SELECTOR, review) is matches
    assert objects_match(LabelSelector.from_object({}), review)


def test_objects_without_labels(world: type[World]) -> None:
    """What has no label matches its absence; what has no metadata matches nothing."""
    absent = LabelSelector.from_object({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]})
    objects: list[Object] = [configmap(), LABELLED, {"kind": "X"}]
    assert [objects_match(absent, world().review("configmaps", each)) for each in objects] == [True, False, False]


@pytest.mark.parametrize(
    ("plural", "obj", "more", "matches"),
    [
        ("configmaps", configmap(), {}, True), ("configmaps", configmap(), {"namespace": "other"}, False), ("nodes", configmap(), {}, True),
        ("namespaces", LABELLED, {"operation": CREATE}, True), ("namespaces", configmap("ns"), {"operation": UPDATE}, False),
        ("namespaces", None, {"operation": DELETE, "name": "ns"}, True), ("namespaces", configmap(), {"operation": UPDATE, "sub": "status", "name": "ns"}, True),
        ("namespaces", None, {"operation": DELETE, "name": "other"}, False),
    ],
)  # fmt: skip
def test_namespaces(world: type[World], plural: str, obj: Any, more: Any, matches: bool) -> None:
    """That of the write, or the namespace that is written: its new labels, or those that it has."""
    w = world()
    w.namespace("ns", labels={"a": "b"})
    w.namespace("other")
    namespaces = Namespaces(w.context, w.informers.informer(NAMESPACES))
    assert result_of(namespaces.match(SELECTOR, w.review(plural, obj, **more))) is matches


def test_objects_in_other_versions(world: type[World]) -> None:
    """Kinds with a conversion webhook are converted by it, others by their tables."""
    asked: list[Any] = []

    async def translate(resource: Any, objects: Any) -> Any:
        asked.append((resource, objects))
        return [CONVERTED]

    w = world()
    webhooks = cast(Any, SimpleNamespace(translate=translate))
    context = replace(w.context, outbound=replace(w.context.outbound, webhooks=webhooks))
    custom: Any = SimpleNamespace(converter=object())
    assert result_of(in_version(context, custom, LABELLED)) is CONVERTED
    assert asked == [(custom, (LABELLED,))]
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {},
        "spec": {"maxReplicas": 1},
    }
    resource = w.catalog.resource("autoscaling", "v2", "horizontalpodautoscalers")
    assert resource is not None
    assert result_of(in_version(w.context, resource, scaler))["apiVersion"] == "autoscaling/v2"
