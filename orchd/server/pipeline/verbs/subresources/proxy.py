"""The proxy subresource of pods, services and nodes: forwards requests and returns responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from urllib.parse import urlencode, urlsplit, urlunsplit

import orjson

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.options import WriteOptions
from orchd.server.pipeline.verbs.subresources import locations
from orchd.server.pipeline.verbs.subresources.addresses import AddressNotAllowedError
from orchd.server.pipeline.verbs.subresources.connect import read, upgrade
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext
from orchd.server.pipeline.verbs.subresources.locations import PREFERRED, Location
from orchd.server.pipeline.verbs.subresources.upgrade import wants_upgrade
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, UnreachableError, encoded, forwardable_headers

#: The last is the verb of OPTIONS, which has no API verb.
_VERBS = ("get", "create", "update", "patch", "delete", "")

Locate = Callable[[VerbContext, ResourceTarget], Awaitable[Location]]


class Proxies:
    """The proxy endpoints. Kubelets are reached through `agents`, which may present a certificate to them, everything
    else through `upstream`. `random` chooses among the pods of a service."""

    def __init__(
        self,
        foreign: ForeignBodyContext,
        upstream: IUpstream,
        random: Random,
        *,
        agents: IUpstream,
        preferred: Sequence[str] = PREFERRED,
    ) -> None:
        self._foreign = foreign
        self._upstream = upstream
        self._agents = agents
        self._random = random
        self._preferred = preferred

    @property
    def pods(self) -> Mapping[str, Verb]:
        return self._verbs("PodProxyOptions", self._pod)

    @property
    def services(self) -> Mapping[str, Verb]:
        return self._verbs("ServiceProxyOptions", self._service)

    @property
    def nodes(self) -> Mapping[str, Verb]:
        return self._verbs("NodeProxyOptions", self._node)

    def _verbs(self, kind: str, locate: Locate) -> Mapping[str, Verb]:
        async def proxy(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
            return await self._proxy(context, request, target, kind, locate)

        return dict.fromkeys(_VERBS, proxy)

    # -- target

    async def _pod(self, context: VerbContext, target: ResourceTarget) -> Location:
        scheme, name, text = locations.split(target.name, "pod")
        port = locations.parse_port(target.name, "pod", text)
        return locations.pod_location(await read(context, "pods", target.namespace, name), scheme, port)

    async def _service(self, context: VerbContext, target: ResourceTarget) -> Location:
        scheme, name, port = locations.split(target.name, "service")
        service = await read(context, "services", target.namespace, name)
        port = locations.service_port(service, port)
        try:
            endpoints = await read(context, "endpoints", target.namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            # Endpoints must belong to the requested service.
            raise errors.not_found("", "services", name) from None
        for address, number in locations.service_candidates(endpoints, port, self._random):
            ref = address.get("targetRef") or {}
            # Addresses that are not of a pod, such as those of external services, are not connected to.
            pod = await self._pod_or_none(context, ref.get("namespace") or "", ref["name"]) if ref.get("name") else None
            if locations.belongs(address, pod):
                return Location(scheme or "http", locations.require_proxyable(address["ip"]), number)
        service_name = target.name if endpoints.get("subsets") else name
        raise locations.unavailable(f'no endpoints available for service "{service_name}"')

    async def _pod_or_none(self, context: VerbContext, namespace: str, name: str) -> Object | None:
        pods = context.catalog().resource("", "v1", "pods")
        assert pods is not None
        try:
            entry = await context.registry.get(pods, namespace, name, resource_version="0")
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        pod: Object = orjson.loads(entry.json)
        return pod

    async def _node(self, context: VerbContext, target: ResourceTarget) -> Location:
        scheme, name, text = locations.split(target.name, "node")
        port = locations.parse_port(target.name, "node", text)
        agent = locations.node_location(context.dialect, await read(context, "nodes", "", name), self._preferred)
        # The host is an address or a name, which is checked at connection time.
        if port in (0, agent.port):
            return agent
        return Location(scheme or "http", agent.host, port)

    # -- forwarding

    async def _proxy(
        self, context: VerbContext, request: Request, target: ResourceTarget, kind: str, locate: Locate
    ) -> Response:
        path = rest_of(request.raw_path, 7 if target.namespace else 5)
        options = {"kind": kind, "apiVersion": "v1", "path": path}
        write_context = context.write_context(request, target, WriteOptions())
        review = self._foreign.admission.review(write_context, "CONNECT", None, name=target.name)
        await review.mutate(options)
        await review.validate(options)
        location = await locate(context, target)
        pairs = [(name, value) for name, values in request.query.items() for value in values]
        query = f"?{urlencode(pairs)}" if pairs else ""
        upstream = self._agents if location.of_node else self._upstream
        target_path = f"{path or '/'}{query}"
        try:
            if wants_upgrade(request) and request.hijack is not None:
                return await upgrade(upstream, request, location, target_path)
            if not path:
                # Relative links in the response must resolve below this path.
                return Response(
                    code=301, content_type="", headers=[NO_STORE, ("Location", f"{request.raw_path}/{query}")]
                )
            headers = [pair for pair in forwardable_headers(request) if pair[0].lower() != "x-forwarded-uri"]
            headers.append(("X-Forwarded-Uri", request.raw_path))
            reply = await upstream.fetch(request.method, location, target_path, headers, request, body=request.body)
        except UnreachableError as error:
            raise locations.unavailable(f"error trying to reach service: {error}") from None
        except AddressNotAllowedError as error:
            raise errors.bad_request(str(error)) from None
        prefix = request.raw_path.removesuffix(path)
        response_headers = [
            (name, below(prefix, value, location) if name.lower() == "location" else value)
            for name, value in encoded(reply.headers)
        ]
        if not reply.header("cache-control"):
            response_headers.insert(0, NO_STORE)
        return Response(
            code=reply.code, content_type=reply.header("content-type"), headers=response_headers, stream=reply.stream
        )


def below(prefix: str, redirect: str, location: Location) -> str:
    """The target of a redirect of a proxied server as the client has to ask for it: a path of that server begins with
    `prefix`. Relative paths and other hosts stay unchanged."""
    try:
        parts = urlsplit(redirect)
    except ValueError:
        return redirect
    if parts.netloc not in ("", location.authority) or not parts.path.startswith("/"):
        return redirect
    path = parts.path if parts.path.startswith(prefix) else prefix + parts.path
    return urlunsplit(("", "", path, parts.query, parts.fragment))


def rest_of(raw_path: str, depth: int) -> str:
    """The raw path after its first `depth` segments, with the leading slash; "" without more segments."""
    parts = raw_path.split("/", depth + 1)
    return f"/{parts[-1]}" if len(parts) > depth + 1 else ""
