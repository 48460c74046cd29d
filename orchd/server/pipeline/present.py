"""From entries to answers: in the version, form and shape that a request asked for (DESIGN 1).

The plain case, JSON in the storage version, hands on stored bytes. Whatever is derived from them is kept beside the
entry, once per form, so that a second reader pays nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from orchd import errors
from orchd.cache.interfaces import Entry
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import frames, json_, mediatype, partial, protobuf, yaml_
from orchd.kinds.codec.mediatype import Negotiated
from orchd.kinds.objects import convert, shape
from orchd.kinds.objects.tabulate import table
from orchd.server.pipeline.interfaces import Request, Response

NO_STORE = ("Cache-Control", "no-cache, private")


@dataclass(frozen=True, slots=True)
class View:
    """How a request wants to see objects of one resource. `key` tells derived forms apart."""

    chosen: Negotiated
    resource: Resource
    include_object: str
    pretty: bool

    @property
    def plain(self) -> bool:
        """Are stored bytes the answer as they are?"""
        chosen = self.chosen
        return (
            chosen.form == "json"
            and not chosen.as_
            and not self.pretty
            and self.resource.api_version == self.resource.storage_version
        )

    @property
    def key(self) -> tuple[str, str, str, str, bool]:
        chosen = self.chosen
        return (chosen.form, chosen.as_ + chosen.version, self.resource.api_version, self.include_object, self.pretty)


class Presenter:
    """Makes response bodies. `clock` gives seconds since the epoch (ages in tables)."""

    def __init__(self, catalog: Callable[[], Catalog], clock: Callable[[], float] = time.time) -> None:
        self._catalog = catalog
        self._clock = clock
        self._dialect = catalog().dialect

    # -- what the client asked for

    def view(self, request: Request, resource: Resource, *, watch: bool = False, table_allowed: bool = True) -> View:
        """Negotiate. Raises ApiError 406."""
        chosen = mediatype.negotiate(
            ",".join(request.headers.get("accept", ())),
            dialect=self._dialect,
            watch=watch,
            protobuf=not resource.custom,
            transforms=table_allowed,
        )
        include = request.param("includeObject")
        if include not in ("", "None", "Metadata", "Object"):
            raise errors.bad_request(f'unrecognized includeObject value: "{include}"')
        return View(chosen, resource, include if chosen.as_ == "Table" else "", self._pretty(request, chosen))

    def _pretty(self, request: Request, chosen: Negotiated) -> bool:
        return chosen.form == "json" and mediatype.pretty(
            request.query.get("pretty"), request.header("user-agent"), chosen
        )

    # -- objects

    def in_version(self, resource: Resource, entry: Entry) -> dict[str, Any]:
        """The decoded object of an entry in the version of `resource`."""
        obj: dict[str, Any] = orjson.loads(entry.json)
        if resource.api_version == resource.storage_version:
            return obj
        return convert.convert(obj, resource.api_version, self._catalog())

    def entry(self, view: View, entry: Entry) -> bytes | list[bytes]:
        """The body that shows one entry."""
        if view.plain:
            return [entry.json, b"\n"]
        key = view.key
        # Ages make tables differ from one second to the next: they are not kept.
        if view.chosen.as_ == "Table":
            return self._encoded(view, self._table(view, [entry], {"resourceVersion": str(entry.revision)}))
        body: bytes | None = entry.forms.get(key)
        if body is None:
            body = entry.forms[key] = self._one(view, entry)
        return body

    def _one(self, view: View, entry: Entry) -> bytes:
        obj = self.in_version(view.resource, entry)
        if view.chosen.as_ == "PartialObjectMetadata":
            obj = partial.of_object(obj, view.chosen.version, self._dialect)
        return self._encoded(view, obj)

    def _table(self, view: View, entries: Sequence[Entry], meta: dict[str, Any]) -> dict[str, Any]:
        resource = view.resource
        shown = (self.in_version(resource, e) for e in entries) if view.include_object == "Object" else None
        return table.table(
            [orjson.loads(e.json) for e in entries],
            resource,
            meta,
            now=self._clock(),
            include_object=view.include_object or "Metadata",
            dialect=self._dialect,
            version=view.chosen.version,
            shown=None if shown is None else list(shown),
        )

    def encoded(self, view: View, obj: dict[str, Any]) -> bytes:
        """Any object in the form of a view: subresources of another kind, reviews, statuses."""
        if view.chosen.as_ == "Table":
            raise errors.not_acceptable(mediatype.acceptable(self._dialect, protobuf=not view.resource.custom))
        if view.chosen.as_ == "PartialObjectMetadata":
            obj = partial.of_object(obj, view.chosen.version, self._dialect)
        return self._encoded(view, obj)

    def _encoded(self, view: View, obj: dict[str, Any]) -> bytes:
        return self.bytes_of(view.chosen.form, obj, pretty=view.pretty)

    def bytes_of(self, form: str, obj: dict[str, Any], *, pretty: bool = False) -> bytes:
        """An object, with its kind and apiVersion in it, as JSON, YAML or protobuf."""
        if form == "yaml":
            return yaml_.encode(obj)
        if form == "protobuf":
            return protobuf.encode(obj, self._catalog())
        return json_.pretty(obj) if pretty else json_.encode(obj)

    # -- lists

    def page(
        self, view: View, entries: Sequence[Entry], *, revision: int, token: str = "", remaining: int | None = None
    ) -> bytes | list[bytes]:
        """The body that shows a list."""
        meta: dict[str, Any] = {"resourceVersion": str(revision)}
        if token:
            meta["continue"] = token
            if remaining:
                meta["remainingItemCount"] = remaining
        chosen, resource = view.chosen, view.resource
        if chosen.as_ == "Table":
            return self._encoded(view, self._table(view, entries, meta))
        if chosen.as_.startswith("PartialObjectMetadata"):
            items = [partial.of_object(orjson.loads(e.json), chosen.version, self._dialect) for e in entries]
            return self._encoded(view, partial.list_of(items, meta, chosen.version, self._dialect))
        if view.plain:
            return self._joined(resource, meta, entries)
        items = [self.in_version(resource, e) for e in entries]
        if not resource.custom and chosen.form != "protobuf":
            items = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
        out = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta, "items": items}
        return self._encoded(view, out)

    def _joined(self, resource: Resource, meta: dict[str, Any], entries: Sequence[Entry]) -> list[bytes]:
        """A list as JSON from stored bytes; items of built-in kinds go without kind and apiVersion."""
        head = orjson.dumps({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta})
        if not entries:
            return [head[:-1], b',"items":[]}\n']
        if resource.custom:
            return [head[:-1], b',"items":[', b",".join([e.json for e in entries]), b"]}\n"]
        skip = len(f'{{"apiVersion":"{resource.storage_version}","kind":"{resource.kind}",')
        return [head[:-1], b',"items":[{', b",{".join([e.json[skip:] for e in entries]), b"]}\n"]

    # -- events

    def frame(self, view: View, kind: str, entry: Entry, *, first: bool = False) -> bytes:
        """One watch frame that shows an entry; `first` puts column definitions into a table."""
        if view.plain:
            return frames.json_frame(kind, entry.json)
        if view.chosen.as_ == "Table":
            shown = self._table(view, [entry], {"resourceVersion": str(entry.revision)})
            if not first:
                shown["columnDefinitions"] = None
            return frames.frame(view.chosen.form, kind, self._encoded_object(view, shown))
        return frames.frame(view.chosen.form, kind, self._object_bytes(view, entry))

    def _object_bytes(self, view: View, entry: Entry) -> bytes:
        key = ("frame", *view.key)
        body: bytes | None = entry.forms.get(key)
        if body is None:
            obj = self.in_version(view.resource, entry)
            if view.chosen.as_ == "PartialObjectMetadata":
                obj = partial.of_object(obj, view.chosen.version, self._dialect)
            body = entry.forms[key] = self._encoded_object(view, obj)
        return body

    def _encoded_object(self, view: View, obj: dict[str, Any]) -> bytes:
        if view.chosen.form == "json":
            return orjson.dumps(obj)
        return self.bytes_of(view.chosen.form, obj)

    def bookmark(self, view: View, version: str) -> dict[str, Any]:
        """The object of a BOOKMARK: an otherwise empty one of the watched kind."""
        chosen = view.chosen
        metadata = {"resourceVersion": version, "creationTimestamp": None}
        if chosen.as_ == "PartialObjectMetadata":
            return partial.of_object({"metadata": metadata}, chosen.version, self._dialect)
        if chosen.as_ == "Table":
            shown = self._table(view, [], {"resourceVersion": version})
            return {**shown, "columnDefinitions": None}
        resource = view.resource
        if resource.custom:
            return {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        obj = shape.canonical({"metadata": metadata}, resource.type)
        return {**obj, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}

    def object_frame(self, view: View, kind: str, obj: dict[str, Any]) -> bytes:
        """A watch frame around an object that is not an entry: a bookmark, an error."""
        return frames.frame(view.chosen.form, kind, self._encoded_object(view, obj))

    # -- responses

    def response(self, view: View, body: bytes | list[bytes], *, code: int = 200) -> Response:
        """A complete answer."""
        return Response(code=code, content_type=view.chosen.content_type, headers=[NO_STORE], body=body)

    def failure(self, request: Request, error: ApiError) -> Response:
        """The Status of an error, in a form that the request accepts (JSON where it accepts none)."""
        form, content_type = "json", "application/json"
        if request.info is not None and request.info.is_resource:
            try:
                chosen = mediatype.negotiate(
                    ",".join(request.headers.get("accept", ())),
                    dialect=self._dialect, watch=False, protobuf=True, transforms=True,
                )
                form, content_type = chosen.form, chosen.content_type
            except ApiError:
                pass
        headers = [NO_STORE, *error.headers.items()]
        if request.method == "HEAD":
            return Response(code=error.code, content_type=content_type, headers=headers)
        return Response(
            code=error.code, content_type=content_type, headers=headers, body=self.bytes_of(form, error.status())
        )


def texts(pieces: Iterable[bytes]) -> bytes:
    """Pieces of a body joined; for callers that need one."""
    return b"".join(pieces)
