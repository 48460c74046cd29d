"""`Forwarding`: requests for groups and versions that another server answers go there, with who asks in headers.

This server has said who it is and that they may; the other one believes it by its client certificate (specification,
"Aggregation", the requestheader method). Answers come back as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from twisted.internet import ssl
from twisted.internet.defer import TimeoutError
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from orchd.client.interfaces import IInformer, Object
from orchd.kinds.identity import MASTERS_GROUP, User
from orchd.server.aggregation.api_services import AggregatedService
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.subresources.addresses import any_address
from orchd.server.pipeline.verbs.subresources.upgrade import UpgradeError, wants_upgrade
from orchd.server.pipeline.verbs.subresources.upstream import (
    IUpstream,
    Pairs,
    UnreachableError,
    Upstream,
    encoded,
    forwarded,
)
from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import UnverifiedConnection, own_certificate, trust_roots

#: Largest request body that is handed on, in bytes: it is kept in memory on its way.
BODY_LIMIT = 64 * 1024 * 1024
#: Servers whose TLS settings are kept.
_MOST_SERVERS = 256
_USER, _GROUP, _EXTRA = "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-"
#: Seconds that a probe may take.
_PROBE = 5.0


class Chooser(Protocol):
    """Any of several things."""

    def choice(self, options: list[Any]) -> Any: ...


@implementer(IPolicyForHTTPS)
class _Policy:
    """TLS to the server of one APIService."""

    def __init__(self, server: AggregatedService, own: ssl.PrivateCertificate | None) -> None:
        self._unchecked = server.unchecked
        self._trust = trust_roots(server.authority) if server.authority else ssl.platformTrust()
        self._own = own

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        if self._unchecked:
            return UnverifiedConnection(self._own)
        return ssl.optionsForClientTLS(hostname.decode(), trustRoot=self._trust, clientCertificate=self._own)


class AuthorityError(Exception):
    """A caBundle that holds no certificates."""


class AggregationProxy:
    """`certificate` and `key` (PEM; b"" for none) are shown to the others. With `by_endpoints` they are reached at one
    of their service's endpoints, chosen by `random`, else at the service's own address."""

    def __init__(
        self,
        reactor: Any,
        services: IInformer,
        endpoints: IInformer,
        *,
        own: Callable[[], tuple[bytes, bytes]],
        by_endpoints: bool,
        random: Chooser,
        prober: str,
    ) -> None:
        """Probes are sent in the name of the user `prober`."""
        self._reactor = reactor
        self._services = services
        self._endpoints = endpoints
        self._own = own
        self._by_endpoints = by_endpoints
        self._random = random
        self._prober = prober
        self._policies: OrderedDict[tuple[bytes, bool, tuple[bytes, bytes]], _Policy] = OrderedDict()

    async def forward(self, server: AggregatedService, request: Request) -> Response:
        """The answer of the other server; 503 where there is none."""
        if not server.available:
            return unavailable("service unavailable")
        assert request.user is not None
        query = f"?{urlencode(request.query, doseq=True)}" if request.query else ""
        url = f"{server.origin}{request.raw_path}{query}"
        headers = [*_plain(forwarded(request)), *_identity(request.user)]
        try:
            address = self._address(server)
        except UnreachableError:
            return unavailable("service unavailable")
        try:
            upstream = self._upstream(server, address)
        except AuthorityError as error:
            return unavailable(str(error), code=500)
        try:
            if wants_upgrade(request) and request.hijack is not None:
                return await upstream.hand_through(request, url, headers)
            body = await request.body.read(BODY_LIMIT)
            reply = await upstream.fetch(request.method, url, headers, body)
        except UnreachableError as error:
            return unavailable(f"error trying to reach service: {error}")
        except UpgradeError as error:
            return unavailable(str(error))
        answered = [(n, _absolute(v, server, address) if n.lower() == "location" else v) for n, v in encoded(reply.headers)]
        if not reply.header("cache-control"):
            answered.insert(0, NO_STORE)
        return Response(
            code=reply.code, content_type=reply.header("content-type"), headers=answered, stream=reply.stream
        )

    async def probe(self, server: AggregatedService) -> str:
        """What is wrong with a server that should answer, "" when it does. Whether its certificate is good is not asked."""
        try:
            address = self._address(server)
        except UnreachableError as error:
            return str(error)
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        path = f"/apis/{server.group}/{server.version}"
        url = f"https://{host}:{address[1]}{path}"
        asker = User(name=self._prober, groups=(MASTERS_GROUP,))
        unchecked = replace(server, authority=b"", unchecked=True)
        try:
            asking = start(self._upstream(unchecked, address).fetch("GET", f"{server.origin}{path}", _identity(asker)))
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

    def _upstream(self, server: AggregatedService, address: tuple[str, int]) -> IUpstream:
        """Raises AuthorityError where the APIService's caBundle holds no certificates."""
        if server.authority and b"-----BEGIN CERTIFICATE-----" not in server.authority:
            raise AuthorityError("unable to load root certificates: unable to parse bytes as PEM block")
        own = self._own()
        key = server.authority, server.unchecked, own
        policy = self._policies.get(key)
        if policy is None:
            try:
                policy = self._policies[key] = _Policy(server, own_certificate(*own))
            except Exception as error:  # pyOpenSSL has an error of its own for each sort of damage
                raise AuthorityError(f"unable to load root certificates: failed to parse certificate: {error}") from error
            if len(self._policies) > _MOST_SERVERS:
                self._policies.popitem(last=False)
        # Administrators say where the servers of groups are, which may be this machine.
        return Upstream(self._reactor, policy, at=address, addresses=any_address)

    def _address(self, server: AggregatedService) -> tuple[str, int]:
        """Raises UnreachableError."""
        service = self._services.get(server.namespace, server.service)
        if service is None:
            raise UnreachableError(f'service "{server.service}" not found')
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return spec.get("externalName", ""), server.port
        port = next((p for p in spec.get("ports") or () if p.get("port") == server.port), None)
        if port is None:
            raise UnreachableError(f'no service port {server.port} found for service "{server.service}"')
        if not self._by_endpoints:
            if spec.get("clusterIP") in (None, "", "None"):
                raise UnreachableError(f'cannot route to service with ClusterIP "{spec.get("clusterIP", "")}"')
            return spec["clusterIP"], server.port
        found = list(_ready(self._endpoints.get(server.namespace, server.service), port.get("name") or ""))
        if not found:
            raise UnreachableError(f'no endpoints available for service "{server.service}"')
        chosen: tuple[str, int] = self._random.choice(found)
        return chosen


