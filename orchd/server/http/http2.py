"""HTTP/2 connections, where --http2-max-streams-per-connection asks for them: Twisted's own, with that bound (RFC 9113)."""

from __future__ import annotations

from typing import Any

from h2.settings import SettingCodes, Settings
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Factory
from twisted.web._http2 import H2Connection

from orchd.server.http.limits import Limits
from orchd.server.http.resource import ApiRequest, ApiSite
from orchd.server.pipeline.interfaces import IPipeline


class Http2Factory(Factory):
    """Makes connections that chose h2 by ALPN; each may have `streams` requests under way."""

    noisy = False

    def __init__(self, pipeline: IPipeline, clock: IReactorTime, *, streams: int, limits: Limits | None = None) -> None:
        self._site = ApiSite(pipeline, clock, limits)
        self._clock = clock
        self._streams = streams

    def buildProtocol(self, addr: IAddress | None) -> Any:
        protocol: Any = H2Connection(self._clock)
        protocol.conn.local_settings = Settings(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self._streams}
        )
        protocol.requestFactory = ApiRequest
        protocol.site = protocol.factory = self._site
        protocol.timeOut = self._site.timeOut
        protocol.callLater = self._clock.callLater
        return protocol
