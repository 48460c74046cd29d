"""Applies a configuration file while the process runs, whenever its contents change.

For values that are read and replaced in one step see `file_reloading`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.txkit.background import Background
from orchd.txkit.file_reloading import stamps
from orchd.txkit.log import Logger

#: Seconds between checks of the file.
_EVERY = 1.0
_PREVIOUS = "the previous one stays in use"
#: Maximum size of the file in bytes.
_MOST: int = 3 << 20


class NotAppliedError(Exception):
    """Contents that could not be applied now, and may be later."""


def read_limited(path: str) -> bytes:
    """The contents of a configuration file. Raises OSError, and ValueError for a file above the limit."""
    with Path(path).open("rb") as file:
        data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise ValueError(f"{path}: longer than {_MOST} bytes")
    return data


@dataclass(slots=True)
class ReloadCounts:
    """Reloads by outcome with the epoch seconds of the last one, 0.0 without one, and the digest of the contents in
    use."""

    succeeded: int = 0
    failed: int = 0
    last_success: float = 0.0
    last_failure: float = 0.0
    digest: str = ""


def digest(data: bytes) -> str:
    """``sha256:...`` of contents, "" of none."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}" if data else ""


class ConfigFileWatcher:
    """Applies the contents of a file whenever they change. `path` was read before, as `data`, which is in use.

    `apply` raises ValueError for invalid contents, which are not tried again, and NotAppliedError for contents that are
    tried again at the next check, of which parts may be in use. After other failures the previous contents stay in use.
    `what` names the configuration in the log; `clock` is the reactor, `wall` returns epoch seconds.
    """

    _log = Logger()

    def __init__(
        self,
        path: str,
        data: bytes,
        apply: Callable[[bytes], Awaitable[object]],
        *,
        what: str,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self.counts = ReloadCounts(digest=digest(data))
        self._path, self._apply, self._what, self._wall = path, apply, what, wall
        self._tracked: bytes | None = data
        self._seen = stamps([path])
        self._again = True
        self._background = Background()
        self._polling = LoopingCall(self.check)
        self._polling.clock = clock

    async def start(self) -> None:
        """Begin to watch the file."""
        self._polling.start(_EVERY, now=False)

    async def stop(self) -> None:
        if self._polling.running:
            self._polling.stop()
        await self._background.stop()

    def check(self) -> None:
        """Reload in the background if the file was replaced, unless a reload is running."""
        if self._background:
            return
        current = stamps([self._path])
        if current != self._seen or self._again:
            self._seen, self._again = current, False
            self._background.add(self._reload(), f"reload of the {self._what}")

    def is_superseded(self) -> bool:
        """True if the file was replaced after the contents that are being applied were read."""
        return stamps([self._path]) != self._seen

    async def _reload(self) -> None:
        try:
            data = read_limited(self._path)
        except (OSError, ValueError) as error:
            self._fail(error, _PREVIOUS)
            return
        if data == self._tracked:
            return
        try:
            await self._apply(data)
        except NotAppliedError as error:
            # Parts may be in use: neither these contents nor the previous ones are applied already.
            self._again, self._tracked = True, None
            self._fail(error, "it is tried again")
            return
        except ValueError as error:
            self._tracked = data
            self._fail(error, _PREVIOUS)
            return
        self._tracked = data
        self.counts.succeeded += 1
        self.counts.last_success = self._wall()
        self.counts.digest = digest(data)
        self._log.info("reloaded the {what} from {path}", what=self._what, path=self._path)

    def _fail(self, error: Exception, what_follows: str) -> None:
        self.counts.failed += 1
        self.counts.last_failure = self._wall()
        self._log.error(
            "failed to reload the {what} from {path}, {follows}: {error}",
            follows=what_follows,
            what=self._what,
            path=self._path,
            error=str(error),
        )
