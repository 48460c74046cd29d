"""Our HTTP and TLS layers over a pipeline that responds with 2 KB, and streams a frame to all watchers on demand.

Run as ``python -m benchmarks.static CERTIFICATE KEY [plain]``; prints the port. ``GET /stream`` is a watch,
``GET /fan?count=N`` writes a 1.4 KB frame N times to every watch and responds with the CPU microseconds per frame.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from twisted.internet import reactor
from twisted.internet.task import deferLater
from zope.interface import implementer

from benchmarks.bare import BODY
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import KeyPairFiles, ServerContexts, TlsSettings
from orchd.server.pipeline.interfaces import IPipeline, ISink, IStream, Request, Response
from orchd.txkit.coroutines import start

FRAME = 1400


@implementer(IStream)
class Watch:
    def __init__(self, watches: dict[Watch, ISink]) -> None:
        self._watches = watches

    def start(self, sink: ISink) -> None:
        self._watches[self] = sink

    def stop(self) -> None:
        self._watches.pop(self, None)


@implementer(IPipeline)
class Static:
    def __init__(self) -> None:
        self.watches: dict[Watch, ISink] = {}

    async def handle(self, request: Request) -> Response:
        if request.path == "/stream":
            return Response(stream=Watch(self.watches))
        if request.path == "/fan":
            return await self._fan(int(request.param("count")))
        return Response(body=BODY)

    async def _fan(self, count: int) -> Response:
        spent = 0.0
        for number in range(count):
            frame = b"%07d" % number + b"y" * (FRAME - 7)
            before = time.process_time()
            for sink in self.watches.values():
                sink.write(frame)
            spent += time.process_time() - before
            # The readers share the machine: wait for them, so that the socket and not the buffer is measured.
            await deferLater(reactor, 0.05)
        frames = count * max(1, len(self.watches))
        return Response(content_type="text/plain", body=f"{spent / frames * 1e6:.2f}".encode())


def main() -> None:
    certificate, key, *more = sys.argv[1:]
    contexts = ServerContexts(TlsSettings(serving=KeyPairFiles(certificate=certificate, key=key)))
    factory = ApiServerFactory(Static(), reactor)
    at = Binding(address="127.0.0.1", port=0)
    listener = Listener(reactor, factory, at, contexts=contexts, plain="plain" in more)

    def listening(_: Any) -> None:
        print(listener.address[1], flush=True)

    start(listener.start(lambda _: None)).addCallback(listening)
    reactor.run()


if __name__ == "__main__":
    main()
