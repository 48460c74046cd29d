"""Adoption and release: which objects are patched, with which preconditions, and which are not changed."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.adoption import Parent, claim, claim_members, controlled_by
from orchd.controllers.expectations import Expectations
from orchd.controllers.members import Census, Members
from orchd.controllers.objects import PODS, REPLICA_SETS, index_by_controller
from orchd.errors import ApiError
from orchd.kinds.fields import owner_reference
from orchd.kinds.objects.selectors import LabelSelector
from orchd.testing.doubles.informers import MemoryInformer
from orchd.testing.doubles.server import run

SELECTOR = LabelSelector.from_map({"a": "b"})
KIND = ("apps/v1", "ReplicaSet")


def parent(uid: str = "u", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": "r", "uid": uid, **metadata}, "spec": {}}


def pod(name: str, *, owner: str = "", namespace: str = "n", deleting: bool = False, **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "namespace": namespace, "name": name, "uid": f"uid-{name}", "resourceVersion": "7", "labels": labels or {"a": "b"},
    }  # fmt: skip
    if owner:
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": "r", "uid": owner, "controller": True}]
    if deleting:
        metadata["deletionTimestamp"] = "2023-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}}


class Api:
    """Answers a get with `live` and records patches; objects in `gone` do not exist."""

    def __init__(self, live: dict[str, Any] | None) -> None:
        self.live = live
        self.gone: set[str] = set()
        self.gets = 0
        self.patches: list[tuple[str, Any]] = []

    async def get(self, ref: ResourceRef, namespace: str, name: str) -> Any:
        self.gets += 1
        if self.live is None:
            raise ApiError(404, "NotFound", "gone")
        return self.live

    async def patch(self, ref: ResourceRef, namespace: str, name: str, patch: Any, *, content_type: str) -> Any:
        if name in self.gone:
            raise ApiError(404, "NotFound", "gone")
        self.patches.append((name, patch["metadata"]))
        return {
            "metadata": {"namespace": namespace, "name": name, **patch["metadata"]},
            "spec": {},
            "status": {"phase": "Running"},
        }


class Bench:
    """Both forms of claiming on one set of pods."""

    def __init__(self, *pods: dict[str, Any], live: dict[str, Any] | None = None) -> None:
        self.api: Any = Api(parent() if live is None else live)
        self.informer = MemoryInformer()
        self.members = Members("ReplicaSet", "cost")
        index_by_controller(self.informer)
        for each in pods:
            self.informer.put(each)
            self.members.observe(None, each)

    def claim(self, form: str, owner: dict[str, Any]) -> list[str]:
        """Names of the pods that belong to the owner now."""
        claimant = Parent(owner, REPLICA_SETS, KIND, SELECTOR)
        if form == "objects":
            claimed = run(claim(self.api, claimant, PODS, controlled_by(self.informer)))
            return sorted(each["metadata"]["name"] for each in claimed)
        census: Census = run(claim_members(self.api, claimant, self.members, self.informer))
        return sorted(member.name for member in census)


FORMS = pytest.mark.parametrize("form", ["objects", "members"])
GUARDS = {"uid": "uid-p", "resourceVersion": "7"}


@FORMS
@pytest.mark.parametrize(
    ("found", "mine", "patched"),
    [
        (pod("p", owner="u"), ["p"], None),
        (pod("p"), ["p"], {**GUARDS, "ownerReferences": [owner_reference(parent(), *KIND)]}),
        (pod("p", deleting=True), [], None),
        (pod("p", a="c"), [], None),
        (pod("p", owner="other"), [], None),
        (pod("p", namespace="elsewhere"), [], None),
        (pod("p", owner="u", namespace="elsewhere"), [], None),
        (pod("p", owner="u", a="c"), [], {**GUARDS, "ownerReferences": None}),
    ],
)
def test_adoption_and_release_check_the_uid(form: str, found: dict[str, Any], mine: list[str], patched: Any) -> None:
    """Adoption and release patch an object only if its uid is the observed one."""
    bench = Bench(found)
    assert bench.claim(form, parent()) == mine
    assert bench.api.patches == ([] if patched is None else [("p", patched)])


@FORMS
@pytest.mark.parametrize(
    ("seen", "live"),
    [
        (parent(), parent("another")),
        (parent(), parent(deletionTimestamp="2023-01-01T00:00:00Z")),
        (parent(deletionTimestamp="2023-01-01T00:00:00Z"), parent()),
    ],
)
def test_deleted_or_replaced_owner_adopts_nothing(form: str, seen: dict[str, Any], live: dict[str, Any]) -> None:
    """Nothing is adopted for an owner that is deleted or replaced, even when only the server knows."""
    bench = Bench(pod("p"), live=live)
    assert bench.claim(form, seen) == []
    assert bench.api.patches == []


@FORMS
def test_owner_is_read_once_per_pass(form: str) -> None:
    """The owner is read once for all adoptions of a pass, and not at all if there are none."""
    bench = Bench(pod("p"), pod("q"), pod("s"))
    assert bench.claim(form, parent()) == ["p", "q", "s"]
    assert bench.api.gets == 1
    bench = Bench(pod("p", owner="u"))
    bench.claim(form, parent())
    assert bench.api.gets == 0


@FORMS
def test_deleted_pod_is_not_adopted(form: str) -> None:
    """A pod that is deleted before its adoption does not count; the others do."""
    bench = Bench(pod("p"), pod("q"))
    bench.api.gone.add("p")
    assert bench.claim(form, parent()) == ["q"]


def test_adopted_pod_in_the_informer_counts_once() -> None:
    """The informer may show the adoption before its response arrives."""
    bench = Bench(pod("p"))
    ask = bench.api.patch

    async def patch(*arguments: Any, **options: Any) -> Any:
        changed = await ask(*arguments, **options)
        bench.members.observe(pod("p"), pod("p", owner="u"))
        return changed

    bench.api.patch = patch
    assert bench.claim("members", parent()) == ["p"]


@pytest.mark.parametrize("seen", [pod("p"), pod("p", owner="u", a="c")])
def test_replaced_pod_is_neither_adopted_nor_released(seen: dict[str, Any]) -> None:
    """A pod that was replaced by another of its name is not patched until the replacement is observed."""
    bench = Bench(seen)
    bench.informer.put({**seen, "metadata": {**seen["metadata"], "uid": "another"}})
    assert bench.claim("members", parent()) == []
    assert bench.api.patches == []


@pytest.mark.parametrize(("passed", "pause"), [(0.0, 60.0), (30.0, 30.0), (59.0, 1.0), (60.0, 0.0), (61.0, 0.0)])
def test_expectations_expire_after_a_minute(passed: float, pause: float) -> None:
    """An expectation that is never met expires after a minute."""
    now = [100.0]
    expected: Expectations[str] = Expectations(MemoryInformer(), lambda: now[0])
    expected.expect_creation("k", pod("p"))
    now[0] += passed
    assert expected.pause("k") == pause


def test_expectations_expire_by_their_newest_write() -> None:
    """Of several writes the newest sets the expiry; all of them have to be observed."""
    now, informer = [0.0], MemoryInformer()
    expected: Expectations[str] = Expectations(informer, lambda: now[0])
    expected.expect_creation("k", pod("p"))
    now[0] = 50.0
    expected.expect_creation("k", pod("q"))
    assert expected.pause("k") == 60.0
    expected.observe(None, pod("q"))
    assert expected.pause("k") == 10.0
    expected.observe(None, pod("p"))
    assert expected.pause("k") == 0.0


def test_observed_objects_are_not_expected() -> None:
    """No event is expected for an object that the informer has, nor for the deletion of an absent or terminating
    one."""
    informer = MemoryInformer()
    expected: Expectations[str] = Expectations(informer, lambda: 0.0)
    informer.put(pod("p"))
    informer.put(pod("terminating", deleting=True))
    expected.expect_creation("k", pod("p"))
    expected.expect_deletion("k", pod("absent"))
    expected.expect_deletion("k", pod("terminating"))
    assert expected.pause("k") == 0.0
    replaced = pod("p")
    replaced["metadata"]["uid"] = "another"
    expected.expect_deletion("k", replaced)
    assert expected.pause("k") == 0.0
    expected.expect_deletion("k", pod("p"))
    assert expected.pause("k") > 0.0
    expected.observe(pod("p"), None)
    assert expected.pause("k") == 0.0
    # An object of the same name is not the created one.
    expected.expect_creation("k", replaced)
    assert expected.pause("k") > 0.0
