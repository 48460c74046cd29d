"""``/openapi/v3``: an index, and one document per group version under a URL that has its hash.

A document with its hash never changes, so that clients may keep it; an old hash leads to the present one.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Final

import orjson
from twisted.internet.interfaces import IReactorTime

from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import mediatype
from orchd.kinds.openapi import v3, v3_protobuf
from orchd.kinds.openapi.aggregated import ForeignVersion
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.pipeline.endpoints.catalog_builds import CatalogBuild
from orchd.server.pipeline.endpoints.packed import unpack
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.dispatch import text_not_found
from orchd.txkit.lru_cache import LruCache

#: Maximum number of cached documents in a requested form, compressed: some megabytes for the built-in ones.
_MOST_KEPT = 128
_YEAR = 365 * 24 * 3600

JSON: Final = "application/json"
_PLAIN: Final = "text/plain; charset=utf-8"
_NONE: Final[tuple[ForeignVersion, ...]] = ()
#: Subtypes of Accept clauses and the media types that satisfy them, in order of preference.
_SUBTYPES: Final = (
    ("json", JSON),
    ("com.github.proto-openapi.spec.v3.v1.0+protobuf", v3_protobuf.MEDIA_TYPE),
    ("com.github.proto-openapi.spec.v3@v1.0+protobuf", v3_protobuf.MEDIA_TYPE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """The documents of one catalog: their hashes by path."""

    catalog: Catalog
    hashes: Mapping[str, str]


class Schemas:
    """Hashes of all documents, computed in the background after each change of the catalog; the documents are built on
    request. `in_thread` runs a function in another thread, `wall` returns epoch seconds. With `always` unset, a request
    for the index needs an Accept header: release 1.23 has no index, and its clients that probe for one send none."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        *,
        in_thread: Callable[..., Awaitable[Any]],
        clock: IReactorTime,
        wall: Callable[[], float],
        always: bool = True,
        release: Release = SPECIFICATION,
        foreign: Callable[[], Sequence[ForeignVersion]] = lambda: _NONE,
    ) -> None:
        """`foreign` returns the group versions that other servers document, as the same value until it changes."""
        self._in_thread = in_thread
        self._wall = wall
        self._always = release.choose((("", always), ("1.24", True)))
        self._index_type, self._none = release.choose((("", (JSON, text_not_found)), ("1.24", (_PLAIN, _nothing))))
        self._foreign = foreign
        self._indexed: tuple[_Listing, Sequence[ForeignVersion], tuple[bytes, str]] | None = None
        #: Path -> the resources and the hash of the document that was built from them.
        self._documents: dict[str, tuple[tuple[Resource, ...], str]] = {}
        self._kept: LruCache[tuple[str, str, str], bytes] = LruCache(_MOST_KEPT)
        self.build = CatalogBuild("OpenAPI index", catalog, self._make, in_thread=in_thread, clock=clock)

    def is_foreign(self, group: str, version: str) -> bool:
        """True if another server documents a group version: one that has been reached since it was registered."""
        return any(each.resources and (each.group, each.version) == (group, version) for each in self._foreign())

    def handles(self, path: str) -> bool:
        return path == v3.ROOT or path.startswith(v3.ROOT + "/")

    async def respond(self, request: Request) -> Response:
        """The index, or the document of the group version that the path names. 404 for one that is not served."""
        path = request.path.removeprefix(v3.ROOT).strip("/")
        if not path and not self._always and "accept" not in request.headers:
            return text_not_found()
        listing = await self.build.current()
        if not path:
            return _response(request, *self._index(listing), self._index_type, [NO_STORE])
        digest = listing.hashes.get(path)
        if digest is None:
            return self._none()
        media_type = _negotiate(request)
        if not media_type:
            return Response(code=406, content_type="", headers=[NO_STORE, ("Vary", "Accept")])
        tag, asked = f'"{digest}"', request.param("hash")
        if asked and asked != digest:
            headers = [NO_STORE, ("Etag", tag), ("Vary", "Accept"), ("Location", v3.document_url(path, digest))]
            return Response(code=301, content_type=media_type, headers=headers)
        caching = [NO_STORE]
        if asked:
            expires = formatdate(self._wall() + _YEAR, usegmt=True)
            caching = [("Cache-Control", "public, immutable"), ("Expires", expires)]
        key = path, digest, media_type
        packed = self._kept.get(key)
        if packed is None:
            packed = await self._in_thread(_pack, listing.catalog, path, media_type)
            self._kept.put(key, packed)
        return _response(request, packed, tag, media_type, caching)

    def _make(self, catalog: Catalog) -> _Listing:
        """The listing of a catalog. Only documents whose resources are new are made."""
        documents: dict[str, tuple[tuple[Resource, ...], str]] = {}
        for path, resources in v3.resources_by_path(catalog).items():
            before = self._documents.get(path)
            if before is None or before[0] != resources:
                before = resources, _digest(v3.document(catalog, resources[0].group, resources[0].version, resources))
            documents[path] = before
        self._documents = documents
        hashes = {path: digest for path, (_, digest) in documents.items()}
        hashes.update(
            {path: _digest(v3.root_document(catalog, items)) for path, items in v3.root_items(catalog).items()}
        )
        return _Listing(catalog=catalog, hashes=hashes)

    def _index(self, listing: _Listing) -> tuple[bytes, str]:
        """The index in JSON, compressed, and its tag."""
        foreign = self._foreign()
        if self._indexed is None or self._indexed[0] is not listing or self._indexed[1] is not foreign:
            foreign_paths = [v3.document_path(each.group, each.version) for each in foreign if each.resources]
            index = orjson.dumps(v3.index(listing.hashes, foreign_paths))
            self._indexed = listing, foreign, (gzip.compress(index, 5), f'"{_hash(index)}"')
        return self._indexed[2]


def _nothing() -> Response:
    """404 without a text."""
    return Response(code=404, content_type="", headers=[NO_STORE])


def _hash(data: bytes) -> str:
    return hashlib.sha512(data).hexdigest().upper()


def _digest(document: Any) -> str:
    return _hash(orjson.dumps(document))


def _pack(catalog: Catalog, path: str, media_type: str) -> bytes:
    """A document of the catalog, compressed."""
    resources = v3.resources_by_path(catalog).get(path)
    document: Any
    if resources is None:
        document = v3.root_document(catalog, v3.root_items(catalog)[path])
    else:
        document = v3.document(catalog, resources[0].group, resources[0].version, resources)
    data = orjson.dumps(document) if media_type == JSON else v3_protobuf.encode(document)
    return gzip.compress(data, 5)


def _negotiate(request: Request) -> str:
    """The media type of a document, "" when none is accepted."""
    accept = ",".join(request.headers.get("accept", ())) or "*/*"
    for clause in mediatype.parse_accept(accept):
        for subtype, media_type in _SUBTYPES:
            if clause.type in ("application", "*") and clause.subtype in (subtype, "*"):
                return media_type
    return ""


def _response(request: Request, packed: bytes, tag: str, media_type: str, caching: list[tuple[str, str]]) -> Response:
    headers = [*caching, ("Etag", tag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
    if tag in request.header("if-none-match"):
        return Response(code=304, content_type="", headers=headers)
    if "gzip" in request.header("accept-encoding"):
        return Response(content_type=media_type, headers=[*headers, ("Content-Encoding", "gzip")], body=packed)
    return Response(content_type=media_type, headers=headers, body=unpack(packed))
