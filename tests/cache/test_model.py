"""Store and cache together, compared with a plain list of states."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from orchd.errors import ApiError
from tests.cache.cache_support import Bench, RecordingSubscriber

PATHS = st.sampled_from([f"{ns}/{name}" for ns in ("a", "a-", "b") for name in ("0", "00", "1", "x")])
PREFIXES = st.sampled_from(["", "a/", "b/", "a/0", "c/"])
LABELS = st.sampled_from(["", "red", "blue"])
State = dict[str, tuple[int, str]]


def under(path: str, prefix: str) -> bool:
    return not prefix or path == prefix or (prefix.endswith("/") and path.startswith(prefix))


class StoreAndCache(RuleBasedStateMachine):
    """`states[r]` is the state at revision r: path -> (revision of the object, its label)."""

    #: Creates the store and the caches on it.
    make = Bench

    def __init__(self) -> None:
        super().__init__()
        self.bench = self.make(window_events=12, window_seconds=300)
        self.cache = self.bench.start()
        self.states: dict[int, State] = {1: {}}
        self.subscribers: list[tuple[int, str, RecordingSubscriber]] = []

    def _now(self) -> State:
        return dict(self.states[max(self.states)])

    @rule(path=PATHS, label=LABELS)
    def put(self, path: str, label: str) -> None:
        revision = self.bench.put(path, **({"color": label} if label else {}))
        self.states[revision] = {**self._now(), path: (revision, label)}

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        state = self._now()
        if path in state:
            del state[path]
            self.states[self.bench.delete(path)] = state

    @rule(path=PATHS)
    def put_elsewhere(self, path: str) -> None:
        self.states[self.bench.put(path, key="other")] = self._now()

    @rule(seconds=st.sampled_from([1, 100]))
    def advance_clock(self, seconds: int) -> None:
        self.bench.clock.pump([seconds])

    @rule()
    def compact_store(self) -> None:
        self.bench.compact()

    @rule()
    def reload_cache(self) -> None:
        for _, _, told in self.subscribers:
            assert not told.ends
        self.subscribers.clear()
        self.bench.caches.drop("pods")
        self.cache = self.bench.cache()

    @rule(back=st.integers(0, 15), prefix=PREFIXES)
    def subscribe(self, back: int, prefix: str) -> None:
        after = max(1, self.cache.revision - back)
        told = RecordingSubscriber()
        try:
            told.subscribe(self.cache, after, prefix)
        except ApiError as error:
            assert error.code == 410
            assert after < self.cache.oldest
        else:
            self.subscribers.append((after, prefix, told))

    @rule(back=st.integers(0, 15), prefix=PREFIXES, limit=st.integers(0, 5), label=LABELS, start=st.just("") | PATHS)
    def page(self, back: int, prefix: str, limit: int, label: str, start: str) -> None:
        revision = max(1, self.cache.revision - back)
        if revision < max(self.cache.oldest, self.bench.store.compacted):
            with pytest.raises(ApiError, match="too old"):
                self.cache.page(revision=revision)
            return
        state = self.states[revision]
        labels: Any = {"color": label} if label else None
        expected = [
            (path, state[path][0])
            for path in sorted(state)
            if under(path, prefix) and path >= start and (not label or state[path][1] == label)
        ]
        got: list[tuple[str, int]] = []
        while True:
            page = self.cache.page(prefix=prefix, limit=limit, labels=labels, revision=revision, start=start)
            assert page.revision == revision
            got += [(entry.path, entry.revision) for entry in page.entries]
            assert page.remaining == (None if label else len(expected) - len(got))
            start = page.next_path
            if not start:
                break
            assert len(page.entries) == limit
        assert got == expected

    @invariant()
    def current_entries_are_the_last_state(self) -> None:
        state = self._now()
        assert {e.path: (e.revision, e.labels.get("color", "")) for e in self.cache.page().entries} == state
        assert self.cache.revision == max(self.states)

    @invariant()
    def subscribers_received_everything_once(self) -> None:
        for after, prefix, told in self.subscribers:
            expected = []
            for revision in range(after + 1, max(self.states) + 1):
                before, state = self.states[revision - 1], self.states[revision]
                for path in sorted(before.keys() | state.keys()):
                    if under(path, prefix) and before.get(path) != state.get(path):
                        kind = "ADDED" if path not in before else "MODIFIED" if path in state else "DELETED"
                        expected.append((kind, path, revision))
            assert told.lines() == expected


StoreAndCache.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestStoreAndCache = StoreAndCache.TestCase
