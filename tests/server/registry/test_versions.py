"""Objects in the requested, the working and the stored version, with a conversion webhook and without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST
from orchd.server.registry.versions import Versions, size_of
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import LARGE, ComputeThread
from tests.server.registry.test_field_management import WEBHOOK, custom, thing

Object = dict[str, Any]
NONE = {"strategy": "None"}


class Converted:
    """Versions of one catalog, whose webhook returns `answer`, or the objects in the wanted version."""

    def __init__(
        self, conversion: Object = WEBHOOK, *, answer: list[Object] | None = None, webhook: bool = True
    ) -> None:
        self.catalog: Catalog = custom(conversion)
        self.asked: list[str] = []
        self._answer = answer
        settings = ObjectSettings(dialect=KUBERNETES, release=NEWEST)
        self.versions = Versions(lambda: self.catalog, settings, self._convert if webhook else None, ComputeThread())

    async def _convert(self, resource: Resource, objects: Sequence[Object], to: str) -> list[Object]:
        self.asked.append(to)
        return [{**obj, "apiVersion": to} for obj in objects] if self._answer is None else self._answer

    def things(self, version: str) -> Resource:
        return self.resource("a.b", version, "things")

    def resource(self, group: str, version: str, plural: str) -> Resource:
        resource = self.catalog.resource(group, version, plural)
        assert resource is not None
        return resource


def test_objects_of_the_version_are_not_converted() -> None:
    """They are returned as they are; others are converted together, in canonical shape."""
    made = Converted()
    same = (thing("v2", note=1),)
    assert run(made.versions.to_requested(made.things("v2"), same)) is same and made.asked == []
    mixed = run(made.versions.to_requested(made.things("v2"), (thing("v1", note=1), thing("v2", note=2))))
    assert mixed == [thing("v2", note=1), thing("v2", note=2)] and made.asked == ["a.b/v2"]
    assert run(made.versions.to_working(made.things("v2"), thing("v1", note=1))) == thing("v2", note=1)
    stored = run(made.versions.to_stored(made.things("v2"), thing("v2", note=1)))
    assert stored == thing("v1", note=1) and made.asked[1:] == ["a.b/v2", "a.b/v1"]
    silent = Converted(webhook=False)
    old = (thing("v1"),)
    assert run(silent.versions.to_requested(silent.things("v2"), old)) is old


@pytest.mark.parametrize("answer", [[{**thing("v2"), "metadata": 5}], [{**thing("v2"), "metadata": {"labels": 5}}]])
def test_answers_that_are_no_objects_of_the_kind(answer: list[Object]) -> None:
    made = Converted(answer=answer)
    with pytest.raises(ApiError, match="conversion made an object that is no Thing: ") as refused:
        run(made.versions.to_requested(made.things("v2"), (thing("v1"),)))
    assert refused.value.code == 500


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"kind": "Other"}, "an object of kind Other and version a.b/v1 cannot be stored as Thing of a.b/v1"),
        ({"apiVersion": "a.b/v2"}, "an object of kind Thing and version a.b/v2 cannot be stored as Thing of a.b/v1"),
    ],
)
def test_objects_of_another_kind_are_not_stored(members: Object, message: str) -> None:
    """Lists are joined from stored objects: all must be of the kind."""
    made = Converted(answer=[{**thing("v1"), **members}])
    with pytest.raises(ApiError, match=message) as refused:
        run(made.versions.to_stored(made.things("v2"), thing("v2")))
    assert refused.value.code == 500


def test_versions_of_built_in_kinds() -> None:
    """They are converted without a webhook, to the storage version for the write sequence."""
    made = Converted()
    scaler = {
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "K", "name": "n"}, "targetCPUUtilizationPercentage": 5},
    }  # fmt: skip
    first = made.resource("autoscaling", "v1", "horizontalpodautoscalers")
    working = run(made.versions.to_working(first, scaler))
    assert working["apiVersion"] == "autoscaling/v2" and len(working["spec"]["metrics"]) == 1
    assert run(made.versions.to_stored(first, working)) is working
    assert run(made.versions.to_requested(first, (working,)))[0]["spec"]["targetCPUUtilizationPercentage"] == 5
    assert made.asked == []


def test_admitted_objects_get_their_shape_again() -> None:
    """An object that admission changed is canonical in the working version, or an internal error."""
    made = Converted(NONE)
    maps = made.resource("", "v1", "configmaps")
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "labels": None}, "data": {}, "odd": 1}
    canonical = made.versions.canonicalize(maps, obj)
    assert canonical == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    with pytest.raises(ApiError, match="admission left an object that is no ConfigMap: "):
        made.versions.canonicalize(maps, {**obj, "data": 5})
    hooked = Converted()
    second = hooked.things("v2")
    assert hooked.versions.canonicalize(second, thing("v2", amount=1, size=2)) == thing("v2", amount=1)


def test_size_of_converted_objects() -> None:
    """Only whether objects are large counts."""
    assert size_of([{"a": "x"}]) == 0
    assert size_of([{"a": "x" * (LARGE + 1)}]) == LARGE + 1
