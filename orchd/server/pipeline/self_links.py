"""Objects and lists with metadata.selfLink, for servers on which the feature gate RemoveSelfLink is off.

Links depend on the version and subresource of a request, and are added when an object is encoded: stored objects have
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from orchd.cache.entries import Entry
from orchd.kinds.catalog import Resource
from orchd.server.pipeline.interfaces import Body, Request
from orchd.server.pipeline.negotiation import Representation
from orchd.server.pipeline.representation import Presenter
from orchd.server.registry.interfaces import ListPage

#: Members of metadata before the link.
_BEFORE: Final = ("name", "generateName", "namespace")


class LinkingPresenter(Presenter):
    """Adds links to what `Presenter` encodes."""

    def view(
        self, request: Request, resource: Resource, *, watch: bool = False, table: bool = True, custom: bool = False
    ) -> Representation:
        view = super().view(request, resource, watch=watch, table=table, custom=custom)
        assert request.info is not None
        suffix = f"/{request.info.subresource}" if request.info.subresource else ""
        # Derived forms are cached by the key of the view.
        key = (*view.key[:3], view.key[3] + suffix, *view.key[4:])
        return replace(view, path=request.path, suffix=suffix, key=key)

    def entry(self, view: Representation, entry: Entry) -> bytes | list[bytes]:
        return super().entry(view, _linked(view, entry))

    def page(self, view: Representation, page: ListPage) -> Body:
        entries = [_linked(view, entry) for entry in page.entries]
        return super().page(view, replace(page, entries=entries))

    def yaml_items(self, view: Representation, entries: Sequence[Entry]) -> bytes:
        return super().yaml_items(view, [_linked(view, entry) for entry in entries])

    def frame(self, view: Representation, kind: str, entry: Entry, *, first: bool = False) -> bytes:
        return super().frame(view, kind, _linked(view, entry), first=first)

    def _page_meta(self, view: Representation, page: ListPage) -> dict[str, Any]:
        return {"selfLink": view.path, **super()._page_meta(view, page)}

    def other(self, view: Representation, obj: dict[str, Any]) -> bytes:
        metadata = obj.get("metadata")
        if obj["kind"] != "Status" and metadata and metadata.get("name"):
            obj = {**obj, "metadata": _with_link(view, metadata)}
        return super().other(view, obj)


def _linked(view: Representation, entry: Entry) -> Entry:
    """The entry whose JSON has the link."""
    key = ("linked", view.resource.api_version, view.suffix)
    linked: Entry | None = entry.derived.get(key)
    if linked is None:
        obj = orjson.loads(entry.json)
        body = orjson.dumps({**obj, "metadata": _with_link(view, obj["metadata"])})
        linked = Entry(entry.path, entry.revision, entry.created, body, entry.labels, entry.fields)
        entry.keep(key, linked, len(body))
    return linked


def _with_link(view: Representation, metadata: Mapping[str, Any]) -> dict[str, Any]:
    resource = view.resource
    prefix = f"/apis/{resource.group}" if resource.group else "/api"
    within = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") and resource.namespaced else ""
    link = f"{prefix}/{resource.version}{within}/{resource.plural}/{metadata['name']}{view.suffix}"
    before = {name: metadata[name] for name in _BEFORE if name in metadata}
    return {**before, "selfLink": link, **{name: value for name, value in metadata.items() if name not in before}}
