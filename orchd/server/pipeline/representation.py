"""Encodes entries as responses in the requested version, format and shape (docs/decisions.md 1).

JSON in the storage version is sent from stored bytes. Derived representations are cached with the entry, once per form,
while the cache has space (cache.derived).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from orchd.cache.entries import Entry
from orchd.dialect import STOCK_INITIAL_EVENTS_END
from orchd.errors import ApiError
from orchd.kinds import verbatim
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, frames, json_, mediatype, partial, protobuf, tables, yaml_
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.codec.sortedjson import encode_escaped, sorted_form
from orchd.kinds.crd.resources import definition_size
from orchd.kinds.fields import unstored_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.named_types import type_of
from orchd.kinds.objects import convert, shape
from orchd.kinds.objects.member_order import order_members
from orchd.kinds.objects.tabulate import table
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.server.pipeline.interfaces import Body, ListPieces, Request, Response
from orchd.server.pipeline.negotiation import Negotiator, Representation, check_table
from orchd.server.registry.interfaces import ListPage

NO_STORE = ("Cache-Control", "no-cache, private")
#: Lists of more bytes are generated while they are sent, in pieces of this many items.
_LARGE, _TOGETHER = 4 << 20, 256
#: Bytes of a list from which clients of the same process decode its items one by one.
_DIVISIBLE = 128 << 10

#: Bytes from which the watch frame of an entry is cached: copies of it would be held for each client that does not
#: read.
_SHARED_FRAME = 64 * 1024
#: Key of the sorted form of an object that was stored in another one.
_SORTED = "sorted"
#: Bytes of JSON whose encoding costs as much as one cell of a table.
_CELL = 40
#: Bytes of JSON whose encoding costs as much as making columns of a byte of a definition.
_COLUMNS = 8


def _with_text(resource: Resource, entry: Entry, obj: dict[str, Any]) -> dict[str, Any]:
    """`obj`, decoded from `entry`, with the text of the member that protobuf has as text."""
    name = resource.row.verbatim
    return verbatim.preserve_text(obj, entry.json, name) if name else obj


def _message_key(view: Representation) -> Any:
    return ("message", view.resource.api_version)


def _without_kind(item: bytes) -> bytes:
    """The JSON of an object without kind and apiVersion."""
    obj = orjson.loads(item)
    return orjson.dumps({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})


class Presenter:
    """Encodes response bodies. `wall` returns epoch seconds (ages in tables)."""

    def __init__(self, catalog: Callable[[], Catalog], wall: Callable[[], float]) -> None:
        self._catalog = catalog
        self._wall = wall
        self._dialect = catalog().dialect
        self._list_meta = catalog().type("meta/v1.ListMeta")
        release = catalog().release
        self._negotiator = Negotiator(catalog)
        self._unstored = unstored_metadata(release)
        self._bookmark_table = release.choose((("", self._empty_table), ("1.27", self._table_of_bookmark)))

    def view(
        self, request: Request, resource: Resource, *, watch: bool = False, table: bool = True, custom: bool = False
    ) -> Representation:
        """Negotiate the representation. `custom`: the endpoint is one of a custom kind, though `resource` is not.
        Raises ApiError 406."""
        return self._negotiator.view(request, resource, watch=watch, table=table, custom=custom)

    # -- objects

    def in_version(self, resource: Resource, entry: Entry) -> dict[str, Any]:
        """The decoded object of an entry in the version of `resource`."""
        obj: dict[str, Any] = orjson.loads(entry.json)
        if resource.api_version == resource.storage_version or obj["apiVersion"] == resource.api_version:
            return obj
        return order_members(convert.convert(obj, resource.api_version, self._catalog()), resource.type)

    def entry(self, view: Representation, entry: Entry) -> bytes | list[bytes]:
        """The body for one entry."""
        if view.plain:
            return [self._storage_json(view.resource, entry), b"\n"]
        self._check_list(view, is_list=False)
        # Tables contain ages and are therefore not cached.
        if view.chosen.as_ == "Table":
            # A dry run's new object has no revision.
            meta = {"resourceVersion": str(entry.revision)} if entry.revision else {}
            return self._table_json(view, [entry], meta)
        body: bytes | None = entry.derived.get(view.key)
        if body is None:
            body = self._document(view, self._object_in(view, entry))
            entry.keep(view.key, body, len(body))
        return body

    @staticmethod
    def _storage_json(resource: Resource, entry: Entry) -> bytes:
        """The JSON of an entry in the storage version. Objects of custom kinds have the sorted form; those that earlier
        releases stored get it here."""
        if not resource.custom or sorted_form(entry.json) is entry.json:
            return entry.json
        encoded: bytes | None = entry.derived.get(_SORTED)
        if encoded is None:
            encoded = sorted_form(entry.json)
            entry.keep(_SORTED, encoded, len(encoded))
        return encoded

    def _document(self, view: Representation, obj: dict[str, Any]) -> bytes:
        """A body of an object, or of a list, of the view's resource."""
        if view.resource.custom and view.chosen.form is Form.JSON and not view.chosen.as_:
            return encode_escaped(obj, pretty=True) if view.pretty else encode_escaped(obj) + b"\n"
        return self.encode(view, obj)

    def _object_in(self, view: Representation, entry: Entry) -> dict[str, Any]:
        if view.chosen.as_:
            return partial.partial(orjson.loads(self._metadata_json(view, entry)), view.chosen.api_version)
        obj = self.in_version(view.resource, entry)
        return _with_text(view.resource, entry, obj) if view.chosen.form is Form.PROTOBUF else obj

    def _metadata_json(self, view: Representation, entry: Entry) -> bytes:
        """The JSON of an entry with the metadata of the requested version: versions of built-in kinds keep fields of
        others in annotations."""
        resource = view.resource
        wanted, stored = resource.api_version, resource.storage_version
        if resource.custom or convert.same_metadata(resource.kind, stored, wanted, self._catalog()):
            return entry.json
        return orjson.dumps(self.in_version(resource, entry))

    def table_of(
        self, view: Representation, objects: Iterable[Object], meta: Mapping[str, Any], *, with_columns: bool = True
    ) -> Object:
        """A table of objects in the version of the view's resource."""
        return table.table(
            [self._printed(view, obj) for obj in objects],
            view.resource,
            meta,
            datetime.fromtimestamp(self._wall(), UTC),
            self._dialect,
            with_columns=with_columns,
            api_version=view.chosen.api_version,
        )

    def _printed(self, view: Representation, obj: Object) -> tuple[Object, Object | None]:
        """An object in the form of which the cells of its row are computed, and the object that the row contains."""
        printed = convert.to_hub(obj, self._catalog())
        if view.include_object == table.NO_OBJECT:
            return printed, None
        if view.include_object == table.OBJECT:
            return printed, obj
        return printed, partial.partial(printed, view.chosen.api_version)

    def _table(
        self, view: Representation, entries: Sequence[Entry], meta: Mapping[str, Any], *, with_columns: bool = True
    ) -> Object:
        return self.table_of(
            view, [self.in_version(view.resource, e) for e in entries], meta, with_columns=with_columns
        )

    def _table_json(
        self, view: Representation, entries: Sequence[Entry], meta: Mapping[str, Any], *, with_columns: bool = True
    ) -> bytes | list[bytes]:
        """A table from cached rows. Raises ApiError 400."""
        check_table(view)
        if view.pretty or view.chosen.form is not Form.JSON:
            return self.encode(view, self._table(view, entries, meta, with_columns=with_columns))
        now = datetime.fromtimestamp(self._wall(), UTC)
        how = table.tabulator(view.resource, self._dialect)
        ages = Ages(now)
        rows = []
        for entry in entries:
            row: tables.Row | None = entry.derived.get(view.key)
            if row is None:
                row = self._row(view, entry, how, now)
                if row is None:
                    # A row contains the placeholder text; build the whole table without it.
                    return self.encode(view, self._table(view, entries, meta, with_columns=with_columns))
                entry.keep(view.key, row, row.size)
            rows.append(row.at(ages))
        columns = how.columns_json if with_columns else b"null"
        return tables.table_pieces(view.chosen.api_version, meta, columns, rows, null=how.null)

    @staticmethod
    def column_work(view: Representation) -> int:
        """Cost of making the columns of a table of a custom kind, in bytes of JSON of equal cost; 0 once they are
        made."""
        if view.chosen.as_ != "Table" or table.has_columns(view.resource):
            return 0
        return _COLUMNS * definition_size(view.resource)

    def cell_work(self, view: Representation) -> int:
        """Cost of the cells of one object in a table, in bytes of JSON of equal cost; 0 in any other form."""
        how = self._tabulator(view)
        return 0 if how is None else _CELL * len(how.columns)

    def searches(self, view: Representation) -> int:
        """How often the cells of a table look at each value of an object."""
        how = self._tabulator(view)
        return 0 if how is None else how.searches

    def _tabulator(self, view: Representation) -> table.Tabulator | None:
        """What makes the cells of a table; None in any other form, and while `column_work` has to make it first."""
        if view.chosen.as_ != "Table" or self.column_work(view):
            return None
        return table.tabulator(view.resource, self._dialect)

    def _row(self, view: Representation, entry: Entry, how: table.Tabulator, now: datetime) -> tables.Row | None:
        printed, partial_ = self._printed(view, self.in_version(view.resource, entry))
        return tables.row(printed, partial_, how, self._dialect, now)

    def other(self, view: Representation, obj: dict[str, Any]) -> bytes:
        """An object that is not stored (Status, Scale, reviews), or a list of such, in a negotiated format; a Status
        has no other format than its own. Raises ApiError 406, or 400."""
        if obj["kind"] == "Status":
            return self.encode(view, obj)
        self._check_list(view, is_list=obj["kind"] == view.resource.list_kind)
        if view.chosen.as_ == "Table":
            check_table(view)
            return self.encode(
                view, self.table_of(view, [obj], {"resourceVersion": obj["metadata"]["resourceVersion"]})
            )
        if view.chosen.as_ == partial.LIST_KIND:
            items = [partial.partial(item, view.chosen.api_version) for item in obj["items"]]
            obj = {"kind": partial.LIST_KIND, "apiVersion": view.chosen.api_version, "metadata": {}, "items": items}
        elif view.chosen.as_:
            obj = partial.partial(obj, view.chosen.api_version)
        elif obj["kind"] == view.resource.kind and not view.resource.custom:
            obj = order_members(obj, view.resource.type)
        return self.encode(view, obj)

    def _check_list(self, view: Representation, *, is_list: bool) -> None:
        """PartialObjectMetadata is for objects, PartialObjectMetadataList for lists. Raises ApiError 406."""
        asked = view.chosen.as_
        if asked not in (partial.KIND, partial.LIST_KIND) or (asked == partial.LIST_KIND) == is_list:
            return
        resource = view.resource
        kind = resource.list_kind if is_list else resource.kind
        what = "is a list" if is_list else "is not a list"
        package = "unstructured" if resource.custom else decode.internal_package(resource.type)
        name = ("UnstructuredList" if is_list else "Unstructured") if resource.custom else kind
        raise ApiError(
            406, "NotAcceptable", f"you requested {asked}, but the requested object {what} (*{package}.{name})"
        )

    def encode(self, view: Representation, obj: dict[str, Any]) -> bytes:
        return self.bytes_of(view.chosen.form, obj, pretty=view.pretty)

    def bytes_of(self, form: Form, obj: dict[str, Any], *, pretty: bool = False) -> bytes:
        """Encode an object that has kind and apiVersion. Raises ApiError 406 if it has no protobuf form."""
        if form is Form.YAML:
            return yaml_.encode(obj)
        if form is Form.PROTOBUF:
            type_ = type_of(self._catalog(), obj.get("apiVersion", "v1"), obj.get("kind", ""))
            if type_ is None:
                raise protobuf.no_form()
            return protobuf.encode(obj, type_)
        return json_.body(obj, pretty=pretty)

    # -- lists

    def _page_meta(self, view: Representation, page: ListPage) -> dict[str, Any]:
        meta: dict[str, Any] = {"resourceVersion": str(page.revision)}
        if page.token:
            meta["continue"] = page.token
            if page.remaining:
                meta["remainingItemCount"] = page.remaining
        if view.resource.custom and not view.chosen.as_:
            # The reference's lists of custom kinds always have this member.
            meta.setdefault("continue", "")
        return meta

    def page(self, view: Representation, page: ListPage) -> Body:
        """The body for a list."""
        entries = page.entries
        meta = self._page_meta(view, page)
        chosen, resource = view.chosen, view.resource
        self._check_list(view, is_list=True)
        if chosen.as_ == "Table":
            return self._table_json(view, entries, meta)
        if chosen.as_:
            # The reference omits this here.
            meta.pop("remainingItemCount", None)
            return self._partials(view, entries, meta)
        if view.plain:
            return self._join_list(resource, meta, entries)
        if chosen.form is Form.PROTOBUF:
            items = [self._message(view, e) for e in entries]
            return protobuf.encode_list(resource.api_version, resource.list_kind, meta, items, self._list_meta)
        objects = [self._list_item(resource, self.in_version(resource, e)) for e in entries]
        return self._document(view, self._list(resource, meta, objects))

    @staticmethod
    def item_key(view: Representation) -> Any:
        """Key of the derived representation of which a list consists; None if each list is encoded from the objects."""
        if view.chosen.as_ == "Table":
            return view.key
        return None if view.chosen.as_ or view.chosen.form is not Form.PROTOBUF else _message_key(view)

    def yaml_items(self, view: Representation, entries: Sequence[Entry]) -> bytes:
        """Consecutive items of a list as YAML, for `yaml_page`."""
        return yaml_.encode(
            [self._list_item(view.resource, self.in_version(view.resource, entry)) for entry in entries]
        )

    def yaml_page(self, view: Representation, page: ListPage, items: Sequence[bytes]) -> Body:
        """A list as YAML, from the results of `yaml_items` for its entries, of which there is at least one."""
        head, mark, tail = self.encode(view, self._list(view.resource, self._page_meta(view, page), [])).partition(
            b"items: []\n"
        )
        return [head, mark[:6] + b"\n", *items, tail]

    @staticmethod
    def _list_item(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        """An object as an item of a list: of built-in kinds without kind and apiVersion."""
        return obj if resource.custom else {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}

    @staticmethod
    def _list(resource: Resource, meta: Mapping[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
        return {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta, "items": items}

    def _message(self, view: Representation, entry: Entry) -> bytes:
        key = _message_key(view)
        message: bytes | None = entry.derived.get(key)
        if message is None:
            obj = _with_text(view.resource, entry, self.in_version(view.resource, entry))
            message = protobuf.encode_message(obj, view.resource.type)
            entry.keep(key, message, len(message))
        return message

    def _partials(self, view: Representation, entries: Sequence[Entry], meta: Mapping[str, Any]) -> bytes | list[bytes]:
        api_version = view.chosen.api_version
        objects = [self._metadata_json(view, entry) for entry in entries]
        if view.chosen.form is Form.PROTOBUF:
            type_ = self._catalog().type("meta/v1.PartialObjectMetadata")
            items = [partial.partial_message(json, type_) for json in objects]
            old = view.chosen.version == "v1beta1"
            return protobuf.encode_list(api_version, partial.LIST_KIND, meta, items, self._list_meta, items_first=old)
        if view.chosen.form is Form.JSON and not view.pretty:
            return partial.partial_list(
                api_version, meta, [partial.partial_json(json, api_version) for json in objects]
            )
        partials = [partial.partial(orjson.loads(json), api_version) for json in objects]
        out = {"kind": partial.LIST_KIND, "apiVersion": api_version, "metadata": meta, "items": partials or None}
        return self.encode(view, out)

    def _join_list(self, resource: Resource, meta: Mapping[str, Any], entries: Sequence[Entry]) -> Body:
        """A JSON list joined from stored bytes; items of built-in kinds omit kind and apiVersion."""
        if resource.custom:
            head, tail = frames.sorted_ends(resource.api_version, resource.list_kind, meta)
            return self._join_items([self._storage_json(resource, entry) for entry in entries], 0, head, tail)
        head, *rest = frames.list_pieces(resource.api_version, resource.list_kind, meta, ())
        if not entries:
            return [head, *rest]
        items = [entry.json for entry in entries]
        shared = f'{{"kind":"{resource.kind}","apiVersion":"{resource.storage_version}",'.encode()
        if not all(item.startswith(shared) for item in items):
            items = [item if item.startswith(shared) else shared + _without_kind(item)[1:] for item in items]
        return self._join_items(items, len(shared), head.removesuffix(b"]}\n") + b"{", b"]}\n")

    @staticmethod
    def _join_items(items: list[bytes], skip: int, head: bytes, tail: bytes) -> Body:
        """A list of encoded items; large ones are joined while they are sent."""
        if not items:
            return [head, tail]
        size = frames.list_size(head, items, skip, tail)
        if size < _DIVISIBLE:
            return list(frames.list_parts(head, items, skip, len(items), tail))
        together = len(items) if size < _LARGE else _TOGETHER
        return ListPieces(
            size,
            lambda: frames.list_parts(head, items, skip, together, tail),
            empty=(head[:-1] if skip else head) + tail,
            items=items,
            skip=skip,
        )

    # -- events

    def frame(self, view: Representation, kind: str, entry: Entry, *, first: bool = False) -> bytes:
        """A watch frame of an entry; `first` adds column definitions to a table."""
        if len(entry.json) >= _SHARED_FRAME and view.chosen.as_ != "Table":
            key = ("frame of", kind, *view.key)
            shared: bytes | None = entry.derived.get(key)
            if shared is None:
                shared = self._frame(view, kind, self._event_body(view, entry))
                entry.keep(key, shared, len(shared))
            return shared
        if view.chosen.as_ == "Table":
            meta = {"resourceVersion": str(entry.revision)}
            body = self._table_json(view, [entry], meta, with_columns=first)
            return self._frame(view, kind, (body if isinstance(body, bytes) else b"".join(body)).rstrip(b"\n"))
        return self._frame(view, kind, self._event_body(view, entry))

    def _event_body(self, view: Representation, entry: Entry) -> bytes:
        """The object of an entry's watch events."""
        if view.plain:
            return self._storage_json(view.resource, entry)
        key = ("frame", *view.key)
        body: bytes | None = entry.derived.get(key)
        if body is None:
            obj = self._object_in(view, entry)
            sorted_ = view.resource.custom and not view.chosen.as_
            body = encode_escaped(obj) if sorted_ else self._body(view, obj)
            if len(entry.json) < _SHARED_FRAME:
                entry.keep(key, body, len(body))
        return body

    def object_frame(self, view: Representation, kind: str, obj: dict[str, Any]) -> bytes:
        """A watch frame of an object that is not an entry: a table, a bookmark, an error."""
        return self._frame(view, kind, self._body(view, obj))

    def _body(self, view: Representation, obj: dict[str, Any]) -> bytes:
        if view.chosen.form is Form.PROTOBUF:
            return self.bytes_of(Form.PROTOBUF, obj)
        return json_.encode(obj)

    def _frame(self, view: Representation, kind: str, body: bytes) -> bytes:
        if view.chosen.form is Form.PROTOBUF:
            return protobuf.watch_frame(kind, body)
        return frames.watch_frame(kind, body)

    def bookmark(self, view: Representation, version: str, *, state_sent: bool = False) -> dict[str, Any]:
        """The object of a BOOKMARK event: an otherwise empty object of the watched kind. `state_sent` marks the one
        after the initial state, except in tables, which have no place for it."""
        chosen, resource = view.chosen, view.resource
        metadata: dict[str, Any] = {"resourceVersion": version, **self._unstored}
        if state_sent:
            own = self._dialect("{abbr}.io/initial-events-end")
            metadata["annotations"] = dict.fromkeys((own, STOCK_INITIAL_EVENTS_END), "true")
        if chosen.as_ == "Table":
            return self._bookmark_table(view, metadata)
        if chosen.as_:
            return partial.partial({"metadata": metadata}, chosen.api_version)
        if resource.custom:
            # Not decoded from anything, it has no creation time.
            metadata.pop("creationTimestamp", None)
            return {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": dict(sorted(metadata.items())),
            }
        obj = shape.canonical({"metadata": metadata}, resource.type)
        return {**obj, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}

    def _empty_table(self, view: Representation, metadata: Mapping[str, Any]) -> Object:
        return self._table(view, [], {"resourceVersion": metadata["resourceVersion"]}, with_columns=False)

    def _table_of_bookmark(self, view: Representation, metadata: Mapping[str, Any]) -> Object:
        """A table with the row of the otherwise empty object."""
        kind, api_version = view.resource.kind, view.resource.api_version
        own = {} if view.resource.custom else shape.canonical({"metadata": metadata}, view.resource.type)
        cells = {**own, "kind": kind, "apiVersion": api_version, "metadata": {"name": "", **metadata}}
        metadata_only = partial.partial({"metadata": metadata}, view.chosen.api_version)
        return table.table(
            [(convert.to_hub(cells, self._catalog()), metadata_only)],
            view.resource,
            {"resourceVersion": metadata["resourceVersion"]},
            datetime.fromtimestamp(self._wall(), UTC),
            self._dialect,
            with_columns=False,
            api_version=view.chosen.api_version,
        )

    # -- responses

    def response(self, view: Representation, body: Body, *, code: int = 200) -> Response:
        """A complete response."""
        return Response(code=code, content_type=view.chosen.content_type, headers=[NO_STORE], body=body)

    def failure(self, request: Request, error: ApiError) -> Response:
        """The Status of an error, in a format that the request accepts (JSON if it accepts none)."""
        form, content_type, pretty = Form.JSON, mediatype.JSON_TYPE, False
        if request.info is not None:
            chosen = mediatype.negotiate_error(",".join(request.headers.get("accept", ())), dialect=self._dialect)
            form, content_type = chosen.form, chosen.content_type
            pretty = chosen.pretty or mediatype.wants_pretty(request.param("pretty"), request.header("user-agent"))
        headers = [NO_STORE, *error.headers.items()]
        if request.method == "HEAD":
            return Response(code=error.code, content_type=content_type, headers=headers)
        body = self.bytes_of(form, error.status(), pretty=pretty)
        return Response(code=error.code, content_type=content_type, headers=headers, body=body)
