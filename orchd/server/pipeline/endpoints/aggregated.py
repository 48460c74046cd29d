"""Aggregated discovery at ``/api`` and ``/apis``, for clients that accept that form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import orjson

from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.codec.mediatype import Form, Negotiated
from orchd.kinds.openapi import aggregated
from orchd.kinds.openapi.aggregated import AggregatedDiscovery, ForeignVersion, Priorities
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import Presenter

#: Clients may keep the document, and ask with its tag whether it is current.
_CACHED = ("Cache-Control", "public")


class AggregatedDocuments:
    """The documents of the current catalog and their tags, built once per change.

    `foreign` returns the documents of other servers, as the same value until it changes.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        present: Presenter,
        priorities: Priorities,
        foreign: Callable[[], Sequence[ForeignVersion]] = lambda: (),
    ) -> None:
        self._catalog = catalog
        self._present = present
        self._foreign = foreign
        self._discovery = AggregatedDiscovery(priorities)
        self._made_for: tuple[Catalog, Sequence[ForeignVersion]] | None = None
        #: Items and their tag: of the core group at True, of the named groups at False.
        self._items: dict[bool, tuple[bytes, str]] = {}
        self._bodies: dict[tuple[bool, str, bool], bytes] = {}

    def respond(self, request: Request, *, core: bool) -> Response | None:
        """The document of the core group or of the named groups; None if the request does not accept an aggregated
        form."""
        accept = ",".join(request.headers.get("accept", ()))
        chosen = mediatype.negotiate_aggregated(accept, dialect=self._catalog().dialect)
        if chosen is None:
            return None
        items, tag = self._current(core)
        headers = [("Etag", tag), ("Vary", "Accept"), _CACHED]
        if request.header("if-none-match") == tag:
            return Response(code=304, content_type="", headers=headers)
        pretty = chosen.form is Form.JSON and (
            chosen.pretty or mediatype.wants_pretty(request.param("pretty"), request.header("user-agent"))
        )
        body = self._body(core, items, chosen, pretty=pretty)
        return Response(content_type=chosen.content_type, headers=headers, body=body)

    def _current(self, core: bool) -> tuple[bytes, str]:
        sources = self._catalog(), self._foreign()
        if self._made_for is None or self._made_for[0] is not sources[0] or self._made_for[1] is not sources[1]:
            self._items.clear()
            self._bodies.clear()
            self._made_for = sources
        item = self._items.get(core)
        if item is None:
            items = self._discovery.items(*sources, core=core)
            item = self._items[core] = items, f'"{hashlib.sha512(items).hexdigest().upper()}"'
        return item

    def _body(self, core: bool, items: bytes, chosen: Negotiated, *, pretty: bool) -> bytes:
        key = core, chosen.content_type, pretty
        body = self._bodies.get(key)
        if body is None:
            text = aggregated.document(items, chosen.api_version)
            plain = chosen.form is Form.JSON and not pretty
            body = text + b"\n" if plain else self._present.bytes_of(chosen.form, orjson.loads(text), pretty=pretty)
            self._bodies[key] = body
        return body
