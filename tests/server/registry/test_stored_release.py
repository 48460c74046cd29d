"""The release of a store: upgrades rewrite its objects, a lower release is refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.registry.stored_release import ReleaseMismatchError, Upgrade, prepare_store
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.results import result_of

META = {"name": "a", "namespace": "n", "resourceVersion": "", "creationTimestamp": "2026-01-01T00:00:00Z"}
LIMITED = {"assuredConcurrencyShares": 7, "limitResponse": {"type": "Reject"}}
TEMPLATE = {"metadata": {"creationTimestamp": None}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}

#: key, object as release 1.23 stores it, members after the upgrade
UPGRADED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "/endpointslices/n/a",
        {
            "kind": "EndpointSlice", "apiVersion": "discovery.orch.io/v1beta1", "metadata": META, "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.9"], "topology": {"topology.orch.io/zone": "z"}}], "ports": [],
        },
        {"apiVersion": "discovery.orch.io/v1", "endpoints": [{"addresses": ["10.0.0.9"], "conditions": {}, "zone": "z"}]},
    ),
    (
        "/horizontalpodautoscalers/n/a",
        {
            "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": META,
            "spec": {"scaleTargetRef": {"kind": "K", "name": "x"}, "minReplicas": 1, "maxReplicas": 2},
        },
        {"apiVersion": "autoscaling/v2"},
    ),
    (
        "/prioritylevelconfigurations/a",
        {
            "kind": "PriorityLevelConfiguration", "apiVersion": "flowcontrol.apiserver.orch.io/v1beta1", "metadata": META,
            "spec": {"type": "Limited", "limited": LIMITED},
        },
        {
            "apiVersion": "flowcontrol.apiserver.orch.io/v1",
            "spec": {
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 7, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
            },
        },
    ),
    (
        "/podtemplates/n/a",
        {"kind": "PodTemplate", "apiVersion": "v1", "metadata": META, "template": TEMPLATE},
        {"apiVersion": "v1"},
    ),
]  # fmt: skip


def prepare(store: MemoryStore, release: Release) -> Upgrade:
    done: Upgrade = result_of(prepare_store(store, ObjectSettings(dialect=ORCH, release=release)))
    return done


def read(store: MemoryStore, key: str) -> dict[str, Any]:
    item = result_of(store.get(key))
    assert item is not None
    value: dict[str, Any] = orjson.loads(item.value)
    return value


def old_store() -> MemoryStore:
    store = MemoryStore(Clock())
    store.start()
    for key, obj, _ in UPGRADED:
        result_of(store.create(key, orjson.dumps(obj)))
    return store


@pytest.mark.parametrize(("key", "expected"), [(key, expected) for key, _, expected in UPGRADED])
def test_objects_are_rewritten(key: str, expected: dict[str, Any]) -> None:
    """An upgrade rewrites objects in the storage version of the release, without members that it does not store."""
    store = old_store()
    prepare(store, NEWEST)
    obj = read(store, key)
    assert {name: obj[name] for name in expected} == expected
    assert "null" not in orjson.dumps(obj.get("template")).decode() or "template" not in obj


def test_a_second_start_changes_nothing() -> None:
    """A store of the release is left as it is; one of the specification's release gets no record."""
    store = old_store()
    before = result_of(store.current_revision())
    prepare(store, SPECIFICATION)
    assert result_of(store.current_revision()) == before
    prepare(store, NEWEST)
    after = result_of(store.current_revision())
    prepare(store, NEWEST)
    assert result_of(store.current_revision()) == after > before


def test_a_lower_release_is_refused() -> None:
    """A server of a lower release does not start; the error names the kinds that it cannot read, with their numbers."""
    store = old_store()
    prepare(store, NEWEST)
    with pytest.raises(ReleaseMismatchError) as caught:
        prepare(store, SPECIFICATION)
    message = str(caught.value)
    assert "the store is of release 1.35" in message
    assert "endpointslices.discovery.orch.io (1), horizontalpodautoscalers.autoscaling (1)" in message
    assert "podtemplates" not in message


def test_what_an_upgrade_reports() -> None:
    """An upgrade reports the former release, the number of rewritten objects, and the kinds with objects that are no
    longer served."""
    store = old_store()
    for name in ("a", "b", "c"):
        result_of(store.create(f"/podsecuritypolicy/{name}", b"{}"))
    done = prepare(store, NEWEST)
    assert done.raised_from == SPECIFICATION
    assert done.rewritten == len(UPGRADED)
    assert done.unserved == "podsecuritypolicies.policy (3)"
    assert prepare(store, NEWEST) == Upgrade()


def test_an_empty_store_is_raised_from_nothing() -> None:
    """The first start of a server raises nothing, also beside the record of an encrypted store, and records the
    release."""
    store = MemoryStore(Clock())
    store.start()
    result_of(store.create("/.sealed", b"{}"))
    assert prepare(store, NEWEST).raised_from is None
    assert read(store, "/.release") == {"release": "1.35"}


@pytest.mark.parametrize(
    ("record", "release", "message"),
    [
        (
            "1.35",
            SPECIFICATION,
            "the store is of release 1.35, which a server of release 1.23 cannot use. Start the server",
        ),
        (
            "9.99",
            NEWEST,
            "the store is of release 9.99, which a server of release 1.35 cannot use. Start the server with ",
        ),
    ],
)
def test_a_later_release_without_objects(record: str, release: Release, message: str) -> None:
    """A store of a later release, or of an unknown one, is refused also when it is empty."""
    store = MemoryStore(Clock())
    store.start()
    result_of(store.create("/.release", orjson.dumps({"release": record})))
    with pytest.raises(ReleaseMismatchError) as caught:
        prepare(store, release)
    assert str(caught.value).startswith(message)


def test_a_recorded_release_is_raised() -> None:
    """The record of an earlier release is replaced, also if another server is faster; what this server finds in its
    form is not written again."""
    store = old_store()
    result_of(store.create("/.release", orjson.dumps({"release": "1.23"})))
    update = store.update

    async def race(key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        await update(key, value, expected=expected)
        return await update(key, value, expected=expected)

    store.update = race  # type: ignore[method-assign]
    done = prepare(store, NEWEST)
    assert (done.raised_from, done.rewritten) == (SPECIFICATION, 0)
    assert read(store, "/.release") == {"release": "1.35"}
    assert read(store, "/horizontalpodautoscalers/n/a")["apiVersion"] == "autoscaling/v2"


def test_an_unreadable_object_is_kept() -> None:
    """A value that is no object of its kind does not prevent an upgrade, and stays for its readers to report."""
    store = old_store()
    result_of(store.create("/pods/n/broken", b"{]"))
    result_of(store.create("/events/n/broken", b"{]"))
    result_of(store.create("/podtemplates/a/broken", b"[]"))
    assert prepare(store, NEWEST).unreadable == ("/pods/n/broken", "/podtemplates/a/broken")
    assert "null" not in orjson.dumps(read(store, "/podtemplates/n/a")).decode()
    item = result_of(store.get("/pods/n/broken"))
    assert item is not None and item.value == b"{]"
