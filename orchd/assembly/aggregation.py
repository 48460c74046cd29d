"""Aggregation of one server, from its settings: which groups lead elsewhere, and how requests get there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.config.settings import Settings
from orchd.server.aggregation.availability import Availability
from orchd.server.aggregation.forwarding import Forwarding
from orchd.server.pipeline.interfaces import Request, Response
from orchd.txkit.outgoing import own_certificate

_log = Logger(namespace="orchd.aggregation")
#: Seconds after which the client certificate is read again.
_AGE = 10.0


class Aggregation:
    """Availability of the other servers, and the way to them."""

    def __init__(
        self,
        settings: Settings,
        client: IClient,
        informers: IInformers,
        *,
        reactor: Any,
        wall: Callable[[], float],
        random: Random,
    ) -> None:
        """Raises ValueError naming the flag and the file that is wrong."""
        chosen = settings.aggregation
        self.forwarding = Forwarding(
            reactor,
            informers.informer(ResourceRef("", "v1", "services")),
            informers.informer(ResourceRef("", "v1", "endpoints")),
            own=KeyPair(chosen.cert_file, chosen.key_file, reactor),
            by_endpoints=chosen.by_endpoints,
            random=random,
        )
        self.availability = Availability(
            settings.dialect, client, informers, self.forwarding.probe, clock=reactor, wall=wall
        )
        self.groups = self.availability.registry.groups

    def elsewhere(self, group: str, version: str) -> Callable[[Request], Awaitable[Response]] | None:
        """What answers requests for a group and version of another server."""
        found = self.availability.registry.find(group, version)
        return None if found is None else partial(self.forwarding.forward, found)


class KeyPair:
    """Certificate and key of two files (PEM; b"" for no file), read again now and then so that they can be renewed."""

    def __init__(self, certificate: str, key: str, clock: IReactorTime) -> None:
        self._files = certificate, key
        self._clock = clock
        self._found = self._read()
        self._at = clock.seconds()

    def __call__(self) -> tuple[bytes, bytes]:
        if self._clock.seconds() - self._at >= _AGE:
            self._at = self._clock.seconds()
            try:
                self._found = self._read()
            except ValueError as error:
                # Half-replaced files are normal while they are renewed: the old ones are good till then.
                _log.warn("not read again: {error}", error=error)
        return self._found

    def _read(self) -> tuple[bytes, bytes]:
        if not self._files[0]:
            return b"", b""
        try:
            pair = Path(self._files[0]).read_bytes(), Path(self._files[1]).read_bytes()
            own_certificate(*pair)
        except OSError as error:
            raise ValueError(f"--proxy-client-cert-file, --proxy-client-key-file: {error}") from error
        except Exception as error:  # pyOpenSSL has an error of its own for each sort of damage
            raise ValueError(f"--proxy-client-cert-file, --proxy-client-key-file: not a certificate and its key: {error}") from error
        return pair
