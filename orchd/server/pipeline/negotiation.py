"""Which representation of a resource's objects a request accepts: format, shape and version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from orchd import errors
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import mediatype
from orchd.kinds.codec.mediatype import Form, Negotiated
from orchd.kinds.objects.tabulate import table
from orchd.server.pipeline.interfaces import Request

#: Maximum number of cached negotiation results.
_MOST_VIEWS: Final = 2048
#: Valid values of includeObject for tables.
_INCLUDED = frozenset(("", table.METADATA, table.OBJECT, table.NO_OBJECT))


@dataclass(frozen=True, slots=True)
class Representation:
    """The negotiated representation of a resource's objects. `key` identifies derived forms; `plain` means that stored
    bytes are sent unchanged."""

    chosen: Negotiated
    resource: Resource
    include_object: str
    pretty: bool
    plain: bool
    key: tuple[Form, str, str, str, str, bool]
    #: Path of the request and its subresource as in a path, for `self_links`.
    path: str = ""
    suffix: str = ""


class _Asked(NamedTuple):
    """Inputs that determine the representation of a response: header values, parameters of the query, and the endpoint.
    `watch`: it streams events; `streams`: or its path can; `custom`: it is one of a custom kind."""

    accept: tuple[str, ...]
    pretty: str
    agent: str
    include_object: str
    resource: Resource
    watch: bool
    table: bool
    streams: bool
    custom: bool


class Negotiator:
    """Negotiates representations, and remembers the results until the catalog changes, so that former kinds are
    freed."""

    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = catalog
        self._dialect = catalog().dialect
        self._release = catalog().release
        #: By the values of `_Asked`.
        self._views: dict[tuple[object, ...], Representation] = {}
        #: The catalog of the remembered results.
        self._current = catalog()

    def view(
        self, request: Request, resource: Resource, *, watch: bool = False, table: bool = True, custom: bool = False
    ) -> Representation:
        """Negotiate the representation. `custom`: the endpoint is one of a custom kind, though `resource` is not.
        Raises ApiError 406."""
        # A plain tuple: a named one is made only to negotiate.
        asked = (
            request.headers.get("accept", ()),
            request.param("pretty"),
            request.header("user-agent"),
            request.param("includeObject"),
            resource,
            watch,
            table,
            watch or (request.info is not None and request.info.verb in ("list", "watch")),
            custom or resource.custom,
        )
        if (catalog := self._catalog()) is not self._current:
            self._current = catalog
            self._views.clear()
        view = self._views.get(asked)
        if view is None:
            view = self._view(_Asked(*asked))
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            self._views[asked] = view
        return view

    def _view(self, asked: _Asked) -> Representation:
        resource = asked.resource
        chosen = mediatype.negotiate(
            ",".join(asked.accept),
            dialect=self._dialect,
            watch=asked.watch,
            streams=asked.streams,
            custom=asked.custom,
            table=asked.table,
            release=self._release,
        )
        include = ""
        if chosen.as_ == "Table":
            include = asked.include_object
        wants_pretty = chosen.pretty or mediatype.wants_pretty(asked.pretty, asked.agent)
        pretty = chosen.form is Form.JSON and not asked.watch and wants_pretty
        plain = (
            chosen.form is Form.JSON
            and not chosen.as_
            and not pretty
            and resource.api_version == resource.storage_version
        )
        key = (chosen.form, chosen.as_, chosen.api_version, resource.api_version, include, pretty)
        return Representation(chosen, resource, include, pretty, plain, key)


def check_table(view: Representation) -> None:
    """Check includeObject of a table. Raises ApiError 400."""
    if view.chosen.as_ == "Table" and view.include_object not in _INCLUDED:
        include_object = errors.quoted(view.include_object)
        raise errors.bad_request(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {include_object}: "
            "must be 'Metadata', 'Object', 'None', or empty"
        )
