"""``/openapi/v2``: the OpenAPI document of everything that is served, always that of the catalog in force."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from orchd import errors
from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.openapi.v2_pieces import JSON, PROTOBUF, DocumentPieces
from orchd.server.pipeline.endpoints.packed import unpacked
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.background import Background

#: The forms of the document by media type.
_TYPES = {
    "*/*": JSON,
    "application/*": JSON,
    "application/json": JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": PROTOBUF,
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf": PROTOBUF,
}
#: Seconds from a change of definitions until the next document is begun: definitions often come in groups.
SETTLE = 0.5
#: zlib's word for the format of gzip (RFC 1952).
_GZIP = 31
_LEVEL = 5


class _Build:
    """A document under construction. `stale` is set when the catalog has changed since, `made` when it has succeeded."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.stale = self.made = self._over = False
        self._waiting: list[Deferred[None]] = []

    async def ended(self) -> bool:
        """Wait for the end; whether the document was made."""
        if not self._over:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting
        return self.made

    def end(self) -> None:
        self._over = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)


class Specification:
    """Builds the document in the background after each change of the catalog, in a thread, from the pieces that are new.

    A request is answered with the document of the catalog that was in force when it came, or of a later one: it waits
    for that when the background has not made it yet. `in_thread` runs a function off the reactor's thread.
    """

    log = Logger()

    def __init__(
        self, catalog: Callable[[], Catalog], *, in_thread: Callable[..., Awaitable[Any]], clock: IReactorTime
    ) -> None:
        self._catalog = catalog
        self._in_thread = in_thread
        self._clock = clock
        self._background = Background()
        self._pieces: DocumentPieces | None = None
        self._made: dict[str, tuple[bytes, str]] = {}
        self._made_for: Catalog | None = None
        self._build: _Build | None = None
        self._due: IDelayedCall | None = None
        self._running = False

    async def start(self) -> None:
        """Begin to build the document of the catalog in force, and from now on that of each later one."""
        self._running = True
        if self._build is None:
            self._begin()

    async def stop(self) -> None:
        """End what waits to be built; a build that runs in its thread is waited for."""
        self._running = False
        if self._due is not None:
            self._due.cancel()
            self._due = None
        await self._background.idle()

    def changed(self) -> None:
        """The catalog is another one, which may not have been made yet: its document is begun in `SETTLE` seconds."""
        if self._build is not None:
            self._build.stale = True
        elif self._due is None and self._running:
            self._due = self._clock.callLater(SETTLE, self._begin)

    async def answer(self, request: Request) -> Response:
        """The document in JSON or protobuf; 406 for other media types."""
        accept = ",".join(request.headers.get("accept", ())) or "*/*"
        form = next(
            (_TYPES[name] for c in mediatype.parse_accept(accept) if (name := f"{c.type}/{c.subtype}") in _TYPES), None
        )
        if form is None:
            return Response(code=406, content_type="", headers=[NO_STORE])
        await self._current()
        packed, tag = self._made[form]
        headers = [NO_STORE, ("Etag", tag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        if tag in request.header("if-none-match"):
            return Response(code=304, content_type="", headers=headers)
        # The reference lets its HTTP library guess these from the first bytes.
        kind = "text/plain; charset=utf-8" if form == JSON else "application/octet-stream"
        if "gzip" in request.header("accept-encoding"):
            headers.append(("Content-Encoding", "gzip"))
            return Response(content_type=kind, headers=headers, body=packed)
        # Hardly anybody wants it so: not worth the megabytes that it would take to have it at hand.
        return Response(content_type=kind, headers=headers, body=unpacked(packed))

    async def _current(self) -> None:
        """Wait until the document is that of the catalog in force now, or of a later one. Raises ApiError 500 when it
        cannot be built."""
        wanted = self._catalog()
        if self._build is not None and self._build.catalog is not wanted:
            await self._build.ended()
        if self._made_for is wanted:
            return
        # Begun after the request came, so of `wanted` or of a later catalog.
        build = self._build or self._begin()
        if build is not None and not await build.ended():
            raise errors.internal("the OpenAPI document cannot be built")

    def _begin(self) -> _Build | None:
        """Build the document of the catalog in force; None when it is at hand."""
        if self._due is not None and self._due.active():
            self._due.cancel()
        self._due = None
        catalog = self._catalog()
        if catalog is self._made_for:
            return None
        self._build = build = _Build(catalog)
        self._background.add(self._run(build), "OpenAPI document")
        return build

    async def _run(self, build: _Build) -> None:
        if self._pieces is None:
            self._pieces = DocumentPieces(build.catalog.dialect)
        try:
            self._made = await self._in_thread(_specification, self._pieces, build.catalog)
            self._made_for, build.made = build.catalog, True
        finally:
            self._build = None
            build.end()
            if build.stale and self._build is None:
                self.changed()


def _specification(pieces: DocumentPieces, catalog: Catalog) -> dict[str, tuple[bytes, str]]:
    """Both forms of the document: compressed, and their tag."""
    out = {}
    for form, parts in pieces.made(catalog).items():
        digest, packer = hashlib.sha256(), zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        packed = []
        for part in parts:
            digest.update(part)
            packed.append(packer.compress(part))
        packed.append(packer.flush())
        out[form] = b"".join(packed), f'"{digest.hexdigest()[:40].upper()}"'
    return out
