"""Discovery and OpenAPI: documents about the catalog, made once per catalog and answered from memory, with ETags."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd import errors
from orchd.dialect import STOCK_GVK
from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.openapi import discovery, v2, v2_protobuf
from orchd.server.pipeline.endpoints.packed import unpacked
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE, Presenter
from orchd.server.pipeline.verbs.dispatch import text_not_found

#: The forms of the OpenAPI v2 document by media type.
_SPEC_TYPES = {
    "*/*": "json",
    "application/*": "json",
    "application/json": "json",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": "protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf": "protobuf",
}


class Documents:
    """Everything below ``/api`` and ``/apis`` that names no resource, and ``/openapi/v2``.

    `in_thread` runs a pure function off the reactor's thread: the OpenAPI document takes too long to build on it.
    """

    log = Logger()

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        present: Presenter,
        *,
        server_address: str,
        in_thread: Callable[..., Awaitable[Any]],
        elsewhere: Callable[[], tuple[dict[str, Any], ...]] = lambda: (),
    ) -> None:
        """`elsewhere` gives the groups with versions that other servers answer, as the same value until it changes."""
        self._catalog = catalog
        self._elsewhere = elsewhere
        self._present = present
        self._address = server_address
        self._in_thread = in_thread
        self._made_for: tuple[Catalog | None, tuple[dict[str, Any], ...]] = (None, ())
        self._discovery: dict[tuple[str, Form, bool], bytes] = {}
        self._spec: dict[str, tuple[bytes, str]] | None = None
        self._spec_for: Catalog | None = None
        self._building: list[Deferred[None]] | None = None

    # -- discovery

    def discovery(self, request: Request) -> Response | None:
        """The answer to a discovery path; None when the path is none."""
        parts = request.path.strip("/").split("/")
        if request.path.startswith("//") or parts[0] not in ("api", "apis") or len(parts) > 3:
            return None
        data = self._document(parts)
        if data is None:
            if parts[0] == "apis" and len(parts) > 1 and self._catalog().group(parts[1]) is None:
                return text_not_found()
            raise errors.page_not_found()
        served_by_service = len(parts) == 1 or (parts[0] == "api" and len(parts) <= 2) or len(parts) == 3
        if served_by_service and request.method not in ("GET",):
            raise errors.method_not_allowed()
        chosen = mediatype.negotiate(
            ",".join(request.headers.get("accept", ())), dialect=self._catalog().dialect, table=False, partial=False
        )
        pretty = chosen.form is Form.JSON and (
            chosen.pretty or mediatype.wants_pretty(request.param("pretty"), request.header("user-agent"))
        )
        body = self._cached("/".join(parts), data, chosen.form, pretty)
        return Response(content_type=chosen.content_type, headers=[NO_STORE], body=body)

    def _document(self, parts: list[str]) -> dict[str, Any] | None:
        catalog = self._catalog()
        if parts[0] == "api":
            if len(parts) == 1:
                return discovery.api_versions(catalog, self._address)
            return discovery.api_resource_list(catalog, "", parts[1]) if len(parts) == 2 else None
        if len(parts) == 1:
            return discovery.api_group_list(catalog, self._elsewhere())
        if len(parts) == 2:
            return discovery.api_group(catalog, parts[1], self._elsewhere())
        return discovery.api_resource_list(catalog, parts[1], parts[2])

    def _cached(self, path: str, data: dict[str, Any], form: Form, pretty: bool) -> bytes:
        made_for = self._catalog(), self._elsewhere()
        if self._made_for[0] is not made_for[0] or self._made_for[1] is not made_for[1]:
            self._discovery.clear()
            self._made_for = made_for
        key = (path, form, pretty)
        body = self._discovery.get(key)
        if body is None:
            body = self._discovery[key] = self._present.bytes_of(form, data, pretty=pretty)
        return body

    # -- OpenAPI

    async def openapi(self, request: Request) -> Response:
        """``/openapi/v2`` in JSON or protobuf."""
        accept = ",".join(request.headers.get("accept", ())) or "*/*"
        form = next(
            (_SPEC_TYPES[name] for c in mediatype.parse_accept(accept) if (name := f"{c.type}/{c.subtype}") in _SPEC_TYPES),
            None,
        )
        if form is None:
            return Response(code=406, content_type="", headers=[NO_STORE])
        if self._spec is None:
            await self._built()
        else:
            # Whoever asks while the next one is being made gets the one before: nobody waits.
            self.prepare()
        assert self._spec is not None
        packed, tag = self._spec[form]
        headers = [NO_STORE, ("Etag", tag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        if tag in request.header("if-none-match"):
            return Response(code=304, content_type="", headers=headers)
        # The reference lets its HTTP library guess these from the first bytes.
        kind = "text/plain; charset=utf-8" if form == "json" else "application/octet-stream"
        if "gzip" in request.header("accept-encoding"):
            headers.append(("Content-Encoding", "gzip"))
            return Response(content_type=kind, headers=headers, body=packed)
        # Hardly anybody wants it so: not worth the megabytes that it would take to have it at hand.
        return Response(content_type=kind, headers=headers, body=unpacked(packed))

    def prepare(self) -> None:
        """Begin to build the OpenAPI document for the catalog in force, so that nobody waits for it."""
        if self._building is None and self._spec_for is not self._catalog():
            self._building = []
            Deferred.fromCoroutine(self._build(self._catalog())).addBoth(self._wake)

    async def _build(self, catalog: Catalog) -> None:
        self._spec = await self._in_thread(_specification, catalog)
        self._spec_for = catalog

    def _wake(self, result: Any) -> None:
        waiting, self._building = self._building or [], None
        if isinstance(result, Failure):
            self.log.failure("the OpenAPI document cannot be built", failure=result)
        for each in waiting:
            each.callback(result)

    async def _built(self) -> None:
        """Wait until there is a document. Raises what went wrong when it was made."""
        while self._spec is None:
            self.prepare()
            if self._building is not None:
                waiting: Deferred[None] = Deferred()
                self._building.append(waiting)
                await waiting
            elif self._spec is None:
                raise errors.internal("the OpenAPI document cannot be built")


def _findable(document: dict[str, Any], gvk: str) -> dict[str, Any]:
    """The document in which stock clients find kinds: only they ask for the binary form, and they know one name for it.

    `gvk` is the extension that names kinds, on definitions and on operations.
    """
    if gvk == STOCK_GVK:
        return document

    def twice(part: Any) -> Any:
        return {**part, STOCK_GVK: part[gvk]} if isinstance(part, dict) and gvk in part else part

    paths = {path: {verb: twice(part) for verb, part in item.items()} for path, item in document["paths"].items()}
    definitions = {name: twice(schema) for name, schema in document["definitions"].items()}
    return {**document, "paths": paths, "definitions": definitions}


def _specification(catalog: Catalog) -> dict[str, tuple[bytes, str]]:
    """Both forms of the document: compressed, and their tag."""
    document = v2.document(catalog)
    out = {}
    binary = v2_protobuf.encode(_findable(document, catalog.dialect("x-{long}-group-version-kind")))
    for form, data in (("json", orjson.dumps(document)), ("protobuf", binary)):
        tag = f'"{hashlib.sha256(data).hexdigest()[:40].upper()}"'
        out[form] = (gzip.compress(data, 5), tag)
    return out
