"""Objects that are written and not yet seen by the informer, and images of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.scheduler.columns.images import Images
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.plugins.assumed import AssumedObjects, version
from orchd.testing.doubles.informers import MemoryInformer


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("", 0), (None, 0), ("x", 0), ("-1", 0)])
def test_version_of_an_object(text: Any, number: int) -> None:
    assert version({"metadata": {"resourceVersion": text}}) == number


def _facts(*images: Any) -> NodeFacts:
    listed = [{"names": names, "sizeBytes": size} for names, size in images]
    return NodeFacts({"metadata": {"name": "n", "labels": {}}, "status": {"allocatable": {}, "images": listed}})


def test_images_of_nodes() -> None:
    """By each of their names; the first size of a name on a node counts. Each change raises the version."""
    images = Images()
    first, second = _facts((["a:v1", "b:v1"], 10), (["c:v1"], 5)), _facts((["a:v1"], 10), (["a:v1"], 99))
    images.add(0, first)
    images.add(3, second)
    assert images.version == 4
    assert [dict(images.rows(name)) for name in ("a:v1", "b:v1", "c:v1", "d:v1")] == [
        {0: 10, 3: 10},
        {0: 10},
        {0: 5},
        {},
    ]
    images.remove(0, first)
    assert images.version == 6
    assert [dict(images.rows(name)) for name in ("a:v1", "b:v1", "c:v1")] == [{3: 10}, {}, {}]
    images.remove(3, second)
    assert not images.rows("a:v1")


def _volume(number: str, **members: Any) -> dict[str, Any]:
    return {"metadata": {"name": "v", "resourceVersion": number}, **members}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, "7"), (_volume("6"), "7"), (_volume("7", status={}), "7"), (_volume("8"), "8"), ("deleted", None),
    ],
)  # fmt: skip
def test_assumption_lasts_until_the_informer_is_newer(change: Any, expected: str | None) -> None:
    """Or until the object is gone. Lists have it too."""
    informer = MemoryInformer()
    objects = AssumedObjects(informer)
    informer.put(_volume("5"))
    objects.assume(_volume("7"))
    if change == "deleted":
        informer.remove("", "v")
    elif change is not None:
        informer.put(change)
    shown = objects.get("", "v")
    assert (shown and shown["metadata"]["resourceVersion"]) == expected
    assert [each["metadata"]["resourceVersion"] for each in objects.latest(informer.list())] == (
        [expected] if expected else []
    )
    objects.restore(_volume("7"))
    assert objects.get("", "v") is objects.present("", "v") is informer.get("", "v")


def test_assumptions_that_are_too_late() -> None:
    """Of an object that is gone, or older than the one that is there; an equal version is not."""
    informer = MemoryInformer()
    objects = AssumedObjects(informer)
    with pytest.raises(ValueError, match='could not find "v"'):
        objects.assume(_volume("5"))
    informer.put(_volume("5"))
    with pytest.raises(ValueError, match=r'"v" is out of sync \(stored: 5, assume: 4\)'):
        objects.assume(_volume("4"))
    objects.assume(_volume("5", status={}))
    assert objects.get("", "v") == _volume("5", status={})
