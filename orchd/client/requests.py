"""The requests of the IClient methods, shared by the local and the remote client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.client import paths
from orchd.client.interfaces import ResourceRef
from orchd.kinds.jsonvalues import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `body` is JSON data, or None for no body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = "application/json"
    #: Media types of the response, as an Accept header.
    accept: str = "application/json"
    #: False if the caller uses nothing of a successful response.
    need_response: bool = True
    #: True if the items of a list may lack everything but their metadata.
    metadata_only: bool = False
    #: The same for a request of one object.
    object_metadata_only: bool = False


def _query(**parameters: str | int | bool) -> dict[str, str]:
    """Query parameters without empty strings, zeros and False."""
    out = {}
    for name, value in parameters.items():
        if value:
            out[name] = "true" if value is True else str(value)
    return out


def _dry(dry_run: bool) -> str:
    return "All" if dry_run else ""


def get(
    ref: ResourceRef,
    namespace: str,
    name: str,
    *,
    subresource: str = "",
    resource_version: str = "",
    metadata_only: bool = False,
) -> Call:
    path, query = paths.item(ref, namespace, name, subresource), _query(resourceVersion=resource_version)
    return Call(method="GET", path=path, query=query, object_metadata_only=metadata_only)


def list_(
    ref: ResourceRef,
    namespace: str = "",
    *,
    label_selector: str = "",
    field_selector: str = "",
    resource_version: str = "",
    limit: int = 0,
    continue_: str = "",
    query: Mapping[str, str] | None = None,
    metadata_only: bool = False,
) -> Call:
    parameters = {
        **(query or {}),
        **_query(
            labelSelector=label_selector, fieldSelector=field_selector, resourceVersion=resource_version, limit=limit
        ),
    }
    if continue_:
        parameters["continue"] = continue_
    return Call(method="GET", path=paths.collection(ref, namespace), query=parameters, metadata_only=metadata_only)


def create(
    ref: ResourceRef,
    namespace: str,
    obj: Object,
    *,
    name: str = "",
    subresource: str = "",
    dry_run: bool = False,
    need_response: bool = True,
) -> Call:
    path = paths.item(ref, namespace, name, subresource) if name else paths.collection(ref, namespace)
    return Call(method="POST", path=path, query=_query(dryRun=_dry(dry_run)), body=obj, need_response=need_response)


def update(
    ref: ResourceRef,
    namespace: str,
    name: str,
    obj: Object,
    *,
    subresource: str = "",
    dry_run: bool = False,
    need_response: bool = True,
) -> Call:
    path = paths.item(ref, namespace, name, subresource)
    return Call(method="PUT", path=path, query=_query(dryRun=_dry(dry_run)), body=obj, need_response=need_response)


def patch(
    ref: ResourceRef,
    namespace: str,
    name: str,
    patch: Any,
    *,
    content_type: str,
    subresource: str = "",
    field_manager: str = "",
    force: bool = False,
    dry_run: bool = False,
    need_response: bool = True,
) -> Call:
    query = _query(fieldManager=field_manager, force=force, dryRun=_dry(dry_run))
    path = paths.item(ref, namespace, name, subresource)
    return Call(
        method="PATCH", path=path, query=query, body=patch, content_type=content_type, need_response=need_response
    )


def _options(options: Mapping[str, Any] | None) -> Any:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **options} if options else None


def delete(
    ref: ResourceRef, namespace: str, name: str, *, options: Mapping[str, Any] | None = None, need_response: bool = True
) -> Call:
    path = paths.item(ref, namespace, name)
    return Call(method="DELETE", path=path, body=_options(options), need_response=need_response)


def delete_collection(
    ref: ResourceRef,
    namespace: str = "",
    *,
    options: Mapping[str, Any] | None = None,
    label_selector: str = "",
    field_selector: str = "",
    need_response: bool = True,
) -> Call:
    query = _query(labelSelector=label_selector, fieldSelector=field_selector)
    path = paths.collection(ref, namespace)
    return Call(method="DELETE", path=path, query=query, body=_options(options), need_response=need_response)


def watch(
    ref: ResourceRef,
    namespace: str = "",
    *,
    resource_version: str = "",
    label_selector: str = "",
    field_selector: str = "",
    bookmarks: bool = True,
) -> Call:
    query = _query(
        watch=True,
        resourceVersion=resource_version,
        labelSelector=label_selector,
        fieldSelector=field_selector,
        allowWatchBookmarks=bookmarks,
    )
    return Call(method="GET", path=paths.collection(ref, namespace), query=query)
