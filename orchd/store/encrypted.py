"""Encryption at rest: a store wrapper that encrypts values in the inner store and returns them decrypted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import orjson
from twisted.internet.defer import Deferred
from zope.interface import implementer

from orchd.store.encryption import DecryptionError, Rule
from orchd.store.interfaces import (
    ClaimedError,
    DamagedValue,
    Event,
    ISharedStore,
    IStore,
    IWatch,
    KeyValue,
    Lent,
    OnEnd,
    OnEvents,
    OnProgress,
    Range,
    RevisionConflictError,
    StoreError,
    UnavailableError,
)
from orchd.store.prefixes import values_below
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution

_log = Logger()
#: Records which prefixes were ever encrypted, so that their values are checked when the configuration changes.
_RECORD: Final = "/.sealed"
#: Number of values checked per batch.


class EncryptionStateError(StoreError):
    """A value that cannot be decrypted. The message names the resource, but no keys or values."""

    def __init__(self, resource: str, key: str, why: str) -> None:
        super().__init__(
            f"{resource}: the value of {key} cannot be decrypted ({why}): --encryption-provider-config must have "
            "every key that values of this resource were encrypted with"
        )


async def refuse_encrypted(store: IStore, mark: bytes) -> None:
    """Raise EncryptionStateError if a store without encryption configuration has encrypted values: they would be served
    undecrypted."""
    for prefix in await _recorded_keys(store):
        await _refuse_sealed(store, prefix, mark)


async def _refuse_sealed(store: IStore, prefix: str, mark: bytes) -> None:
    async for item in values_below(store, prefix):
        if item.value.startswith(mark):
            raise EncryptionStateError(prefix.strip("/"), item.key, "no provider is configured for the resource")


async def _recorded_keys(store: IStore) -> list[str]:
    record = await store.get(_RECORD)
    return list(orjson.loads(record.value)) if record is not None else []


def is_object(value: bytes) -> bool:
    """True for a JSON object. A value decrypted with a wrong key never is one."""
    if value[:1] != b"{":
        return False
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return True


@implementer(IStore)
class EncryptedStore:
    """`rules` by key prefix (``/secrets/``). `plausible` validates decrypted values: it detects a wrong key at start
    for unauthenticated encryption. `mark` is the prefix of all encrypted values.

    A value that cannot be decrypted later (written by another server with other keys) ends the watch that receives it,
    and `healthy` names its resource: such a server must not be ready.
    """

    def __init__(
        self,
        inner: IStore,
        rules: Mapping[str, Rule],
        *,
        mark: bytes,
        plausible: Callable[[bytes], bool] = bool,
        resource_of: Callable[[str], str] | None = None,
    ) -> None:
        """`resource_of` names the resource of a key in metrics; None if these have no such label, and durations none
        for the prefix of the value."""
        self.inner = inner
        self._rules = tuple(rules.items())
        self._mark = mark
        self._plausible = plausible
        self._seconds = Distribution(
            "apiserver_storage_transformation_duration_seconds",
            "Seconds to encrypt (to_storage) or decrypt (from_storage) a value.",
            exponential(5e-6, 2, 25), ("transformation_type", *(("transformer_prefix",) if resource_of else ())),
        )  # fmt: skip
        self._done = Counter(
            "apiserver_storage_transformation_operations_total",
            "Values that were encrypted (to_storage) or decrypted (from_storage), by prefix of the value, which "
            "names algorithm and key, and by result.",
            ("transformation_type", "transformer_prefix", "status", *(("resource",) if resource_of else ())),
        )
        self._resource_of = resource_of
        #: Metrics.
        self.instruments = (self._seconds, self._done)
        #: Errors of undecryptable values, by key.
        self._troubles: dict[str, str] = {}

    @property
    def revision(self) -> int:
        return self.inner.revision

    @property
    def compacted(self) -> int:
        return self.inner.compacted

    @property
    def exclusive(self) -> bool:
        return self.inner.exclusive

    def healthy(self) -> str:
        return self.inner.healthy() or next(iter(self._troubles.values()), "")

    # Lifecycle.

    def start(self) -> Deferred[None]:
        return start(self._start())

    async def _start(self) -> None:
        await self.inner.start()
        try:
            await self._check()
        except BaseException:
            await self.inner.stop()
            raise

    async def _check(self) -> None:
        """Decrypt every encrypted value; a failure prevents the start."""
        before = await _recorded_keys(self.inner)
        for prefix, rule in self._rules:
            async for item in values_below(self.inner, prefix):
                if item.value.__class__ is DamagedValue:
                    continue
                if not self._plausible(self._open(rule, item.key, item.value)):
                    raise EncryptionStateError(rule.resource, item.key, "wrong key")
        prefixes = {prefix for prefix, _ in self._rules}
        for prefix in before:
            if prefix not in prefixes:
                await _refuse_sealed(self.inner, prefix, self._mark)
        await self._record(before, sorted(prefixes))
        try:
            done = await self.reseal()
        except UnavailableError as error:
            # The values are readable, and the next start retries.
            _log.warn("failed to re-encrypt values: {why}", why=str(error))
        else:
            if done:
                _log.info("re-encrypted {done} values with the first key of their resource", done=done)

    async def _record(self, before: list[str], prefixes: list[str]) -> None:
        """Record the prefixes before anything is encrypted. Raises UnavailableError when the record cannot be
        written."""
        prefixes = sorted({*before, *prefixes})
        if prefixes == before:
            return
        value = orjson.dumps(prefixes)
        try:
            record = await self.inner.get(_RECORD)
            if record is None:
                await self.inner.create(_RECORD, value)
            else:
                await self.inner.update(_RECORD, value, expected=record.revision)
        except UnavailableError:
            raise
        except StoreError:
            # Another server was faster; its record applies.
            await self._record(await _recorded_keys(self.inner), prefixes)

    def stop(self) -> Deferred[None]:
        return self.inner.stop()

    # Values.

    def _rule(self, key: str) -> Rule | None:
        for prefix, rule in self._rules:
            if key.startswith(prefix):
                return rule
        return None

    def _seal(self, key: str, value: bytes) -> bytes:
        rule = self._rule(key)
        if rule is None:
            return value
        began = perf_counter()
        sealed = rule.seal(value, key)
        self._observe(began, "to_storage", rule.prefix_of(sealed), "OK", key)
        return sealed

    def _observe(self, began: float, direction: str, prefix: str, status: str, key: str) -> None:
        if status == "OK":
            self._seconds.observe(perf_counter() - began, direction, *((prefix,) if self._resource_of else ()))
        self._done.add(direction, prefix, status, *((self._resource_of(key),) if self._resource_of else ()))

    def _open(self, rule: Rule, key: str, value: bytes) -> bytes:
        if value.__class__ is DamagedValue:
            # Receivers must not serve a DamagedValue.
            return value
        began = perf_counter()
        try:
            plain = rule.open(value, key)
        except DecryptionError as error:
            self._observe(began, "from_storage", rule.prefix_of(value), "Internal", key)
            failure = EncryptionStateError(rule.resource, key, str(error))
            self._troubles[key] = str(failure)
            raise failure from error
        self._observe(began, "from_storage", rule.prefix_of(value), "OK", key)
        if self._troubles:
            self._troubles.pop(key, None)
        return plain

    def _item(self, item: KeyValue) -> KeyValue:
        rule = self._rule(item.key)
        return item if rule is None else replace(item, value=self._open(rule, item.key, item.value))

    def _event(self, event: Event) -> Event:
        rule = self._rule(event.key)
        if rule is None:
            return event
        previous = None if event.previous is None else self._item(event.previous)
        # A deletion has no value.
        value = self._open(rule, event.key, event.value) if event.value else b""
        return replace(event, value=value, previous=previous)

    # Writes.

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        return await self.inner.create(key, self._seal(key, value), ttl=ttl)

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        return await self._guard(self.inner.update(key, self._seal(key, value), expected=expected, ttl=ttl))

    async def delete(self, key: str, *, expected: int) -> int:
        return await self._guard(self.inner.delete(key, expected=expected))

    async def _guard(self, write: Any) -> int:
        try:
            return int(await write)
        except RevisionConflictError as error:
            if error.current is None:
                raise
            raise RevisionConflictError(error.key, self._item(error.current)) from error

    async def reseal(self) -> int:
        """Rewrite values that are not encrypted with the first key of their resource; returns their number.

        The middle step of a key rotation: afterwards the old keys can be removed from the configuration of all servers.
        """
        stale: list[KeyValue] = []
        for prefix, rule in self._rules:
            stale += [
                item
                async for item in values_below(self.inner, prefix)
                if item.value.__class__ is not DamagedValue and rule.stale(item.value)
            ]
        done = 0
        for item in stale:
            try:
                await self.update(item.key, self._item(item).value, expected=item.revision)
                done += 1
            except RevisionConflictError:
                # Changed concurrently, and so encrypted with the first key.
                continue
        return done

    # Reads.

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        item = await self.inner.get(key, revision=revision)
        return None if item is None else self._item(item)

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        page = await self.inner.range(prefix, start=start, limit=limit, revision=revision)
        return Range(tuple(map(self._item, page.items)), page.revision, page.remaining)

    def lend(self, key: str, revision: int, lent: Lent) -> None:
        if self._rule(key) is None:
            self.inner.lend(key, revision, lent)

    async def current_revision(self) -> int:
        return await self.inner.current_revision()

    async def compact(self, revision: int) -> None:
        await self.inner.compact(revision)

    def watch(
        self, prefix: str, *, after: int, on_events: OnEvents, on_end: OnEnd, on_progress: OnProgress | None = None
    ) -> IWatch:
        opened = _Opened(self, on_events, on_end)
        opened.watch = self.inner.watch(
            prefix, after=after, on_events=opened.events, on_end=opened.end, on_progress=on_progress
        )
        if opened.over:
            # It ended during its creation.
            opened.watch.cancel()
        watch: IWatch = opened.watch
        return watch


@implementer(ISharedStore)
class SharedEncryptedStore(EncryptedStore):
    """An `EncryptedStore` around a shared store."""

    inner: ISharedStore

    async def write(
        self, key: str, value: bytes | None, *, expected: int, take: Collection[str], leave: Collection[str],
        ttl: int | None = None,
    ) -> int:  # fmt: skip
        sealed = None if value is None else self._seal(key, value)
        return await self._guard(self.inner.write(key, sealed, expected=expected, take=take, leave=leave, ttl=ttl))

    async def free(self, claimed: ClaimedError) -> None:
        await self.inner.free(claimed)


class _Opened:
    """A watch that decrypts events."""

    def __init__(self, store: EncryptedStore, on_events: OnEvents, on_end: OnEnd) -> None:
        self.watch: Any = None
        self.over = False
        self._store = store
        self._on_events = on_events
        self._on_end = on_end

    def events(self, events: Sequence[Event]) -> None:
        if self.over:
            return
        try:
            events = [self._store._event(event) for event in events]
        except EncryptionStateError as error:
            _log.error("{why}", why=str(error))
            self.over = True
            if self.watch is not None:
                self.watch.cancel()
            self._on_end(UnavailableError(str(error)))
            return
        self._on_events(events)

    def end(self, error: StoreError) -> None:
        if not self.over:
            self.over = True
            self._on_end(error)
