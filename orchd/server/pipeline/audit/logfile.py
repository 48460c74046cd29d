"""Audit log file: one event per line, with rotation. Several processes may write to one file: each line is whole, and
the file is rotated once."""

from __future__ import annotations

import fcntl
import glob
import gzip
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from orchd.txkit.background import Background
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.audit")

Event = Mapping[str, Any]
_MOMENT = "%Y-%m-%dT%H-%M-%S"
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Maximum size in `megabytes`, number of `backups` kept and their maximum age in `days` (0: no limit), and whether
    they are compressed."""

    megabytes: int
    backups: int
    days: int
    compress: bool


class LogFile:
    """Appends to `path` ("-" is standard output). `wall` returns epoch seconds; `in_thread` runs compression and
    deletion of old files in another thread; only `close` waits for that. Opening raises OSError."""

    def __init__(
        self,
        path: str,
        rotation: Rotation,
        *,
        legacy: bool,
        wall: Callable[[], float],
        in_thread: Callable[..., Awaitable[Any]],
    ) -> None:
        self._path = None if path == "-" else Path(path)
        self._rotation = rotation
        self._line = legacy_line if legacy else json_line
        self._wall = wall
        self._in_thread = in_thread
        self._background = Background()
        self._untidy = False
        if self._path is None:
            # Use the file descriptor: the daemon replaces the stream by its own log.
            self._file = os.dup(1)
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()

    def _open(self) -> int:
        assert self._path is not None
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    async def send(self, events: Sequence[Event]) -> None:
        """Write all of `events`. Raises OSError."""
        data = b"".join(map(self._line, events))
        if self._path is None:
            _write(self._file, data)
            return
        limit = self._rotation.megabytes * _MEGABYTE
        self._lock(fcntl.LOCK_SH)
        try:
            full = self._is_full(len(data), limit)
            if full:
                # Others that found it full wait here, and find a new file.
                self._lock(fcntl.LOCK_EX)
                if self._is_full(len(data), limit):
                    self._put_aside()
            _write(self._file, data)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        if full:
            self._untidy = True
            if not self._background:
                self._background.add(self._tidied(), "clearing up audit logs")

    def _is_full(self, more: int, limit: int) -> bool:
        size = os.fstat(self._file).st_size
        return bool(limit and size) and size + more > limit

    def _lock(self, kind: int) -> None:
        """Lock the file that has the name now: not one that another process has put aside. Locks last for
        microseconds."""
        assert self._path is not None
        while True:
            fcntl.flock(self._file, kind)
            try:
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return
            except FileNotFoundError:
                # Between the two steps of `_put_aside` of a process that has ended, or removed by an operator.
                pass
            former, self._file = self._file, self._open()
            os.close(former)

    async def close(self) -> None:
        await self._background.stop(cancel=False)
        os.close(self._file)

    def _put_aside(self) -> None:
        path = self._path
        assert path is not None
        moment = datetime.fromtimestamp(self._wall(), UTC)
        path.rename(path.with_name(f"{path.stem}-{moment:{_MOMENT}}.{moment.microsecond // 1000:03}{path.suffix}"))
        # Last, so that there is an open file if one of the two fails.
        full, self._file = self._file, self._open()
        os.close(full)

    async def _tidied(self) -> None:
        """One at a time: two would compress the same file."""
        while self._untidy:
            self._untidy = False
            try:
                await self._in_thread(self._clear_up)
            except OSError as error:
                _log.error("failed to clean up rotated audit logs: {error}", error=error)

    def _clear_up(self) -> None:
        """Compress and delete old files; runs in another thread, and in one process at a time."""
        assert self._path is not None
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self._clear_up_alone()
        finally:
            os.close(folder)

    def _clear_up_alone(self) -> None:
        now = datetime.fromtimestamp(self._wall(), UTC)
        for number, (moment, path) in enumerate(self._backups()):
            old = self._rotation.days and now - moment > timedelta(days=self._rotation.days)
            if old or (self._rotation.backups and number >= self._rotation.backups):
                path.unlink()
            elif self._rotation.compress and path.suffix != ".gz":
                packed = path.with_name(path.name + ".gz")
                with path.open("rb") as source, gzip.open(packed, "wb") as target:
                    shutil.copyfileobj(source, target)
                path.unlink()

    def _backups(self) -> list[tuple[datetime, Path]]:
        """Rotated files, newest first."""
        path = self._path
        assert path is not None
        backups = []
        for each in path.parent.glob(f"{glob.escape(path.stem)}-*"):
            text = each.name.removesuffix(".gz").removesuffix(path.suffix).removeprefix(f"{path.stem}-")
            try:
                backups.append((datetime.strptime(text, _MOMENT + ".%f").replace(tzinfo=UTC), each))
            except ValueError:
                continue
        return sorted(backups, reverse=True)


def _write(descriptor: int, data: bytes) -> None:
    """Append at once, so that lines of other processes are before or after; the rest, if the system takes less. Raises
    OSError."""
    while data:
        data = data[os.write(descriptor, data) :]


def json_line(event: Event) -> bytes:
    """The event as one line of JSON (--audit-log-format=json)."""
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def legacy_line(event: Event) -> bytes:
    """The event as one line of text (--audit-log-format=legacy)."""
    user, other = event.get("user") or {}, event.get("impersonatedUser") or {}
    status = event.get("responseStatus") or {}
    members = {
        "id": event["auditID"],
        "stage": event["stage"],
        "ip": ",".join(event.get("sourceIPs") or ()) or "<unknown>",
        "method": event["verb"],
        "user": user.get("username") or "<none>",
        "groups": _quoted_list(user.get("groups")) or "<none>",
        "as": other.get("username") or "<self>",
        "asgroups": _quoted_list(other.get("groups")) or "<lookup>",
        "user-agent": event.get("userAgent", ""),
        "namespace": (event.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": event["requestURI"],
        "response": str(status.get("code") or "<deferred>"),
    }
    text = " ".join(f"{name}={orjson.dumps(value).decode()}" for name, value in members.items())
    return f"{event['requestReceivedTimestamp']} AUDIT: {text}\n".encode()


def _quoted_list(texts: Sequence[str] | None) -> str:
    return ",".join(f'"{text}"' for text in texts or ())
