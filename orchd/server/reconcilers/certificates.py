"""The server's own certificates are renewed while it runs; those that it was given are watched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.interfaces import IEventRecorder
from orchd.dialect import Dialect
from orchd.pki.expiry import Expiry, read_expiry
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds between looks, and between two warnings about one certificate.
INTERVAL: Final = 3600.0
_WARNING_INTERVAL: Final = 24 * 3600.0


class CertificateRenewal:
    """`renew` renews the certificates that are due in their files, which the listener reloads. `files` are (name, file,
    whether `renew` renews it)."""

    _log = Logger()

    def __init__(
        self,
        files: Sequence[tuple[str, Path, bool]],
        renew: Callable[[], Awaitable[object]],
        recorder: IEventRecorder,
        dialect: Dialect,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._files = files
        self._renew = renew
        self._recorder = recorder
        self._about = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": dialect("{long}"), "namespace": "default"},
        }
        self._clock = clock
        self._wall = wall
        self._expiries: dict[str, Expiry] = {}
        self._warned: dict[str, float] = {}
        self._background = Background()

    async def start(self) -> None:
        self._read()
        self._background.add(self._run(), "renewal of certificates")

    async def stop(self) -> None:
        await self._background.stop()

    def ends(self) -> dict[str, float]:
        """Seconds since the epoch at which each certificate ends, by name."""
        return {name: expiry.ends.timestamp() for name, expiry in self._expiries.items()}

    async def _run(self) -> None:
        while True:
            self._warn()
            await deferLater(self._clock, INTERVAL)
            await self.look()

    async def look(self) -> None:
        """Check the certificates once, and renew those that are due."""
        now = self._now()
        if any(expiry.renewed and now >= expiry.renewal for expiry in self._expiries.values()):
            before = self.ends()
            try:
                await self._renew()
            except CancelledError:
                raise
            except (OSError, ValueError) as error:
                self._log.error("certificates were not renewed: {error}", error=str(error))
            self._read()
            for name, end in self.ends().items():
                if end != before.get(name):
                    self._log.info("certificate {name} was renewed", name=name)
        else:
            self._read()

    def _read(self) -> None:
        for name, path, renewed in self._files:
            try:
                self._expiries[name] = read_expiry(name, path, renewed=renewed)
            except (OSError, ValueError) as error:
                self._log.warn("certificate {name}: {error}", name=name, error=str(error))

    def _warn(self) -> None:
        now = self._now()
        for name, expiry in self._expiries.items():
            if not expiry.ends_soon(now):
                self._warned.pop(name, None)
                continue
            if self._wall() - self._warned.get(name, 0.0) < _WARNING_INTERVAL:
                continue
            self._warned[name] = self._wall()
            word = "has expired" if now >= expiry.ends else "expires"
            note = f"certificate {name} ({expiry.path}) {word} at {expiry.ends:%Y-%m-%dT%H:%M:%SZ}"
            self._log.warn("{note}", note=note)
            self._recorder.event(self._about, "Warning", "CertificateExpiring", note)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall(), UTC)
