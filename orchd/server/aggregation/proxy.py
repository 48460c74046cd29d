"""`AggregationProxy`: forwards requests of aggregated groups, with the user in headers.

This server has authenticated and authorized the request; the other server trusts its client certificate (specification,
"Aggregation", requestheader authentication). Responses are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from twisted.internet.defer import TimeoutError

from orchd.kinds.release import Release
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.aggregation.addresses import ServiceAddresses
from orchd.server.aggregation.api_services import AggregatedService
from orchd.server.aggregation.foreign_servers import Downloaded
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.subresources.addresses import any_address
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.upgrade import UpgradeError, wants_upgrade
from orchd.server.pipeline.verbs.subresources.upstream import (
    IUpstream,
    Pairs,
    UnreachableError,
    Upstream,
    content,
    encoded,
    forwardable_headers,
)
from orchd.txkit.coroutines import start
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import ServerPolicy, own_certificate
from orchd.txkit.tracing import trace_headers, traced

#: Maximum size in bytes of a discovery document of another server.
DOCUMENT_LIMIT = 8 * 1024 * 1024
#: Maximum number of cached TLS settings of servers.
_MOST_SERVERS = 256
_USER, _GROUP, _EXTRA, _UID = "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-", "X-Remote-Uid"
#: Timeout of a probe in seconds.
_PROBE = 5.0


class AuthorityError(Exception):
    """A caBundle without certificates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingRules:
    """Rules that differ between releases. `redirects`: redirects of other servers are passed on, otherwise they are
    refused with 502. `uids`: the user's uid is sent."""

    redirects: bool = True
    uids: bool = False

    @classmethod
    def of(cls, release: Release) -> ForwardingRules:
        """The rules of a release."""
        return cls(redirects=not release.includes("1.24"), uids=release.includes("1.32"))


_SPECIFIED: Final = ForwardingRules()


