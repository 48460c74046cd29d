"""The write sequence without a server: admission, lost races, failing stores, and what is not written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from orchd.cache.stored_encoding import encode
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.strictness import Strictness
from orchd.server.registry.operations import Apply, Create, Edit, Replace
from orchd.store.interfaces import ClaimedError, RevisionConflictError, StoreError, UnavailableError
from orchd.txkit.compute_thread import LARGE
from tests.server.registry.registry_support import Bench, Object
from tests.server.registry.test_field_management import custom

MAPS, LEASES = "v1/configmaps", "coordination.k8s.io/v1/leases"


async def allow() -> None:
    """The user may create the object too."""


class Maps(Bench):
    """A registry with the ConfigMap ``x``, at revision 2."""

    def __init__(self, release: Release = SPECIFICATION, **metadata: Any) -> None:
        super().__init__(release)
        self.start()
        obj = self.map("x", **metadata)
        self.do(self.store.create("/configmaps/a/x", encode(obj)))

    def map(self, name: str, *, data: Object | None = None, **metadata: Any) -> Object:
        metadata = {"name": name, "namespace": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
        return self.canonical(MAPS, {"metadata": metadata, "data": data or {"k": "v"}})

    def create(self, name: str, **members: Any) -> Any:
        return self.do(self.registry.write(self.context(MAPS, **members), Create(obj=self.map(name))))

    def replace(self, name: str, obj: Object, **members: Any) -> Any:
        operation = Replace(name=name, obj=obj, authorize_create=allow)
        return self.do(self.registry.write(self.context(MAPS, **members), operation))

    def data(self, name: str) -> Any:
        entry = self.stored(MAPS, name)
        return None if entry is None else entry.decoded().get("data")


def test_admission_reviews_writes() -> None:
    """It sees an object before and after the strategy, and what it changes is stored."""
    maps = Maps()
    maps.admission.changes = {"data": {"by": "admission"}}
    maps.create("y")
    maps.replace("x", maps.map("x", data={"new": "1"}))
    assert maps.admission.seen == ["CREATE mutate y", "CREATE validate y", "UPDATE mutate x", "UPDATE validate x"]
    assert maps.data("x") == maps.data("y") == {"by": "admission"}


@pytest.mark.parametrize("step", ["mutate", "validate"])
def test_admission_refuses_writes(step: str) -> None:
    maps = Maps()
    maps.admission.refused = step
    with pytest.raises(ApiError, match=step):
        maps.create("y")
    with pytest.raises(ApiError, match=step):
        maps.replace("x", maps.map("x", data={"new": "1"}))
    assert (maps.data("x"), maps.data("y"), maps.store.revision) == ({"k": "v"}, None, 2)


def test_admission_that_breaks_an_object_is_an_internal_error() -> None:
    maps = Maps()
    maps.admission.changes = {"data": 5}
    with pytest.raises(ApiError, match="admission left an object that is no ConfigMap") as refused:
        maps.create("y")
    assert refused.value.code == 500


def test_unchanged_object_is_not_written() -> None:
    """The entry is the stored one; a dry run of a change is shown, and not stored."""
    maps = Maps()
    entry = maps.stored(MAPS, "x")
    assert maps.replace("x", maps.map("x")).entry is entry
    written = maps.replace("x", maps.map("x", data={"new": "1"}), dry_run=True)
    assert (written.entry.decoded()["data"], written.created) == ({"new": "1"}, False)
    created = maps.create("y", dry_run=True)
    assert created.created and "resourceVersion" not in created.entry.decoded()["metadata"]
    assert maps.stored(MAPS, "x") is entry and maps.stored(MAPS, "y") is None and maps.store.revision == 2


@pytest.mark.parametrize("dry_run", [False, True])
def test_change_that_completes_a_deletion(dry_run: bool) -> None:
    """The object goes with its last finalizer; a dry run only shows it."""
    marked: Object = {"deletionTimestamp": "2026-01-02T00:00:00Z", "deletionGracePeriodSeconds": 0}
    maps = Maps(finalizers=["x.y/z"], **marked)
    written = maps.replace("x", maps.map("x"), dry_run=dry_run)
    assert written.entry.decoded()["metadata"]["deletionTimestamp"] == "2026-01-02T00:00:00Z"
    assert (maps.data("x") is None) == (not dry_run)


def test_lost_races_are_repeated_for_a_while() -> None:
    """A change is made again after each conflict; a client whose change always loses gets one in the end."""
    maps = Maps()
    update, lost = maps.store.update, list[int]()

    async def race(key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        lost.append(expected)
        if len(lost) <= limit:
            raise RevisionConflictError(key, None)
        return await update(key, value, expected=expected, ttl=ttl)

    maps.store.update = race  # type: ignore[method-assign]
    limit = 3
    maps.replace("x", maps.map("x", data={"new": "1"}))
    assert lost == [2] * 4 and maps.data("x") == {"new": "1"}
    limit = 10_000
    with pytest.raises(ApiError, match="the object has been modified") as refused:
        maps.replace("x", maps.map("x", data={"new": "2"}))
    assert refused.value.code == 409


@pytest.mark.parametrize("claims", [1, 10_000])
def test_taken_claims_are_allocated_again(claims: int) -> None:
    """A new object whose value another server has taken meanwhile is made again, for a while."""
    maps = Maps()
    create, lost = maps.store.create, list[str]()

    async def race(key: str, value: bytes, *, ttl: int | None = None) -> int:
        lost.append(key)
        if len(lost) <= claims:
            raise ClaimedError("claim", "/holder", 1)
        return await create(key, value, ttl=ttl)

    maps.store.create = race  # type: ignore[method-assign]
    if claims == 1:
        maps.create("y")
        assert lost == ["/configmaps/a/y"] * 2
    else:
        with pytest.raises(ApiError) as refused:
            maps.create("y")
        assert refused.value.code == 500


@pytest.mark.parametrize(
    ("failure", "message", "headers"),
    [
        (UnavailableError("disk full"), "the store cannot take writes: disk full", {"Retry-After": "1"}),
        (StoreError("odd"), "Internal error occurred: odd", {}),
    ],
)
def test_failing_store_is_a_500(failure: StoreError, message: str, headers: dict[str, str]) -> None:
    maps = Maps()

    async def fail(*_: Any, **__: Any) -> int:
        raise failure

    maps.store.create = maps.store.update = fail  # type: ignore[method-assign]
    with pytest.raises(ApiError) as creation:
        maps.create("y")
    with pytest.raises(ApiError) as change:
        maps.replace("x", maps.map("x", data={"new": "1"}))
    for refused in (creation, change):
        assert (refused.value.code, refused.value.message, refused.value.headers) == (500, message, headers)


@pytest.mark.parametrize(("release", "code"), [(SPECIFICATION, 409), (NEWEST, 404)])
def test_uid_of_a_missing_object(release: Release, code: int) -> None:
    """What is missing has no uid; release 1.35 looks first whether the request may create it."""
    maps = Maps(release)
    with pytest.raises(ApiError) as refused:
        maps.replace("y", maps.map("y"))
    assert refused.value.code == code


@pytest.mark.parametrize(("release", "shown"), [(SPECIFICATION, "0x0"), (NEWEST, "0")])
def test_version_that_a_kind_requires(release: Release, shown: str) -> None:
    """The error shows the missing resourceVersion as the release does."""
    bench = Bench(release).start()
    lease = bench.canonical(LEASES, {"metadata": {"name": "l", "namespace": "a"}, "spec": {}})
    bench.do(bench.registry.write(bench.context(LEASES), Create(obj=lease)))
    operation = Replace(name="l", obj=lease, authorize_create=allow)
    with pytest.raises(ApiError, match=f"Invalid value: {shown}: must be specified for an update"):
        bench.do(bench.registry.write(bench.context(LEASES), operation))


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST])
def test_namespace_of_a_sent_object(release: Release) -> None:
    """An object without a namespace is completed with that of the request, in admission or before it."""
    maps = Maps(release)
    obj = maps.map("y")
    del obj["metadata"]["namespace"]
    maps.do(maps.registry.write(maps.context(MAPS), Create(obj=obj)))
    changed = maps.map("x", data={"new": "1"})
    del changed["metadata"]["namespace"]
    maps.replace("x", changed)
    for name in "xy":
        entry = maps.stored(MAPS, name)
        assert entry is not None and entry.decoded()["metadata"]["namespace"] == "a"


def test_permission_to_create_is_asked_for_missing_objects() -> None:
    """A replacement of a missing object needs it; that of an existing one does not."""
    bench, asked = Bench().start(), list[str]()

    async def refuse() -> None:
        asked.append("create")
        raise ApiError(403, "Forbidden", "no")

    limits = bench.canonical("v1/limitranges", {"metadata": {"name": "l", "namespace": "a"}, "spec": {"limits": []}})
    operation = Replace(name="l", obj=limits, authorize_create=refuse)
    context = bench.context("v1/limitranges")
    with pytest.raises(ApiError, match="no"):
        bench.do(bench.registry.write(context, operation))
    bench.do(bench.registry.write(context, Create(obj=limits)))
    bench.do(bench.registry.write(context, operation))
    assert asked == ["create"]


def test_applied_metadata_that_does_not_fit_is_dropped() -> None:
    """Of an applied custom object, a time of creation that is none; the rest is written."""
    bench = Bench().start()
    bench.catalog = custom({"strategy": "None"})
    resource = bench.catalog.resource("a.b", "v1", "things")
    assert resource is not None
    data = b'{"apiVersion":"a.b/v1","kind":"Thing","metadata":{"name":"t","creationTimestamp":"x","labels":{"a":"b"}},"note":1}'
    strictness = Strictness("Ignore", lambda text: None)
    operation = Apply(name="t", data=data, force=False, strictness=strictness, authorize_create=allow)
    context = replace(bench.context(MAPS), resource=resource)
    written = bench.do(bench.registry.write(context, operation)).entry.decoded()
    assert (written["note"], written["metadata"]["labels"]) == (1, {"a": "b"})
    assert written["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"
    bad = replace(operation, data=data.replace(b'"note":1', b'"note":"x"'))
    with pytest.raises(ApiError):
        bench.do(bench.registry.write(context, bad))
    other = replace(operation, name="u")
    with pytest.raises(
        ApiError, match=r"the name of the object \(t\) does not match the name on the URL \(u\)"
    ) as refused:
        bench.do(bench.registry.write(context, other))
    assert refused.value.code == 400


def test_edits_are_bound_to_a_uid() -> None:
    """An endpoint that changes an object by its uid does not change another one of that name, nor make one."""
    maps = Maps()

    async def edit(obj: Object) -> Object:
        return {**obj, "data": {"new": "1"}}

    for name, uid, code in (("x", "other", 409), ("y", "u", 409), ("y", "", 404), ("x", "u", 0), ("x", "", 0)):
        work = maps.registry.write(maps.context(MAPS), Edit(name=name, change=edit, uid=uid))
        if code:
            with pytest.raises(ApiError) as refused:
                maps.do(work)
            assert refused.value.code == code and maps.data("x") == {"k": "v"}
        else:
            assert maps.do(work).entry.decoded()["data"] == {"new": "1"}


def test_validation_that_nobody_waits_for_is_told() -> None:
    """Large objects are validated elsewhere, which learns that the request was cancelled."""
    maps, contexts = Maps(), list[Any]()

    class Elsewhere:
        """Computes what is short, and never ends a validation."""

        async def __call__(self, size: int, function: Any, *arguments: Any) -> Any:
            if function.__name__.startswith("validate"):
                contexts.append((size, arguments[0]))
                await Deferred()
            return function(*arguments)

    maps.registry._writer._compute = Elsewhere()  # type: ignore[assignment]
    obj = maps.map("y", data={"k": "v" * LARGE})
    ended: list[Any] = []
    waiting = Deferred.fromCoroutine(maps.registry.write(maps.context(MAPS, size=LARGE + 9), Create(obj=obj)))
    waiting.addErrback(lambda failure: ended.append(failure.check(CancelledError)))
    ((size, context),) = contexts
    assert size == context.size == LARGE + 9 and not context.interrupted()
    waiting.cancel()
    assert context.interrupted() and ended == [CancelledError]
