"""Contracts of API clients, in process or remote, and of informers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zope.interface import Attribute, Interface

from orchd.kinds.jsonvalues import Object


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """A resource in one version: ``ResourceRef("apps", "v1", "deployments")``."""

    group: str
    version: str
    plural: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. Errors are raised as ApiError instead."""

    type: str
    object: Object


class IWatchStream(Interface):
    """An open watch."""

    async def next() -> WatchEvent | None:
        """The next event; None if the server ended the watch normally. Raises ApiError (410: list again)."""

    def close() -> None:
        """End the watch. Idempotent."""


class IClient(Interface):
    """A client of the API. Every method takes the resource as a ResourceRef and raises ApiError with the server's
    Status.

    `namespace` is "" for cluster-scoped resources and for lists over all namespaces. Cancelling a read aborts it; a
    write that was sent is not undone. Without `need_response` a write may give {} for the object that it made: a server
    in the same process then does not make a response.
    """

    async def get(
        ref: ResourceRef,
        namespace: str,
        name: str,
        *,
        subresource: str = "",
        resource_version: str = "",
        metadata_only: bool = False,
    ) -> Object:
        """Get one object. With `metadata_only` it may lack everything but its metadata, and that its managedFields."""

    async def list(
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
    ) -> Object:
        """A list object. `query` holds parameters that only this resource knows. With `metadata_only`, items may lack
        everything but their metadata, and that its managedFields."""

    async def create(
        ref: ResourceRef,
        namespace: str,
        obj: Object,
        *,
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        need_response: bool = True,
    ) -> Object:
        """Create an object; with `name` and `subresource`, post to a subresource."""

    async def update(
        ref: ResourceRef,
        namespace: str,
        name: str,
        obj: Object,
        *,
        subresource: str = "",
        dry_run: bool = False,
        need_response: bool = True,
    ) -> Object:
        """Replace an object. With a metadata.resourceVersion, fails with 409 if the stored object has another one."""

    async def patch(
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
    ) -> Object:
        """Patch an object. `content_type` is one of the API's patch media types."""

    async def delete(
        ref: ResourceRef,
        namespace: str,
        name: str,
        *,
        options: Mapping[str, Any] | None = None,
        need_response: bool = True,
    ) -> Object:
        """Delete an object. `options` is a DeleteOptions object."""

    async def delete_collection(
        ref: ResourceRef,
        namespace: str = "",
        *,
        options: Mapping[str, Any] | None = None,
        label_selector: str = "",
        field_selector: str = "",
        need_response: bool = True,
    ) -> Object:
        """Delete all objects that a list with the same selectors contains."""

    async def watch(
        ref: ResourceRef,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = True,
        metadata_only: bool = False,
    ) -> IWatchStream:
        """Open a watch. With `metadata_only`, the objects of events may lack everything but their metadata, and
        that its managedFields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """A complete response with a code below 400. `warnings` are the texts of its Warning headers."""

    code: int
    content_type: str
    body: bytes
    warnings: tuple[str, ...] = ()


class IByteStream(Interface):
    """The body of a streamed response, such as a followed log."""

    async def next() -> bytes | None:
        """The next piece, never empty; None at the end of the body. Raises ApiError if the connection was lost or the
        time limit exceeded. Pieces are not aligned with lines."""

    def close() -> None:
        """Close the stream. Idempotent."""


class IRawClient(IClient):
    """A client for requests of any path with responses in any media type. `call` is `orchd.client.requests.Call`. Both
    methods raise ApiError for codes of 400 and above."""

    async def exchange(call: Any) -> RawResponse:
        """The complete response."""

    async def stream(call: Any, seconds: float) -> IByteStream:
        """A streamed response, limited to `seconds`."""


class IWebSocket(Interface):
    """An open WebSocket."""

    protocol: str = Attribute("The subprotocol that the server has chosen.")

    async def next() -> bytes | None:
        """The next message; None after a regular close by the server. Raises ApiError if the connection was lost."""

    async def send(message: bytes) -> None:
        """Send a binary message; returns when more can be sent. Does nothing once the WebSocket is closed."""

    def close() -> None:
        """Close the WebSocket and drop unread messages. Idempotent."""


class ISocketClient(IRawClient):
    """A client that opens WebSockets."""

    async def websocket(path: str, query: Iterable[tuple[str, str]], protocols: Iterable[str]) -> IWebSocket:
        """Open a WebSocket with one of `protocols`, in order of preference. Raises ApiError with the server's Status if
        it is rejected."""


class IForwardingClient(IRawClient):
    """A client through which requests of others go, with its own credentials."""

    async def forward(method: str, target: str, headers: Any, body: bytes) -> Any:
        """The response of any code as an `IResponse` of Twisted, its body unread. `target` is a path with its query,
        below the path of the server's address. `headers` (`twisted.web.http_headers.Headers`) are sent beside those of
        the credentials. Raises ApiError when there is no response."""


class IInformer(Interface):
    """A continuously updated view of one resource: a copy kept by list and watch, or the watch cache of the server."""

    synced: bool = Attribute("True once the first list has been applied.")

    async def wait_synced() -> None:
        """Wait until the first list has been applied."""

    async def wait_delivered() -> None:
        """Wait for the first list, and until every listener added by now has received the objects that existed when it
        was added."""

    def get(namespace: str, name: str) -> Object | None:
        """Get one object."""

    def list(namespace: str = "", labels: Mapping[str, str] | None = None) -> Iterable[Object]:
        """Objects of `namespace` ("": all), filtered by `labels` if given."""

    def by_index(index: str, *values: str) -> Iterable[Object]:
        """Objects for which the function of `index` yields one of `values`; an object with several of them is there as
        often. Raises KeyError for an unknown index."""

    def holds(index: str, value: str) -> bool:
        """True if `by_index` yields at least one object."""

    def add_index(index: str, function: Callable[[Object], Iterable[str]]) -> None:
        """Register an index, before or after the first list. It may be built at its first use."""

    async def wait_indexed(index: str) -> None:
        """Wait until the first list has been applied and the index is built, without blocking the reactor.

        Otherwise the first query builds the index synchronously. Raises KeyError for an unknown index.
        """

    def add_listener(listener: Callable[[str, Object | None, Object | None], None]) -> None:
        """Call `listener(type, old, new)` for every change: ADDED, MODIFIED, DELETED. It must not raise.

        Existing objects are reported as ADDED, immediately or shortly after.
        """

    def remove_listener(listener: Callable[[str, Object | None, Object | None], None]) -> None:
        """Remove a listener. Raises ValueError if it was not added."""


class IInformers(Interface):
    """Shared informers: one per resource, started at their first request, stopped with their owner."""

    def informer(ref: ResourceRef) -> IInformer:
        """The informer of a resource over all namespaces."""


class IEventRecorder(Interface):
    """Records Events about objects for one component.

    Recording never blocks and never raises: events are queued, and events that the API rejects are dropped and counted.
    """

    def event(
        regarding: Object, type: str, reason: str, note: str, *, action: str = "", related: Object | None = None
    ) -> None:
        """Record an event about `regarding`, an object as the API returns it (with apiVersion and kind, or a reference
        with these fields). `type` is Normal or Warning; `note` is the human-readable message; `action` and `related`
        exist in events.{abbr}.io/v1 only."""
