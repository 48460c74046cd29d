"""``/openapi/v2``: the OpenAPI document of all served resources, for the current catalog."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.openapi.v2_merge import ForeignSpecification
from orchd.kinds.openapi.v2_pieces import JSON, PROTOBUF, DocumentPieces
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.pipeline.endpoints.catalog_builds import CatalogBuild
from orchd.server.pipeline.endpoints.packed import unpack
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.metrics.instruments import ObservedCounter, ObservedGauge

#: The forms of the document by media type.
_TYPES = {
    "*/*": JSON,
    "application/*": JSON,
    "application/json": JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": PROTOBUF,
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf": PROTOBUF,
}
#: Content-Type of the forms, from a release on.
_CONTENT_TYPES: Final = (
    ("", {JSON: "text/plain; charset=utf-8", PROTOBUF: "application/octet-stream"}),
    ("1.24", {JSON: "application/json", PROTOBUF: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}),
)
#: zlib's word for the format of gzip (RFC 1952).
_GZIP = 31
_LEVEL = 5

#: Both forms of the document: compressed, and their tag.
Forms = dict[str, tuple[bytes, str]]


@dataclass(frozen=True, slots=True)
class _Source:
    """The inputs of a document."""

    catalog: Catalog
    foreign: Sequence[ForeignSpecification]


class Specification:
    """Builds the document in the background after each change of the catalog, in a thread, from the pieces that are
    new.

    The response is the document of the catalog at the time of the request, or of a later one: the request waits
    for that when the background has not made it yet. `in_thread` runs a function off the reactor's thread.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        *,
        in_thread: Callable[..., Awaitable[Any]],
        clock: IReactorTime,
        foreign: Callable[[], Sequence[ForeignSpecification]] = tuple,
        release: Release = SPECIFICATION,
    ) -> None:
        """`foreign` returns what other servers document, as the same value until it changes; call `build.changed`
        then."""
        self._catalog, self._foreign = catalog, foreign
        self._types = release.choose(_CONTENT_TYPES)
        self._source: _Source | None = None
        self._pieces: DocumentPieces | None = None
        self.build = CatalogBuild(
            "OpenAPI document", self._current_source, self._make, in_thread=in_thread, clock=clock
        )
        # Each build covers all definitions, so none is named as its cause.
        build = self.build
        self.instruments = (
            ObservedCounter(
                "aggregator_openapi_v2_regeneration_count",
                "Builds of the OpenAPI document, by reason.",
                lambda: {("", reason): float(number) for reason, number in build.builds.items()},
                ("apiservice", "reason"),
            ),
            ObservedGauge(
                "aggregator_openapi_v2_regeneration_duration",
                "Seconds of the last build of the OpenAPI document, by reason.",
                lambda: {(reason,): build.seconds[reason] for reason in build.builds},
                ("reason",),
            ),
            ObservedCounter(
                "apiextensions_openapi_v2_regeneration_count",
                "Builds of the OpenAPI document after changes of definitions.",
                lambda: {("", reason): float(number) for reason, number in build.builds.items() if reason == "update"},
                ("crd", "reason"),
            ),
        )

    async def respond(self, request: Request) -> Response:
        """The document in JSON or protobuf; 406 for other media types."""
        accept = ",".join(request.headers.get("accept", ())) or "*/*"
        form = next(
            (_TYPES[name] for c in mediatype.parse_accept(accept) if (name := f"{c.type}/{c.subtype}") in _TYPES), None
        )
        if form is None:
            return Response(code=406, content_type="", headers=[NO_STORE])
        packed, tag = (await self.build.current())[form]
        headers = [NO_STORE, ("Etag", tag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        if tag in request.header("if-none-match"):
            return Response(code=304, content_type="", headers=headers)
        # The reference lets its HTTP library guess these from the first bytes.
        kind = self._types[form]
        if "gzip" in request.header("accept-encoding"):
            headers.append(("Content-Encoding", "gzip"))
            return Response(content_type=kind, headers=headers, body=packed)
        # Rarely requested in this form: caching it would cost megabytes.
        return Response(content_type=kind, headers=headers, body=unpack(packed))

    def _current_source(self) -> _Source:
        catalog, foreign = self._catalog(), self._foreign()
        if self._source is None or self._source.catalog is not catalog or self._source.foreign is not foreign:
            self._source = _Source(catalog, foreign)
        return self._source

    def _make(self, source: _Source) -> Forms:
        catalog = source.catalog
        if self._pieces is None:
            self._pieces = DocumentPieces(catalog.dialect)
        out = {}
        for form, parts in self._pieces.assemble(catalog, source.foreign).items():
            digest, packer = hashlib.sha256(), zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            packed = []
            for part in parts:
                digest.update(part)
                packed.append(packer.compress(part))
            packed.append(packer.flush())
            out[form] = b"".join(packed), f'"{digest.hexdigest()[:40].upper()}"'
        return out
