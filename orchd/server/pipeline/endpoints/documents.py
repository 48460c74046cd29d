"""Discovery: documents about the catalog, made once per catalog and served from memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd import errors
from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import mediatype
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.openapi import discovery
from orchd.server.pipeline.endpoints.aggregated import AggregatedDocuments
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE, Presenter
from orchd.server.pipeline.verbs.dispatch import text_not_found


class Documents:
    """Everything below ``/api`` and ``/apis`` that names no resource."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        present: Presenter,
        *,
        server_address: str,
        foreign: Callable[[], tuple[dict[str, Any], ...]] = lambda: (),
        aggregated: AggregatedDocuments | None = None,
        hashes: bool = True,
    ) -> None:
        """`foreign` returns the groups with versions that other servers serve; the same value until it changes.
        `aggregated` serves requests for aggregated discovery. `hashes`: with the hashes of storage versions."""
        self._catalog = catalog
        self._foreign = foreign
        self._present = present
        self._address = server_address
        self._aggregated = aggregated
        self._hashes = hashes
        self._made_for: tuple[Catalog | None, tuple[dict[str, Any], ...]] = (None, ())
        self._discovery: dict[tuple[str, Form, bool], bytes] = {}

    def discovery(self, request: Request) -> Response | None:
        """The response for a discovery path; None for any other path."""
        parts = request.path.strip("/").split("/")
        if request.path.startswith("//") or parts[0] not in ("api", "apis") or len(parts) > 3:
            return None
        data = self._document(parts)
        if data is None:
            if parts[0] == "apis" and len(parts) > 1 and self._catalog().group(parts[1]) is None:
                return text_not_found()
            raise errors.page_not_found()
        # The reference's aggregator serves the list of groups and each group for any method.
        aggregated = parts[0] == "apis" and len(parts) <= 2
        if request.method != "GET" and not aggregated:
            raise errors.method_not_allowed()
        catalog = self._catalog()
        accept, produced = ",".join(request.headers.get("accept", ())), mediatype.media_types(catalog.dialect)
        if aggregated:
            mediatype.check_listed(accept, produced)
        else:
            mediatype.check_route(accept, produced, catalog.release)
        if len(parts) == 1 and self._aggregated is not None:
            response = self._aggregated.respond(request, core=parts[0] == "api")
            if response is not None:
                return response
        chosen = mediatype.negotiate(
            accept, dialect=catalog.dialect, table=False, partial=False, release=catalog.release
        )
        pretty = chosen.form is Form.JSON and (
            chosen.pretty or mediatype.wants_pretty(request.param("pretty"), request.header("user-agent"))
        )
        body = self._encode_cached("/".join(parts), data, chosen.form, pretty)
        return Response(content_type=chosen.content_type, headers=[NO_STORE], body=body)

    def _document(self, parts: list[str]) -> dict[str, Any] | None:
        catalog = self._catalog()
        if parts[0] == "api":
            if len(parts) == 1:
                return discovery.api_versions(catalog, self._address)
            return discovery.api_resource_list(catalog, "", parts[1], hashes=self._hashes) if len(parts) == 2 else None
        if len(parts) == 1:
            return discovery.api_group_list(catalog, self._foreign())
        if len(parts) == 2:
            return discovery.api_group(catalog, parts[1], self._foreign())
        return discovery.api_resource_list(catalog, parts[1], parts[2], hashes=self._hashes)

    def _encode_cached(self, path: str, data: dict[str, Any], form: Form, pretty: bool) -> bytes:
        made_for = self._catalog(), self._foreign()
        if self._made_for[0] is not made_for[0] or self._made_for[1] is not made_for[1]:
            self._discovery.clear()
            self._made_for = made_for
        key = (path, form, pretty)
        body = self._discovery.get(key)
        if body is None:
            body = self._discovery[key] = self._present.bytes_of(form, data, pretty=pretty)
        return body
