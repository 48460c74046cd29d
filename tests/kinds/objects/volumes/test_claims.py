"""Classes and sizes of claims of volumes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.volumes import claims

Object = dict[str, Any]
BETA, BETA_DEFAULT, DEFAULT = (
    ORCH(key)
    for key in (
        "volume.beta.{long}.io/storage-class",
        "storageclass.beta.{long}.io/is-default-class",
        "storageclass.{long}.io/is-default-class",
    )
)


@pytest.mark.parametrize(
    ("annotations", "spec", "name", "says"),
    [
        ({}, {}, "", False),
        ({}, {"storageClassName": ""}, "", True),
        ({}, {"storageClassName": "fast"}, "fast", True),
        ({BETA: "old"}, {}, "old", True),
        ({BETA: "old"}, {"storageClassName": "fast"}, "old", True),
        ({BETA: ""}, {"storageClassName": "fast"}, "", True),
    ],
)
def test_class_of_a_claim(annotations: Object, spec: Object, name: str, says: bool) -> None:
    """The annotation precedes the member; a claim may say that it has none."""
    claim = {"metadata": {"annotations": annotations}, "spec": spec}
    assert (claims.class_of(claim, ORCH), claims.has_class(claim, ORCH)) == (name, says)


@pytest.mark.parametrize(
    ("annotations", "is_default"),
    [({}, False), ({DEFAULT: "true"}, True), ({BETA_DEFAULT: "true"}, True), ({DEFAULT: "false"}, False)],
)
def test_default_classes(annotations: Object, is_default: bool) -> None:
    assert claims.is_default_class({"metadata": {"annotations": annotations}}, ORCH) == is_default


@pytest.mark.parametrize(
    ("created", "name"),
    [([], ""), ([("b", 1)], "b"), ([("a", 1), ("b", 2)], "b"), ([("b", 2), ("a", 2), ("c", 1)], "a")],
)
def test_newest_class(created: list[tuple[str, int]], name: str) -> None:
    """The class that was created last, of several the first by name."""
    listed = [{"metadata": {"name": each, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}} for each, day in created]
    assert claims.newest(listed) == name
