"""Metadata that the server sets, and clients cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.server.registry import objectmeta
from tests.server.registry.registry_support import NOW, Object

CREATED = "2027-01-15T08:00:00Z"


def context(*, namespaced: bool = True) -> Any:
    return SimpleNamespace(now=NOW, namespace="a", resource=SimpleNamespace(namespaced=namespaced))


class Naming:
    """Names that a test can tell."""

    def uid(self) -> str:
        return "some-uid"

    def generate(self, prefix: str) -> str:
        return prefix + "xxxxx"


@pytest.mark.parametrize(
    ("metadata", "unnamed", "expected"),
    [
        ({"name": "n"}, False, {"name": "n"}),
        ({"name": "n", "generateName": "g-"}, False, {"name": "n", "generateName": "g-"}),
        ({"generateName": "g-"}, False, {"name": "g-xxxxx", "generateName": "g-"}),
        ({"generateName": "g-"}, True, {"name": "g-xxxxx", "generateName": "g-"}),
        ({}, False, {}),
        ({}, True, {"name": "some-uid"}),
        ({"name": "n"}, True, {"name": "n"}),
        (
            {
                "name": "n",
                "uid": "mine",
                "creationTimestamp": "x",
                "deletionTimestamp": "x",
                "deletionGracePeriodSeconds": 1,
                "selfLink": "x",
                "clusterName": "x",
                "labels": {"a": "b"},
            },
            False,
            {"name": "n", "labels": {"a": "b"}},
        ),
    ],
)
def test_metadata_of_new_objects(metadata: Object, unnamed: bool, expected: Object) -> None:
    """Names are completed; uid and time of creation are the server's, and nothing says that the object goes."""
    naming: Any = Naming()
    obj = objectmeta.for_create(context(), {"metadata": metadata, "data": {}}, naming, unnamed=unnamed)
    assert obj == {"metadata": {**expected, "uid": "some-uid", "creationTimestamp": CREATED}, "data": {}}


@pytest.mark.parametrize(
    ("metadata", "before", "expected"),
    [
        ({"uid": "u"}, {"uid": "u", "creationTimestamp": "t"}, {"uid": "u", "creationTimestamp": "t"}),
        ({"creationTimestamp": "x"}, {"uid": "u", "creationTimestamp": "t"}, {"uid": "u", "creationTimestamp": "t"}),
        ({"uid": "mine"}, {}, {"uid": "mine", "creationTimestamp": None}),
        ({"clusterName": "x", "selfLink": "x"}, {"uid": "u"}, {"uid": "u", "creationTimestamp": None}),
        # The generation is the server's.
        ({"generation": 7}, {"uid": "u", "generation": 2}, {"uid": "u", "creationTimestamp": None, "generation": 2}),
        ({"generation": 7}, {"uid": "u"}, {"uid": "u", "creationTimestamp": None}),
        # Of an object that is being deleted the time stays, and a grace period that was not sent.
        (
            {"deletionTimestamp": "x"},
            {"uid": "u", "deletionTimestamp": "d", "deletionGracePeriodSeconds": 5},
            {"uid": "u", "creationTimestamp": None, "deletionTimestamp": "d", "deletionGracePeriodSeconds": 5},
        ),
        (
            {"deletionGracePeriodSeconds": 3},
            {"uid": "u", "deletionTimestamp": "d", "deletionGracePeriodSeconds": 5},
            {"uid": "u", "creationTimestamp": None, "deletionTimestamp": "d", "deletionGracePeriodSeconds": 3},
        ),
        ({}, {"uid": "u", "deletionTimestamp": "d"}, {"uid": "u", "creationTimestamp": None, "deletionTimestamp": "d"}),
        # Validation refuses to mark an object.
        (
            {"deletionTimestamp": "x", "deletionGracePeriodSeconds": 3},
            {"uid": "u"},
            {"uid": "u", "creationTimestamp": None, "deletionTimestamp": "x", "deletionGracePeriodSeconds": 3},
        ),
    ],
)
def test_metadata_of_changed_objects(metadata: Object, before: Object, expected: Object) -> None:
    """What only the server sets is carried over."""
    obj = objectmeta.for_update(context(), {"metadata": metadata}, {"metadata": before})
    assert obj == {"metadata": {**expected, "namespace": "a"}}


@pytest.mark.parametrize("place", [objectmeta.in_namespace, objectmeta.without_system])
def test_namespace_of_an_object(place: Any) -> None:
    """It is that of the request; another one is refused, and one of an object without namespaces is dropped."""
    for metadata in ({}, {"namespace": ""}, {"namespace": "a"}):
        assert place(context(), {"metadata": metadata}) == {"metadata": {"namespace": "a"}}
    with pytest.raises(ApiError, match="the namespace of the provided object does not match the namespace sent"):
        place(context(), {"metadata": {"namespace": "b"}})
    assert place(context(namespaced=False), {"metadata": {"namespace": "b", "name": "n"}}) == {
        "metadata": {"name": "n"}
    }


def test_system_metadata_of_a_new_object_is_dropped() -> None:
    """What the server sets has no owner: it is removed before the fields of an object are owned."""
    system = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
    obj = {"metadata": {"name": "n", **dict.fromkeys(system, "x")}, "data": {}}
    assert objectmeta.without_system(context(), obj) == {"metadata": {"name": "n", "namespace": "a"}, "data": {}}
    assert objectmeta.as_sent(context(), obj) is obj