class AggregationProxy:
    """Forwards requests to the servers of `AggregatedService`s. `own` returns the certificate and key (PEM; b"" for
    none) that authenticate this server to them."""

    def __init__(
        self,
        reactor: Any,
        addresses: ServiceAddresses,
        *,
        own: Callable[[], tuple[bytes, bytes]],
        prober: str,
        dial: Dial | None = None,
        rules: ForwardingRules = _SPECIFIED,
    ) -> None:
        """Probes are sent in the name of the user `prober`. `dial` connects, None directly."""
        self._rules = rules
        self._dial = dial
        self._reactor = reactor
        self._addresses = addresses
        self._own = own
        self._prober = prober
        self._policies: LruCache[tuple[bytes, bool, tuple[bytes, bytes]], ServerPolicy] = LruCache(_MOST_SERVERS)

    async def forward(self, server: AggregatedService, request: Request) -> Response:
        """The response of the other server; 503 when it is unavailable."""
        if not server.available:
            return unavailable("service unavailable")
        assert request.user is not None
        target = request.uri()
        headers = [
            *self._plain(forwardable_headers(request)),
            ("Audit-Id", request.trace.audit_id),
            *self._identity(request.user),
        ]
        try:
            address = self._addresses.find(server)
        except UnreachableError:
            return unavailable("service unavailable")
        try:
            upstream = self._upstream(server, address)
        except AuthorityError as error:
            return unavailable(str(error), code=500)
        try:
            if wants_upgrade(request) and request.hijack is not None:
                return await upstream.hand_through(request, server.location, target, with_trace(headers))
            with traced(f"HTTP {request.method}", {"http.host": server.location.origin}, outgoing=True) as span:
                reply = await upstream.fetch(
                    request.method, server.location, target, with_trace(headers), request, body=request.body
                )
                if span is not None:
                    span.set("http.status_code", reply.code)
        except UnreachableError as error:
            return unavailable(f"error trying to reach service: {error}")
        except UpgradeError as error:
            return unavailable(str(error))
        if not self._rules.redirects and 300 <= reply.code <= 399 and reply.header("location"):
            reply.stream.stop()
            return Response(
                code=502,
                content_type="text/plain; charset=utf-8",
                headers=[NO_STORE],
                body=b"the backend attempted to redirect this request, which is not permitted",
            )
        response_headers = [
            (n, _absolute(v, server, address) if n.lower() == "location" else v) for n, v in encoded(reply.headers)
        ]
        if not reply.header("cache-control"):
            response_headers.insert(0, NO_STORE)
        return Response(
            code=reply.code, content_type=reply.header("content-type"), headers=response_headers, stream=reply.stream
        )

    async def probe(self, server: AggregatedService) -> str:
        """The reason why a server is unavailable, "" when it responds. Its certificate is not verified."""
        try:
            address = self._addresses.find(server)
        except UnreachableError as error:
            return str(error)
        path = f"/apis/{server.group}/{server.version}"
        url = f"{Location('https', *address).origin}{path}"
        asker = User(name=self._prober, groups=(MASTERS_GROUP,))
        unchecked = replace(server, authority=b"", unchecked=True)
        try:
            asking = start(
                self._upstream(unchecked, address).fetch("GET", server.location, path, self._identity(asker))
            )
            reply = await within(asking, _PROBE, self._reactor)
        except UnreachableError as error:
            why = f'Get "{url}": {error}'
        except TimeoutError:
            why = f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        else:
            reply.stream.stop()
            if 200 <= reply.code <= 299:
                return ""
            why = f"bad status from {url}: {reply.code}"
        return f"failing or missing response from {url}: {why}"

    async def download(self, server: AggregatedService, path: str, *, accept: str, tag: str) -> Downloaded:
        """Download a document of a server as this server's own user. Raises OSError if the server is unreachable, late
        or has an invalid certificate, and for documents above `DOCUMENT_LIMIT`."""
        asker = User(name=self._prober, groups=(MASTERS_GROUP,))
        headers = [*self._identity(asker), ("Accept", accept), *([("If-None-Match", tag)] if tag else ())]
        try:
            upstream = self._upstream(server, self._addresses.find(server))
            asking = start(self._download(upstream, server.location, path, headers))
            return await within(asking, _PROBE, self._reactor)
        except (UnreachableError, AuthorityError) as error:
            raise OSError(str(error)) from error
        except TimeoutError as error:
            raise OSError(f"no response within {_PROBE:g} seconds") from error

    async def _download(self, upstream: IUpstream, location: Location, path: str, headers: Pairs) -> Downloaded:
        reply = await upstream.fetch("GET", location, path, headers)
        data = await content(reply, DOCUMENT_LIMIT + 1)
        if len(data) > DOCUMENT_LIMIT:
            raise UnreachableError(f"the response has more than {DOCUMENT_LIMIT} bytes")
        return Downloaded(
            code=reply.code, content_type=reply.header("content-type"), tag=reply.header("etag"), body=data
        )

    def _plain(self, headers: Pairs) -> Pairs:
        """Headers without those of the client that only this server may set."""
        ours = ("audit-id", _USER.lower(), _GROUP.lower(), *((_UID.lower(),) if self._rules.uids else ()))
        return [(n, v) for n, v in headers if n.lower() not in ours and not n.lower().startswith(_EXTRA.lower())]

    def _identity(self, user: User) -> Pairs:
        """The user in headers. Keys of extra attributes are percent-encoded where a header name requires it."""
        extra = [
            (_EXTRA + quote(name, safe="!#$&'*+-.^_`|~"), value)
            for name, values in user.extra.items()
            for value in values
        ]
        uid = [(_UID, user.uid)] if self._rules.uids and user.uid else []
        return [(_USER, user.name), *uid, *((_GROUP, group) for group in user.groups), *extra]

    def _upstream(self, server: AggregatedService, address: tuple[str, int]) -> IUpstream:
        """Raises AuthorityError for an APIService whose caBundle has no certificates."""
        if server.authority and b"-----BEGIN CERTIFICATE-----" not in server.authority:
            raise AuthorityError("unable to load root certificates: unable to parse bytes as PEM block")
        own = self._own()
        key = server.authority, server.unchecked, own
        try:
            policy = self._policies.obtain(
                key, lambda: ServerPolicy(server.authority, own_certificate(*own), unchecked=server.unchecked)
            )
        except Exception as error:  # pyOpenSSL raises a different error for each kind of damage
            raise AuthorityError(f"unable to load root certificates: failed to parse certificate: {error}") from error
        # Administrators configure the servers of groups, which may run on this machine.
        return Upstream(self._reactor, policy, at=address, addresses=any_address, dial=self._dial)


def unavailable(why: str, *, code: int = 503) -> Response:
    """The response for an unavailable server."""
    return Response(
        code=code,
        content_type="text/plain; charset=utf-8",
        headers=[NO_STORE, ("X-Content-Type-Options", "nosniff")],
        body=f"{why}\n".encode(),
    )


def _absolute(location: str, server: AggregatedService, address: tuple[str, int]) -> str:
    """A redirect target below this server's URL: the other server's own address is meaningless to the client. Relative
    paths and other hosts stay unchanged."""
    try:
        parts = urlsplit(location)
    except ValueError:
        # An invalid URL is forwarded unchanged.
        return location
    if not parts.path.startswith("/") or parts.netloc not in ("", f"{server.host}:{server.port}", server.host):
        return location
    return urlunsplit(("https", Location("https", *address).authority, parts.path, parts.query, parts.fragment))


def with_trace(headers: Pairs) -> Pairs:
    """`headers` with the current trace context instead of the client's, which is passed on outside of traces."""
    own = trace_headers()
    if not own:
        return headers
    return [*((n, v) for n, v in headers if n.lower() not in ("traceparent", "tracestate")), *own.items()]
