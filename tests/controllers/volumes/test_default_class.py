"""The default class of claims that were created before there was one, in release 1.35."""

from __future__ import annotations

import pytest

from orchd.controllers.objects import CLAIMS
from orchd.errors import ApiError
from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import CLASSES, claim, storage_class

RUNNING_CONTROLLERS = ("persistentvolume-binder",)
SERVER_FLAGS = ("--emulated-version=1.35",)
MARK = "storageclass.orch.io/is-default-class"


def _class_of(cluster: Cluster, name: str) -> str | None:
    held = cluster.get(CLAIMS, name)
    assert held is not None
    class_name: str | None = held["spec"].get("storageClassName")
    return class_name


def test_claims_get_the_default_class_later(cluster: Cluster) -> None:
    """A claim without a class gets the default one as soon as a class is marked, and one that asked for none does
    not."""
    for name, given in (("none", None), ("empty", ""), ("named", "other")):
        cluster.create(CLAIMS, claim(name, storageClassName=given))
    cluster.settle()
    assert _class_of(cluster, "none") is None
    cluster.create(CLASSES, storage_class("k"), "")
    cluster.settle(1)
    assert _class_of(cluster, "none") is None
    cluster.patch(CLASSES, "k", {"metadata": {"annotations": {MARK: "true"}}}, namespace="")
    cluster.settle(1)
    assert [_class_of(cluster, name) for name in ("none", "empty", "named")] == ["k", "", "other"]


@pytest.mark.parametrize(("before", "after", "refused"), [(None, "k", False), ("k", "l", True), ("", "k", True)])
def test_a_class_can_be_set_once(cluster: Cluster, before: str | None, after: str, refused: bool) -> None:
    """A claim without a class may get one; a class that was given stays."""
    cluster.create(CLAIMS, claim("c", storageClassName=before))
    change = {"spec": {"storageClassName": after}}
    if refused:
        with pytest.raises(ApiError, match="spec is immutable after creation"):
            cluster.patch(CLAIMS, "c", change)
    else:
        cluster.patch(CLAIMS, "c", change)
    assert _class_of(cluster, "c") == (before if refused else after)
