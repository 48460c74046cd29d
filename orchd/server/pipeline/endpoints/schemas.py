"""``/openapi/v3``: one document per group version, made when it is asked for (feature gate OpenAPIV3).

The index has the form that clients of later releases read; those of release 1.23 itself do not look at it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.openapi import v3
from orchd.server.pipeline.endpoints.packed import unpacked
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.dispatch import text_not_found

ROOT = "/openapi/v3"
_JSON = frozenset(("*/*", "application/*", "application/json"))


class Schemas:
    """Documents by group version, kept compressed. `in_thread` runs a pure function off the reactor's thread."""

    def __init__(self, catalog: Callable[[], Catalog], *, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._catalog = catalog
        self._in_thread = in_thread
        #: Path -> fingerprint of what the document says, the compressed document, and its tag.
        self._made: dict[str, tuple[str, bytes, str]] = {}
        self._prints: tuple[Catalog, dict[str, str]] | None = None

    def handles(self, path: str) -> bool:
        return path == ROOT or path.startswith(ROOT + "/")

    async def answer(self, request: Request) -> Response:
        """The index, or the document of the group version that the path names. 404 for one that is not served."""
        accept = ",".join(request.headers.get("accept", ())) or "*/*"
        if not any(f"{clause.type}/{clause.subtype}" in _JSON for clause in mediatype.parse_accept(accept)):
            return Response(code=406, content_type="", headers=[NO_STORE])
        catalog = self._catalog()
        prints = await self._fingerprints(catalog)
        wanted = request.path.removeprefix(ROOT).strip("/")
        if not wanted:
            data = orjson.dumps(v3.index(catalog, prints))
            return _response(request, gzip.compress(data, 5), _tag(data))
        if wanted not in prints:
            return text_not_found()
        kept = self._made.get(wanted)
        if kept is None or kept[0] != prints[wanted]:
            packed, tag = await self._in_thread(_built, catalog, wanted)
            kept = self._made[wanted] = (prints[wanted], packed, tag)
            for gone in self._made.keys() - prints.keys():
                del self._made[gone]
        return _response(request, kept[1], kept[2])

    async def _fingerprints(self, catalog: Catalog) -> dict[str, str]:
        kept = self._prints
        if kept is None or kept[0] is not catalog:
            kept = self._prints = catalog, await self._in_thread(fingerprints, catalog)
        return kept[1]


def fingerprints(catalog: Catalog) -> dict[str, str]:
    """Path of each group version's document -> text that changes whenever the document does."""
    described: dict[str, list[Any]] = {path: [] for path, _, _ in v3.paths(catalog)}
    for r in catalog.resources:
        described[v3.document_path(r.group, r.version)].append(
            (r.plural, r.kind, r.list_kind, sorted(r.verbs), sorted(r.subresources), r.namespaced, r.definition)
        )
    return {
        path: hashlib.sha256(orjson.dumps(found, default=str)).hexdigest()[:40].upper() for path, found in described.items()
    }


def _built(catalog: Catalog, wanted: str) -> tuple[bytes, str]:
    group, version = next((group, version) for path, group, version in v3.paths(catalog) if path == wanted)
    data = orjson.dumps(v3.document(catalog, group, version))
    return gzip.compress(data, 5), _tag(data)


def _tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:40].upper()}"'


def _response(request: Request, packed: bytes, tag: str) -> Response:
    headers = [NO_STORE, ("Etag", tag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
    if tag in request.header("if-none-match"):
        return Response(code=304, content_type="", headers=headers)
    # The reference lets its HTTP library guess this from the first bytes.
    kind = "text/plain; charset=utf-8"
    if "gzip" in request.header("accept-encoding"):
        return Response(content_type=kind, headers=[*headers, ("Content-Encoding", "gzip")], body=packed)
    return Response(content_type=kind, headers=headers, body=unpacked(packed))
