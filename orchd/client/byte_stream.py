"""The body of a streamed response as pieces of bytes, with a bound on unread bytes."""

from __future__ import annotations

from zope.interface import implementer

from orchd.client.body_stream import BodyStream
from orchd.client.interfaces import IByteStream


@implementer(IByteStream)
class ByteStream(BodyStream):
    """Pieces of a response's body in order."""

    def dataReceived(self, data: bytes) -> None:
        self.queue.put(data)

    async def next(self) -> bytes | None:
        return await self.queue.next()
