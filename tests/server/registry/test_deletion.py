"""Deletion without a server: what is marked, what admission sees, and values that cannot be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.cache.stored_encoding import encode
from orchd.errors import ApiError
from orchd.kinds.objects.list_options import ListOptions
from orchd.kinds.objects.list_query import EVERYTHING, ListQuery
from orchd.server.registry.deletion import finalizers_after, mark
from orchd.server.registry.operations import Create, Delete, Edit
from orchd.store.interfaces import DamagedValue, UnavailableError
from tests.server.registry.registry_support import NOW, Bench, Object

T0, T5, T30 = "2027-01-15T08:00:00Z", "2027-01-15T08:00:05Z", "2027-01-15T08:00:30Z"
MAPS, PODS = "v1/configmaps", "v1/pods"


def kind(**members: Any) -> Any:
    """The strategy of a kind that nothing holds up."""
    return SimpleNamespace(
        **{
            "graceful_deletion": False,
            "two_phase_deletion": False,
            "default_propagation": "Background",
            "dependents_finalizer": "",
            "blocks_deletion": lambda obj: False,
            "grace_period": lambda obj, options: options.get("gracePeriodSeconds", 30),
            "prepare_deletion": lambda context, obj, old: {**obj, "prepared": old},
            **members,
        }
    )


PLAIN, HELD = kind(), kind(blocks_deletion=lambda obj: True)
GRACEFUL, PHASED = kind(graceful_deletion=True), kind(two_phase_deletion=True, blocks_deletion=lambda obj: True)
PENDING = {"deletionTimestamp": T30, "deletionGracePeriodSeconds": 30, "generation": 4}


@pytest.mark.parametrize(
    ("strategy", "metadata", "options", "after", "gone", "prepared"),
    [
        (PLAIN, {}, {}, {}, True, False),
        (PLAIN, {"finalizers": ["orphan"]}, {"propagationPolicy": "Background"}, {}, True, False),
        (HELD, {}, {}, {"deletionTimestamp": T0, "deletionGracePeriodSeconds": 0}, False, True),
        (
            PLAIN,
            {"finalizers": ["x"], "generation": 1},
            {},
            {"finalizers": ["x"], "generation": 2, "deletionTimestamp": T0, "deletionGracePeriodSeconds": 0},
            False,
            True,
        ),
        # Marked before: the time stays, and the generation unless the grace period was missing.
        (
            HELD,
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0, "generation": 2},
            {},
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0, "generation": 2},
            False,
            False,
        ),
        (PHASED, {"generation": 1}, {}, {"deletionTimestamp": T0, "generation": 1}, False, True),
        (
            PHASED,
            {"deletionTimestamp": T5, "generation": 1},
            {},
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0, "generation": 2},
            False,
            False,
        ),
        (
            GRACEFUL,
            {"generation": 3},
            {},
            {"deletionTimestamp": T30, "deletionGracePeriodSeconds": 30, "generation": 4},
            False,
            True,
        ),
        (
            GRACEFUL,
            {"generation": 3},
            {"gracePeriodSeconds": 0},
            {"deletionTimestamp": T0, "deletionGracePeriodSeconds": 0, "generation": 4},
            True,
            False,
        ),
        (
            GRACEFUL,
            {"finalizers": ["x"]},
            {"gracePeriodSeconds": 0},
            {"finalizers": ["x"], "deletionTimestamp": T0, "deletionGracePeriodSeconds": 0},
            False,
            True,
        ),
        (
            GRACEFUL,
            PENDING,
            {"gracePeriodSeconds": 5},
            {**PENDING, "deletionTimestamp": T5, "deletionGracePeriodSeconds": 5},
            False,
            False,
        ),
        (
            GRACEFUL,
            PENDING,
            {"gracePeriodSeconds": 0},
            {**PENDING, "deletionTimestamp": T0, "deletionGracePeriodSeconds": 0},
            True,
            False,
        ),
        (
            GRACEFUL,
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0},
            {"gracePeriodSeconds": 9},
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0},
            True,
            False,
        ),
        (
            GRACEFUL,
            {"deletionTimestamp": T5},
            {},
            {"deletionTimestamp": T5, "deletionGracePeriodSeconds": 0},
            True,
            False,
        ),
    ],
)
def test_what_a_deletion_makes_of_an_object(
    strategy: Any, metadata: Object, options: Object, after: Object, gone: bool, prepared: bool
) -> None:
    """An object without grace period that nothing holds goes; others are marked, and prepared the first time."""
    old = {"metadata": metadata, "spec": {}}
    context: Any = SimpleNamespace(now=NOW)
    marked, removed = mark(context, strategy, old, options)
    assert (marked, removed) == ({**old, "metadata": after, **({"prepared": old} if prepared else {})}, gone)
    assert old["metadata"] is metadata


@pytest.mark.parametrize(
    ("strategy", "current", "options", "after"),
    [
        (kind(default_propagation=""), ["orphan"], {"propagationPolicy": "Foreground"}, ["orphan"]),
        (kind(default_propagation="Orphan"), [], {}, ["orphan"]),
        (kind(default_propagation="Orphan"), ["foregroundDeletion"], {}, ["foregroundDeletion"]),
        (kind(default_propagation="Orphan"), ["x"], {"propagationPolicy": "Background"}, ["x"]),
        (kind(dependents_finalizer="foregroundDeletion"), [], {"orphanDependents": False}, ["foregroundDeletion"]),
        (PLAIN, ["orphan"], {"orphanDependents": False}, []),
        (PLAIN, [], {"orphanDependents": True, "propagationPolicy": "Foreground"}, ["orphan"]),
        (PLAIN, ["orphan", "x"], {}, ["orphan", "x"]),
        (PLAIN, ["foregroundDeletion", "x"], {}, ["foregroundDeletion", "x"]),
        (PLAIN, ["orphan", "foregroundDeletion", "x"], {}, ["x", "orphan"]),
        (PLAIN, ["x"], {}, ["x"]),
        (PLAIN, ["x"], {"propagationPolicy": "Foreground"}, ["x", "foregroundDeletion"]),
    ],
)
def test_finalizers_of_propagation_policies(
    strategy: Any, current: list[str], options: Object, after: list[str]
) -> None:
    """The policy of the options counts, then that of the finalizers, then that of the kind."""
    assert finalizers_after(strategy, current, options) == after


def config_map(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "a", **metadata}}


def pod(name: str, **metadata: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    meta = {"name": name, "namespace": "a", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, "nodeName": "n"}}


def bench(path: str, *objects: Object) -> Bench:
    """A registry that has some objects, stored as they are."""
    made = Bench().start()
    for obj in objects:
        metadata = obj["metadata"]
        made.do(made.store.create(f"/{made.resource(path).key}/a/{metadata['name']}", encode(obj)))
    return made


@pytest.mark.parametrize(
    ("operation", "seen"),
    [
        (Delete(name="x"), ["DELETE mutate None", "DELETE validate None"]),
        (Delete(name="x", reviewed_name=""), ["DELETE mutate ", "DELETE validate "]),
        (Delete(name="x", reviewed=False), []),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_admission_reviews_a_deletion(operation: Delete, seen: list[str], dry_run: bool) -> None:
    """A deletion is reviewed under the name of the operation, unless it was reviewed before; also in a dry run."""
    made = bench(MAPS, config_map("x"))
    deleted = made.do(made.registry.delete(made.context(MAPS, dry_run=dry_run), operation))
    assert made.admission.seen == seen
    assert deleted.gone and (made.stored(MAPS, "x") is None) == (not dry_run)


@pytest.mark.parametrize("step", ["mutate", "validate"])
def test_admission_refuses_a_deletion(step: str) -> None:
    made = bench(MAPS, config_map("x"))
    made.admission.refused = step
    with pytest.raises(ApiError, match=step):
        made.do(made.registry.delete(made.context(MAPS), Delete(name="x")))
    assert made.stored(MAPS, "x") is not None


@pytest.mark.parametrize("dry_run", [False, True])
def test_last_change_before_a_deletion(dry_run: bool) -> None:
    """What an operation announces is written before; an unchanged object, or a dry run, is not written."""
    made = bench(MAPS, config_map("x"), config_map("y"))
    versions: list[tuple[str, str, Any]] = []
    made.registry.cache(made.resource(MAPS)).subscribe(
        after=3,
        prefix="",
        on_change=lambda change: versions.append(
            (change.entry.path, change.type.value, change.entry.decoded().get("data"))
        ),
        on_end=lambda error: None,
    )
    changed = Delete(name="x", announce=lambda obj: {**obj, "data": {"a": "b"}})
    made.do(made.registry.delete(made.context(MAPS, dry_run=dry_run), changed))
    made.do(made.registry.delete(made.context(MAPS, dry_run=dry_run), Delete(name="y", announce=lambda obj: {**obj})))
    assert versions == (
        [] if dry_run else [("a/x", "MODIFIED", {"a": "b"}), ("a/x", "DELETED", {"a": "b"}), ("a/y", "DELETED", None)]
    )


def test_object_that_goes_at_once_is_not_marked() -> None:
    """Watchers of a kind without grace periods see no mark, whatever the options make of the finalizers."""
    made = bench(MAPS, config_map("x", finalizers=["foregroundDeletion"]))
    seen: list[Any] = []
    made.registry.cache(made.resource(MAPS)).subscribe(
        after=2, prefix="", on_change=seen.append, on_end=lambda error: None
    )
    options = {"propagationPolicy": "Background"}
    deleted = made.do(made.registry.delete(made.context(MAPS), Delete(name="x", options=options)))
    assert [change.type.value for change in seen] == ["DELETED"]
    assert deleted.object["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize(
    ("metadata", "options", "finalizers"),
    [
        (PENDING, {}, ["x"]),
        (PENDING, {"gracePeriodSeconds": 30}, ["x"]),
        (PENDING, {"gracePeriodSeconds": 31}, ["x"]),
        (PENDING, {"gracePeriodSeconds": 29}, ["x", "foregroundDeletion"]),
        (PENDING, {"gracePeriodSeconds": -1}, ["x", "foregroundDeletion"]),
        ({"deletionTimestamp": T0, "deletionGracePeriodSeconds": 0}, {}, ["x", "foregroundDeletion"]),
        ({"deletionTimestamp": T0}, {}, ["x", "foregroundDeletion"]),
        ({}, {}, ["x", "foregroundDeletion"]),
    ],
)
def test_pending_deletion_stays_as_it_is(metadata: Object, options: Object, finalizers: list[str]) -> None:
    """While a grace period runs, only options that shorten it count, also for finalizers."""
    made = bench(PODS, pod("x", finalizers=["x"], **metadata))
    asked = {"propagationPolicy": "Foreground", **options}
    deleted = made.do(made.registry.delete(made.context(PODS), Delete(name="x", options=asked)))
    assert deleted.object["metadata"]["finalizers"] == finalizers and not deleted.gone
    entry = made.stored(PODS, "x")
    assert entry is not None and entry.decoded() == deleted.object and entry.revision == deleted.revision
    assert entry.revision == (2 if finalizers == ["x"] else 3)


@pytest.mark.parametrize(
    ("path", "metadata"), [(MAPS, {"name": "x", "namespace": "a"}), ("v1/persistentvolumes", {"name": "x"})]
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_value_that_cannot_be_read_is_removed(path: str, metadata: Object, dry_run: bool) -> None:
    """Its deletion returns what is known of it; a dry run leaves it."""
    made = Bench().start()
    resource = made.resource(path)
    key = f"/{resource.key}/{'a/' if resource.namespaced else ''}x"
    made.do(made.store.create(key, DamagedValue(b"{}")))
    deleted = made.do(made.registry.delete(made.context(path, dry_run=dry_run), Delete(name="x")))
    assert deleted.object == {"kind": resource.kind, "apiVersion": "v1", "metadata": metadata} and deleted.gone
    assert (made.do(made.store.get(key)) is None) == (not dry_run)
    assert deleted.revision == (2 if dry_run else 3)


@pytest.mark.parametrize(
    ("preconditions", "code"),
    [({}, 0), ({"resourceVersion": "2"}, 0), ({"resourceVersion": "1"}, 409), ({"uid": "u"}, 500)],
)
def test_preconditions_of_a_value_that_cannot_be_read(preconditions: Object, code: int) -> None:
    made = Bench().start()
    made.do(made.store.create("/configmaps/a/x", DamagedValue(b"{}")))
    deletion = made.registry.delete(made.context(MAPS), Delete(name="x", options={"preconditions": preconditions}))
    if not code:
        assert made.do(deletion).gone
        return
    with pytest.raises(ApiError) as refused:
        made.do(deletion)
    assert refused.value.code == code


def test_value_that_cannot_be_read_is_reported() -> None:
    """Reads and changes of it fail with its key, also in a dry run; others are not affected."""
    made = bench(MAPS, config_map("y"))
    made.do(made.store.create("/configmaps/a/x", DamagedValue(b"{}")))

    async def edit(obj: Object) -> Object:
        return obj

    context = made.context(MAPS)
    for work in (
        made.registry.get(made.resource(MAPS), "a", "x"),
        made.registry.get(made.resource(MAPS), "a", "x", resource_version="0"),
        made.registry.write(context, Edit(name="x", change=edit)),
    ):
        with pytest.raises(
            ApiError, match="the stored value of /configmaps/a/x at revision 3 cannot be read"
        ) as refused:
            made.do(work)
        assert refused.value.code == 500
    with pytest.raises(ApiError, match="already exists"):
        made.do(made.registry.write(made.context(MAPS, dry_run=True), Create(obj=config_map("x"))))
    assert made.do(made.registry.get(made.resource(MAPS), "a", "y")).revision == 2


def test_failing_store_refuses_a_deletion() -> None:
    """The error of a store that takes no writes is a 500 with the reason."""
    made = bench(MAPS, config_map("x"))

    async def fail(key: str, *, expected: int) -> int:
        raise UnavailableError("the disk is full")

    made.store.delete = fail  # type: ignore[method-assign]
    with pytest.raises(ApiError, match="the store cannot take writes: the disk is full") as refused:
        made.do(made.registry.delete(made.context(MAPS), Delete(name="x")))
    assert refused.value.code == 500


@pytest.mark.parametrize(
    "request_", ["get", "any version", "list", "list at any version", "delete", "create", "change"]
)
def test_requests_wait_for_the_objects_to_be_loaded(request_: str) -> None:
    """A request that comes while the objects are being loaded finds all of them."""
    made = Bench()
    made.do(made.store.create("/configmaps/a/x", encode(config_map("x", uid="u"))))
    done: list[Any] = []

    async def edit(obj: Object) -> Object:
        return {**obj, "data": {"new": "1"}}

    if request_ == "get":
        work: Any = made.registry.get(made.resource(MAPS), "a", "x")
    elif request_ == "any version":
        work = made.registry.get(made.resource(MAPS), "a", "x", resource_version="0")
    elif request_.startswith("list"):
        options = ListOptions(resource_version="0" if "any" in request_ else "")
        work = made.registry.list(
            ListQuery(resource=made.resource(MAPS), options=options, selection=EVERYTHING, prefix="a/", path="")
        )
    elif request_ == "delete":
        work = made.registry.delete(made.context(MAPS), Delete(name="x"))
    elif request_ == "change":
        work = made.registry.write(made.context(MAPS), Edit(name="x", change=edit))
    else:
        work = made.registry.write(made.context(MAPS, dry_run=True), Create(obj=config_map("x")))
    Deferred.fromCoroutine(work).addBoth(done.append)
    assert not done
    made.start()
    (result,) = done
    if request_ == "create":
        assert result.value.reason == "AlreadyExists"
    else:
        entry = result.entry if request_ == "change" else result
        assert entry.revision == (3 if request_ in ("delete", "change") else 2)


def test_dry_run_of_a_held_object() -> None:
    """The object is shown as it would be marked, and stays as it is."""
    made = bench(MAPS, config_map("x", finalizers=["x"]))
    deleted = made.do(made.registry.delete(made.context(MAPS, dry_run=True), Delete(name="x")))
    assert (deleted.object["metadata"]["deletionTimestamp"], deleted.revision, deleted.gone) == (T0, 2, False)
    entry = made.stored(MAPS, "x")
    assert entry is not None and entry.revision == 2


def test_object_that_another_client_removes_when_it_is_marked() -> None:
    """A pod that a kubelet removes once it is marked is gone, as it was marked."""
    made = bench(PODS, pod("x", uid="u"))
    remove = made.store.delete

    async def race(key: str, *, expected: int) -> int:
        await remove(key, expected=expected)
        return await remove(key, expected=expected)

    made.store.delete = race  # type: ignore[method-assign]
    options = {"gracePeriodSeconds": 0}
    deleted = made.do(made.registry.delete(made.context(PODS), Delete(name="x", options=options)))
    assert (deleted.revision, deleted.gone) == (3, True)
    assert deleted.object["metadata"]["deletionTimestamp"] == T0
