"""Reload of values that are read from files: one mechanism for certificates, keys, tokens and configuration files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from orchd.txkit.log import Logger

T = TypeVar("T")
#: Modification time in nanoseconds, inode and size of a file; zeros for a missing file.
Stamp = tuple[int, int, int]


def stamps(names: Iterable[str]) -> dict[str, Stamp]:
    """Stamps by file name. A replaced or rewritten file has another stamp."""
    out = {}
    for name in names:
        try:
            status = os.stat(name)
            out[name] = (status.st_mtime_ns, status.st_ino, status.st_size)
        except OSError:
            out[name] = (0, 0, 0)
    return out


class FileReloader(Generic[T]):
    """The value that `read` returns, read again after one of its files has changed.

    `files` returns the names of the files that `read` opens; it is called before and after `read`, since a file may
    name other files. The constructor raises what `read` raises. Later, OSError and ValueError are logged and the
    previous value is kept until the files can be read: they may be replaced one by one. `name` is the description in
    log lines.

    Calling an instance returns the value, after a check of the files unless the last one was less than `interval`
    seconds of `clock` ago. Without `clock` only `check` checks the files: its caller has a timer.
    """

    _log = Logger()

    def __init__(
        self,
        name: str,
        read: Callable[[], T],
        files: Callable[[], Iterable[str]],
        *,
        clock: Callable[[], float] | None = None,
        interval: float = 0.0,
    ) -> None:
        self._name = name
        self._read = read
        self._files = files
        self._clock = clock
        self._interval = interval
        self._checked_at = 0.0 if clock is None else clock()
        self._seen: dict[str, Stamp | None] = {}
        before = stamps(files())
        self.value = read()
        self._remember(before)

    def __call__(self) -> T:
        if self._clock is not None and self._clock() - self._checked_at >= self._interval:
            self._checked_at = self._clock()
            self.check()
        return self.value

    def check(self) -> bool:
        """Read changed files again. True if `value` was replaced."""
        current = stamps(self._files())
        if current == self._seen:
            return False
        try:
            value = self._read()
        except (OSError, ValueError) as error:
            self._log.warn("failed to reload {name}: {error}", name=self._name, error=str(error))
            return False
        self._remember(current)
        if value == self.value:
            return False
        self.value = value
        self._log.info("reloaded {name}", name=self._name)
        return True

    def _remember(self, before: dict[str, Stamp]) -> None:
        # Stamps from before the read: a file that changes meanwhile is read again. So is a file that was not known
        # then.
        self._seen = {name: before.get(name) for name in self._files()}