def _ready(endpoints: Object | None, port_name: str) -> list[tuple[str, int]]:
    return [
        (address["ip"], port["port"])
        for subset in (endpoints or {}).get("subsets") or ()
        for port in subset.get("ports") or ()
        if (port.get("name") or "") == port_name
        for address in subset.get("addresses") or ()
    ]


def unavailable(why: str, *, code: int = 503) -> Response:
    """What is answered for a server that cannot be reached."""
    return Response(
        code=code,
        content_type="text/plain; charset=utf-8",
        headers=[NO_STORE, ("X-Content-Type-Options", "nosniff")],
        body=f"{why}\n".encode(),
    )


def _absolute(location: str, server: AggregatedService, address: tuple[str, int]) -> str:
    """Where a redirect leads, with the address by which the other server was reached: what it says of itself means
    nothing to our client. Relative paths and other hosts are left as they are."""
    try:
        parts = urlsplit(location)
    except ValueError:
        # What is no URL leads nowhere, there as here.
        return location
    if not parts.path.startswith("/") or parts.netloc not in ("", f"{server.host}:{server.port}", server.host):
        return location
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return urlunsplit(("https", f"{host}:{address[1]}", parts.path, parts.query, parts.fragment))


def _plain(headers: Pairs) -> Pairs:
    """Without what a client says of itself that only we may say."""
    ours = (_USER.lower(), _GROUP.lower())
    return [(n, v) for n, v in headers if n.lower() not in ours and not n.lower().startswith(_EXTRA.lower())]


def _identity(user: User) -> Pairs:
    """Who asks. Names of extra attributes are percent-encoded where a header's name could not have them."""
    extra = [(_EXTRA + quote(name, safe="!#$&'*+-.^_`|~"), value) for name, values in user.extra.items() for value in values]
    return [(_USER, user.name), *((_GROUP, group) for group in user.groups), *extra]
