"""Watch of one resource without a local store: each event is passed to a callback, and no object is kept."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.interfaces import IClient, IWatchStream, ResourceRef
from orchd.client.paging import list_pages
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.txkit.log import Logger

#: Page size of lists.
_PAGE = 500
_PAUSE, _LONGEST_PAUSE = 0.2, 30.0


class Monitor:
    """Watches one resource. Calls `seen(ref, object)` for every existing object and every change, and `gone(ref, uid)`
    for every deletion. `node_uids(ref)` returns the uids reported so far: those missing in a list have been deleted."""

    log = Logger()

    def __init__(
        self,
        client: IClient,
        ref: ResourceRef,
        clock: IReactorTime,
        random: Random,
        *,
        seen: Callable[[ResourceRef, Object], None],
        gone: Callable[[ResourceRef, str], None],
        node_uids: Callable[[ResourceRef], set[str]],
    ) -> None:
        self.ref = ref
        self.synced = False
        self._client = client
        self._clock = clock
        self._random = random
        self._seen, self._gone, self._node_uids = seen, gone, node_uids
        self._waiting: list[Deferred[None]] = []
        self._stream: IWatchStream | None = None
        self.failed = 0
        self._closed = False

    async def wait_synced(self) -> None:
        """Wait for the first list, or for `close`."""
        if not self.synced and not self._closed:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting

    def close(self) -> None:
        """Close the watch, and release the callers that wait for the first list."""
        self._closed = True
        if self._stream is not None:
            self._stream.close()
        self._release()

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    async def run(self) -> None:
        """List and watch until cancelled or closed. `failed` counts lists and watches that failed."""
        pause = _PAUSE
        while not self._closed:
            try:
                version = await self._list()
                pause = _PAUSE
                while not self._closed:
                    version = await self._watch(version)
                return
            except CancelledError:
                raise
            except ApiError as error:
                # 404: a custom kind that is being removed; the collector closes this monitor when the catalog changes.
                if error.code not in (404, 410):
                    self.failed += 1
                    self.log.warn("{ref}: {error}; listing again", ref=self.ref.plural, error=error.message)
            except Exception:  # logged; the monitor must survive any single failure
                self.failed += 1
                self.log.failure("monitor of {ref}", ref=self.ref.plural)
            if not self._closed:
                await deferLater(self._clock, pause * (0.5 + self._random.random()))
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _list(self) -> str:
        missing = self._node_uids(self.ref)
        version = ""
        async for page in list_pages(self._client, self.ref, limit=_PAGE, metadata_only=True):
            for obj in page["items"]:
                missing.discard(obj["metadata"].get("uid", ""))
                self._seen(self.ref, obj)
            version = page["metadata"]["resourceVersion"]
        for uid in missing:
            self._gone(self.ref, uid)
        self.synced = True
        self._release()
        return version

    async def _watch(self, version: str) -> str:
        stream = self._stream = await self._client.watch(self.ref, resource_version=version, metadata_only=True)
        try:
            while not self._closed:
                event = await stream.next()
                if event is None:
                    break
                version = event.object["metadata"]["resourceVersion"]
                if event.type == "DELETED":
                    self._gone(self.ref, event.object["metadata"].get("uid", ""))
                elif event.type != "BOOKMARK":
                    self._seen(self.ref, event.object)
        finally:
            stream.close()
            self._stream = None
        return version
