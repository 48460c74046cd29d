"""Store writes with claims, records and announcements of what is being written."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.cache.written_objects import Announced
from orchd.server.registry.claiming_writer import ClaimingWriter
from orchd.store.interfaces import ClaimedError, StoreError
from orchd.testing.doubles.results import result_of

OLD, NEW = {"has": ["a", "b"]}, {"has": ["b", "c"]}
VALUE = b"value"


class World:
    """A writer over a store, with records if there are any; `calls` are theirs, in order."""

    def __init__(self, *, exclusive: bool = False, records: bool = False, ttl: int | None = None) -> None:
        self.calls: list[Any] = []
        self.announced = Announced()
        self.failure: StoreError | None = None
        self.holder: Any = None
        store: Any = SimpleNamespace(
            exclusive=exclusive, create=self._create, update=self._update, delete=self._delete, write=self._write,
            get=self._get, free=self._free,
        )  # fmt: skip
        strategy: Any = SimpleNamespace(
            records=SimpleNamespace(take=self._take, leave=self._leave) if records else None,
            time_to_live=lambda obj: ttl,
            unique_values=lambda obj: frozenset(obj.get("has", ())),
            recorded_values=lambda obj: frozenset(obj.get("has", ())),
        )
        self.writer = ClaimingWriter(store, strategy, self.announced)

    def _call(self, *call: Any, key: str = "/k", value: bytes | None = VALUE) -> int:
        # The cache finds the object while it is written.
        assert self.announced.find(key, VALUE) == (None if value is None else NEW)
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure
        return 7

    async def _create(self, key: str, value: bytes, *, ttl: int | None) -> int:
        return self._call("create", ttl)

    async def _update(self, key: str, value: bytes, *, expected: int, ttl: int | None) -> int:
        return self._call("update", expected, ttl)

    async def _delete(self, key: str, *, expected: int) -> int:
        return self._call("delete", expected, value=None)

    async def _write(self, key: str, value: bytes | None, **how: Any) -> int:
        return self._call("write", *how.values(), value=value)

    async def _get(self, key: str) -> Any:
        return self.holder

    async def _free(self, error: ClaimedError) -> None:
        self.calls.append("free")

    async def _take(self, obj: Any, addresses: Iterable[str]) -> None:
        self.calls.append(("take", sorted(addresses)))

    async def _leave(self, addresses: Iterable[str]) -> None:
        self.calls.append(("leave", sorted(addresses)))

    def create(self, obj: Any = NEW) -> int:
        revision: int = result_of(self.writer.create("/k", obj, NEW, VALUE))
        return revision

    def update(self, obj: Any = NEW, old: Any = OLD) -> int:
        revision: int = result_of(self.writer.update("/k", obj, old, NEW, VALUE, expected=5))
        return revision

    def delete(self, old: Any = OLD) -> int:
        revision: int = result_of(self.writer.delete("/k", old, expected=5))
        return revision


def test_claims_of_a_shared_store() -> None:
    """A write takes the claims that its object newly has, and leaves those that it had, in one transaction."""
    world = World(ttl=9)
    assert (world.create(), world.update(), world.delete()) == (7, 7, 7)
    assert world.calls == [
        ("write", 0, 9, ["b", "c"], []),
        ("write", 5, 9, ["c"], ["a"]),
        ("write", 5, None, [], ["a", "b"]),
    ]
    world.calls.clear()
    world.create({})
    world.update(OLD)
    world.delete({})
    assert world.calls == [("create", 9), ("update", 5, 9), ("delete", 5)]
    assert len(world.announced) == 0


def test_exclusive_store_has_no_claims() -> None:
    world = World(exclusive=True)
    world.create()
    world.update()
    world.delete()
    assert world.calls == [("create", None), ("update", 5, None), ("delete", 5)]


def test_records_are_taken_before_and_left_after() -> None:
    """Records that a write adds are made before it, and those that it removes go after it; a failure leaves neither."""
    world = World(exclusive=True, records=True)
    world.create()
    world.update()
    world.delete()
    assert world.calls == [
        ("take", ["b", "c"]), ("create", None), ("leave", []),
        ("take", ["c"]), ("update", 5, None), ("leave", ["a"]),
        ("delete", 5), ("leave", ["a", "b"]),
    ]  # fmt: skip
    world.calls.clear()
    world.update(OLD)
    assert world.calls == [("update", 5, None), ("leave", [])]
    world.calls.clear()
    world.failure = StoreError("no")
    for write in (world.create, world.update, world.delete):
        with pytest.raises(StoreError):
            write()
    assert [call for call in world.calls if call[0] in ("take", "leave")] == [
        ("take", ["b", "c"]), ("leave", ["b", "c"]), ("take", ["c"]), ("leave", ["c"]), ("leave", []),
    ]  # fmt: skip
    assert len(world.announced) == 0


@pytest.mark.parametrize(
    ("holder", "freed"), [(None, True), (b'{"has":["c"]}', False), (b'{"has":["b"]}', True), (b"{}", True)]
)
def test_claims_without_a_holder_are_freed(holder: bytes | None, freed: bool) -> None:
    """A claim whose holder does not have the value is freed for the next attempt."""
    world = World()
    world.failure = ClaimedError("c", "/holder", 1)
    world.holder = None if holder is None else SimpleNamespace(value=holder)
    with pytest.raises(ClaimedError):
        world.update()
    assert ("free" in world.calls) is freed and len(world.announced) == 0
