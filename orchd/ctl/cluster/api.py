"""`Api`: the API requests of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from orchd.client import paths
from orchd.client.interfaces import IByteStream, IRawClient, ISocketClient, IWebSocket
from orchd.client.requests import Call
from orchd.ctl.cluster.discovery import Discovery, Resource
from orchd.ctl.cluster.discovery_cache import DiscoveryCache
from orchd.ctl.errors import CommandError
from orchd.dialect import COMMAND_LINE, DIALECTS, Dialect
from orchd.kinds.fields import metadata
from orchd.kinds.jsonvalues import Object

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
#: Accept header: a Table in either dialect, else the plain object.
TABLE: Final = ",".join((*(f"{JSON};as=Table;v=v1;g={d.meta_group}" for d in DIALECTS.values()), JSON))
#: Resources whose objects add and remove other resources.
_DEFINITIONS: Final = ("customresourcedefinitions", "apiservices")
#: Objects per page of a list.
_PAGE_SIZE: Final = 500
#: Seconds for which a watch or log is followed at most.
LONGEST_STREAM: Final = 7 * 24 * 3600.0


def is_object_or_list(value: Any) -> bool:
    """Has a response the shape of an object, a list, a table, a Status or a discovery document, as far as commands rely
    on it?"""
    if not isinstance(value, dict) or not isinstance(metadata(value), dict):
        return False
    for key, members in _MEMBERS.items():
        each = value.get(key) or ()
        if not isinstance(each, list | tuple) or not all(
            isinstance(member, dict) and members <= member.keys() for member in each
        ):
            return False
    return all(isinstance(metadata(member), dict) for member in value.get("items") or ())


#: Lists of responses, and the keys that each member of them has.
_MEMBERS: Final[dict[str, set[str]]] = {
    "items": set(), "rows": {"cells"}, "columnDefinitions": {"name"}, "groups": {"name"}, "resources": {"name", "kind"},
}  # fmt: skip


class Api:
    """One server, as one user, with a default namespace. `warn` is called with the text of each Warning header;
    `manager` owns the fields that are written. Watches and logs are followed for `longest_stream` seconds at most."""

    def __init__(
        self,
        client: IRawClient,
        clock: Any,
        namespace: str,
        warn: Callable[[str], None],
        manager: str = COMMAND_LINE,
        longest_stream: float = LONGEST_STREAM,
        cache: DiscoveryCache | None = None,
    ) -> None:
        self.client = client
        self.clock = clock
        self.namespace = namespace
        self.warn = warn
        self.manager = manager
        self.longest_stream = longest_stream
        self.discovery = Discovery(self.document, cache)

    async def dialect(self) -> Dialect:
        return await self.discovery.dialect()

    async def sleep(self, seconds: float) -> None:
        # Few commands wait: the others start without it.
        from twisted.internet.task import deferLater

        await deferLater(self.clock, seconds)

    async def call(self, call: Call) -> Any:
        """Send a request. Returns the JSON data of the response; raises ApiError."""
        response = await self.client.exchange(call)
        if call.method != "GET" and any(f"/{plural}" in call.path for plural in _DEFINITIONS):
            self.discovery.forget()
        for warning in response.warnings:
            self.warn(warning)
        try:
            value = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            raise CommandError(f"{call.path}: the server's response is not JSON: check --server") from None
        if not is_object_or_list(value):
            raise CommandError(
                f"{call.path}: the server's response is no API object: check --server, or see it with -v=8"
            )
        return value

    async def document(self, path: str) -> Any:
        return await self.call(Call(method="GET", path=path))

    async def text(self, path: str, query: Mapping[str, str] | None = None) -> str:
        response = await self.client.exchange(Call(method="GET", path=path, query=query or {}, accept="*/*"))
        return response.body.decode("utf-8", "replace")

    async def stream(self, call: Call) -> IByteStream:
        stream: IByteStream = await self.client.stream(call, self.longest_stream)
        return stream

    async def websocket(self, path: str, query: Iterable[tuple[str, str]], protocols: Iterable[str]) -> IWebSocket:
        """Open a WebSocket. Raises ApiError if the server responds without an upgrade."""
        if not ISocketClient.providedBy(self.client):
            raise CommandError("this client cannot open WebSockets")
        client: Any = self.client
        opened: IWebSocket = await client.websocket(path, query, protocols)
        return opened

    # -- objects

    def scope(self, resource: Resource, namespace: str = "") -> str:
        """The namespace of requests for a resource, "" if the resource is cluster-scoped."""
        return (namespace or self.namespace) if resource.namespaced else ""

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Object:
        path = paths.item(resource.ref, self.scope(resource, namespace), name, subresource)
        obj: Object = await self.call(Call(method="GET", path=path))
        return obj

    async def list(
        self,
        resource: Resource,
        *,
        everywhere: bool = False,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        namespace: str = "",
    ) -> Object:
        """Read a whole list page by page; of all namespaces with `everywhere`."""
        path = paths.collection(resource.ref, "" if everywhere else self.scope(resource, namespace))
        first: Object | None = None
        collected: list[Any] = []
        key, token = "items", ""
        while True:
            page_query = {**(query or {}), "limit": str(_PAGE_SIZE), **({"continue": token} if token else {})}
            page = await self.call(Call(method="GET", path=path, query=page_query, accept=accept))
            key = "rows" if page.get("kind") == "Table" else "items"
            first = first or page
            collected += page.get(key) or ()
            before, token = token, metadata(page).get("continue") or ""
            if token and token == before:
                raise CommandError(
                    f"{path}: the server gives the same page of the list again and again: check the server"
                )
            if not token:
                return {**first, key: collected, "metadata": metadata(page)}

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        content_type: str = MERGE,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        path = paths.item(resource.ref, self.scope(resource, namespace), name, subresource)
        named = {"fieldManager": self.manager, **(query or {})}
        patched: Object = await self.call(
            Call(method="PATCH", path=path, query=named, body=patch, content_type=content_type)
        )
        return patched

    async def create(
        self,
        resource: Resource,
        obj: Object,
        *,
        namespace: str = "",
        path: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Create an object. `path` is appended to that of the collection: "/NAME/SUBRESOURCE" posts to a
        subresource."""
        where = paths.collection(resource.ref, self.scope(resource, namespace)) + path
        named = {"fieldManager": self.manager, **(query or {})}
        created: Object = await self.call(Call(method="POST", path=where, query=named, body=obj))
        return created

    async def delete(
        self, resource: Resource, name: str, namespace: str, options: Object, query: Mapping[str, str]
    ) -> Object:
        path = paths.item(resource.ref, self.scope(resource, namespace), name)
        # The server ignores options in the query if there is a body: a dry run has to be requested in the body.
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            **({"dryRun": [query["dryRun"]]} if "dryRun" in query else {}),
            **options,
        }
        response: Object = await self.call(Call(method="DELETE", path=path, query=query, body=body))
        return response

    async def review(self, group: str, kind: str, plural: str, spec: Object | None, *, version: str = "v1") -> Object:
        """Create a review, such as a SelfSubjectAccessReview, and return the response. `group` is a dialect
        template; `spec` is None for a kind without one."""
        dialect = await self.dialect()
        name = dialect(group)
        body = {"apiVersion": f"{name}/{version}", "kind": kind, **({} if spec is None else {"spec": spec})}
        review: Object = await self.call(Call(method="POST", path=f"/apis/{name}/{version}/{plural}", body=body))
        return review
