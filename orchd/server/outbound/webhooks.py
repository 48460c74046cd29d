"""HTTPS calls to webhooks and other services: address resolution, TLS, credentials, and error texts.

Error texts are recorded facts. Connections are kept alive, and up to `_MOST_POOLS` combinations of CA bundle and
credentials are cached with their TLS contexts.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.endpoints import wrapClientTLS
from twisted.web.client import Agent
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from orchd import errors
from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.codec import yaml_
from orchd.kinds.gotext import json_syntax
from orchd.kinds.gotext.values import json_name
from orchd.pki.clientconfig import ClientConfig
from orchd.pki.url_users import basic_authorization
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.failures import describe, was_cancelled, was_lost
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.response_heads import bounded_heads_pool
from orchd.txkit.tcp_client import TcpEndpoint
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import ServerPolicy, own_certificate
from orchd.txkit.tracing import trace_headers, traced

#: Maximum number of cached combinations of CA bundle and credentials, with connections and TLS contexts.
_MOST_POOLS = 64
#: Idle connections kept per host, and their idle timeout in seconds.
_IDLE_PER_HOST, _IDLE_SECONDS = 8, 60
_MOST_BODY = 64 * 1024 * 1024
#: Maximum bytes of a webhook's response: these, and as many times the request, whose objects a conversion returns.
_MOST_RESPONSE, _MOST_PER_REQUEST = 8 * 1024 * 1024, 4
#: Maximum bytes of a YAML document, which takes some 300 times as long to parse as JSON.
_MOST_YAML = 1024 * 1024

T = TypeVar("T")

#: HTTP status of a response -> error text, regardless of the body.
_STATUS_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    410: "the server could not find the requested resource",
    415: "the server was unable to respond with a content type that the client supports",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class WebhookError(Exception):
    """A call that returned no valid document; the text is the reason. `code` is the HTTP status of the response, 0
    without one; `reset` is True if the connection was lost during the call, `timed_out` if it took too long."""

    def __init__(self, text: str, code: int = 0, *, reset: bool = False, timed_out: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.reset = reset
        self.timed_out = timed_out or code == 504

    @property
    def outcome(self) -> str:
        """The result of the call as metrics name it: timeout or error."""
        return "timeout" if self.timed_out else "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookResponse:
    """A response of any status. `text` is the body of a text content type; `headers` has the first value by lower-case
    name."""

    code: int
    data: bytes
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials by host. Keys are ``host:port``, ``*.domain``, and ``*`` as the fallback (as in the reference)."""

    users: Mapping[str, ClientConfig] = field(default_factory=dict)

    def of(self, target: str) -> ClientConfig | None:
        """The credentials for ``host:port``."""
        host, _, port = target.rpartition(":")
        for name in (target, host) if port == "443" else (target,):
            if name in self.users:
                return self.users[name]
            parts = name.split(".")
            for start in range(1, len(parts)):
                user = self.users.get("*." + ".".join(parts[start:]))
                if user is not None:
                    return user
        return self.users.get("*")


NO_CREDENTIALS = Credentials()


class _Peer:
    """Pooled connections and TLS contexts for one CA bundle and one set of credentials."""

    def __init__(self, reactor: Any, authority: bytes, user: ClientConfig | None) -> None:
        self.pool = bounded_heads_pool(reactor, persistent=True)
        self.pool.maxPersistentPerHost = _IDLE_PER_HOST
        self.pool.cachedConnectionTimeout = _IDLE_SECONDS
        own = own_certificate(user.certificate, user.key) if user is not None else None
        unchecked, name = (user.insecure, user.server_name) if user is not None else (False, "")
        self.policy = ServerPolicy(authority, own, unchecked=unchecked, name=name)


@implementer(IAgentEndpointFactory)
class _Where:
    """Connects to one fixed address, directly or with `dial`, and verifies the certificate of the URL's host."""

    def __init__(self, reactor: Any, address: tuple[str, int], options: Any, seconds: float, dial: Dial | None) -> None:
        self._reactor = reactor
        self._address = address
        self._dial = dial
        self._options = options
        self._seconds = seconds

    def endpointForURI(self, uri: Any) -> Any:
        plain: Any
        if self._dial is None:
            plain = TcpEndpoint(self._reactor, *self._address, timeout=self._seconds)
        else:
            plain = self._dial(*self._address, self._seconds)
        return plain if uri.scheme == b"http" else wrapClientTLS(self._options, plain)


@dataclass(frozen=True, slots=True)
class _Call:
    """One request; its text is the prefix of error messages."""

    method: str
    url: str
    host: str
    port: int
    body: bytes | None
    headers: Mapping[str, str]
    limit: int

    @classmethod
    def to(cls, method: str, url: str, body: bytes | None, headers: Mapping[str, str], limit: int) -> _Call:
        """A request to a URL. Raises WebhookError for an invalid URL."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
            url.encode("ascii")
            if parts.scheme not in ("http", "https") or not host:
                raise ValueError(
                    f"unsupported protocol scheme {errors.quoted(parts.scheme)}" if host else "no Host in request URL"
                )
        except ValueError as error:
            raise WebhookError(f"{method.capitalize()} {errors.quoted(url)}: {error}") from None
        return cls(method, url, host, port, body, headers, limit)

    def __str__(self) -> str:
        return f"{self.method.capitalize()} {errors.quoted(self.url)}"


class WebhookClient:
    """Posts documents to webhooks and calls other services. `client` reads the Services of webhooks; `agent` is the
    template of the user agent; `to_urls` and `to_services` make the connections to URLs and to Services, None makes
    direct ones. Call `close` when done."""

    def __init__(
        self,
        reactor: Any,
        dialect: Dialect,
        client: IClient,
        *,
        agent: str = "{short}-apiserver-admission",
        to_urls: Dial | None = None,
        to_services: Dial | None = None,
        compute: ComputeThread | None = None,
    ) -> None:
        """`compute` parses large responses."""
        self._compute = compute or ComputeThread()
        self._to_urls, self._to_services = to_urls, to_services
        self._reactor = reactor
        self._agent = dialect(agent)
        self._client = client
        # Connections in use close when their calls end; idle ones close by timeout.
        self._peers: LruCache[tuple[bytes, ClientConfig | None, Dial | None], _Peer] = LruCache(
            _MOST_POOLS, lambda peer: peer.pool.closeCachedConnections()
        )

    async def close(self) -> None:
        """Close pooled connections."""
        peers = list(self._peers.values())
        self._peers.clear()
        for peer in peers:
            await peer.pool.closeCachedConnections()

    async def post(
        self, where: Mapping[str, Any], document: Any, seconds: float, credentials: Credentials = NO_CREDENTIALS
    ) -> dict[str, Any]:
        """Send a document to a WebhookClientConfig; returns the response document. `seconds` limits the whole call.

        Raises WebhookError."""
        service = where.get("service")
        bundle = where.get("caBundle") or ""
        body = orjson.dumps(document)
        limit = min(_MOST_BODY, _MOST_RESPONSE + _MOST_PER_REQUEST * len(body))
        call = _Call.to("POST", f"{_base(where)}?timeout={seconds:g}s", body, {}, limit)
        user = credentials.of(f"{call.host}:{call.port}")
        response = await self._within(call, seconds, lambda: _pem(bundle), user, service)
        if not 200 <= response.code <= 206:
            raise await self.read(response, failed_response)
        document_ = await self.read(response, successful_document)
        if (
            document_.get("kind") == "Status"
            and document_.get("apiVersion") == "v1"
            and document_.get("status") != "Success"
        ):
            raise WebhookError(_message(document_), response.code)
        return document_

    async def call(
        self,
        method: str,
        url: str,
        seconds: float,
        *,
        authority: bytes = b"",
        user: ClientConfig | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = _MOST_BODY,
    ) -> WebhookResponse:
        """Send any request to any service. `authority` verifies the server (PEM; b"": the system's CAs), `user` are the
        credentials. A body longer than `limit` bytes is an error. Raises WebhookError without a response."""
        call = _Call.to(method, url, body, headers or {}, limit)
        return await self._within(call, seconds, lambda: authority, user, None)

    async def read(self, response: WebhookResponse, parse: Callable[[WebhookResponse], T]) -> T:
        """The result of `parse`, which is called in another thread if the response is large."""
        return await self._compute(len(response.data), parse, response)

    async def _within(
        self,
        call: _Call,
        seconds: float,
        authority: Callable[[], bytes],
        user: ClientConfig | None,
        service: Mapping[str, Any] | None,
    ) -> WebhookResponse:
        with traced(
            f"HTTP {call.method}", {"net.peer.name": call.host, "net.peer.port": call.port}, outgoing=True
        ) as span:
            waiting = Deferred.fromCoroutine(self._send(call, seconds, authority, user, service))
            try:
                response = await within(waiting, seconds, self._reactor)
            except TimeoutError:
                raise WebhookError(f"{call}: context deadline exceeded", timed_out=True) from None
            if span is not None:
                span.set("http.status_code", response.code)
            return response

    async def _send(
        self,
        call: _Call,
        seconds: float,
        authority: Callable[[], bytes],
        user: ClientConfig | None,
        service: Mapping[str, Any] | None,
    ) -> WebhookResponse:
        # The start of the server does not wait for the library.
        from orchd.client.plain_http import exchange

        address = call.host, call.port
        dial = self._to_services if service else self._to_urls
        try:
            if service:
                address = await self._resolve(service["namespace"], service["name"], call.port)
            peer = self._peer(authority(), user, dial)
            options = peer.policy.creatorForNetloc(call.host.encode(), call.port)
            where = _Where(self._reactor, address, options, seconds, dial)
            agent = Agent.usingEndpointFactory(self._reactor, where, pool=peer.pool)
            headers = self._headers(call, user)
            response, data = await exchange(agent, self._reactor, call.method, call.url, headers, call.body, call.limit)
            received = {
                name.decode("latin-1").lower(): values[0].decode("latin-1")
                for name, values in response.headers.getAllRawHeaders()
            }
            plain = received.get("content-type", "").startswith("text/")
            text = data.decode("utf-8", "replace").strip() if plain else ""
            return WebhookResponse(code=response.code, data=data, text=text, headers=received)
        except (CancelledError, WebhookError):
            raise
        except Exception as error:
            if was_cancelled(error):
                raise CancelledError from error
            # Every failure of the network or the configuration must become an error with a text.
            raise WebhookError(f"{call}: {_error_text(error, address)}", reset=was_lost(error)) from error

    def _headers(self, call: _Call, user: ClientConfig | None) -> Headers:
        headers = Headers({"User-Agent": [self._agent]})
        for name, value in trace_headers().items():
            headers.setRawHeaders(name, [value])
        if call.body is not None:
            headers.setRawHeaders("Accept", ["application/json, */*"])
            headers.setRawHeaders("Content-Type", ["application/json"])
        for name, value in call.headers.items():
            headers.setRawHeaders(name, [value])
        if user is not None and user.token:
            headers.setRawHeaders("Authorization", [f"Bearer {user.token}"])
        elif user is not None and user.username:
            headers.setRawHeaders("Authorization", [basic_authorization(user.username, user.password)])
        return headers

    def _peer(self, authority: bytes, user: ClientConfig | None, dial: Dial | None) -> _Peer:
        """Connections are shared only by calls that are dialed in the same way."""
        return self._peers.obtain((authority, user, dial), lambda: _Peer(self._reactor, authority, user))

    async def _resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Address of a service's port."""
        try:
            service = await self._client.get(ResourceRef("", "v1", "services"), namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            raise errors.not_found("", "service", name) from None
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return spec.get("externalName", ""), port
        if spec.get("clusterIP") == "None":
            raise ValueError('cannot route to service with ClusterIP "None"')
        if all(p.get("port") != port for p in spec.get("ports") or ()):
            raise ValueError(f"no service port {port} found for service {errors.quoted(name)}")
        return spec.get("clusterIP", ""), port


def _base(where: Mapping[str, Any]) -> str:
    """The URL of a WebhookClientConfig."""
    service = where.get("service")
    if not service:
        url: str = where.get("url") or ""
        return url if urlsplit(url).path else url + "/"
    path = service.get("path") or "/"
    return f"https://{service['name']}.{service['namespace']}.svc:{service.get('port') or 443}{path}"


def _pem(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except binascii.Error as error:
        raise ValueError(f"caBundle: {error}") from None


def _error_text(error: BaseException, address: tuple[str, int]) -> str:
    """The text of a failed call, as in the reference where that has one."""
    return error.message if isinstance(error, ApiError) else describe(error, address)


def _status_error(response: WebhookResponse) -> WebhookError | None:
    """The error in the body of a failed response that is a Status; None for any other body."""
    try:
        document = read_document(response.data, response.code)
    except WebhookError:
        return None
    named = document.get("kind") or "Status", document.get("apiVersion") or "v1"
    if named != ("Status", "v1") or document.get("status") != "Failure":
        return None
    return WebhookError(_message(document), response.code)


def _message(status: Mapping[str, Any]) -> str:
    message = status.get("message")
    return message if isinstance(message, str) else ""


def failed_response(response: WebhookResponse) -> WebhookError:
    """The error of a response without success status: from its body, or from its status code."""
    return _status_error(response) or _by_code(response.code, response.text)


def _by_code(code: int, text: str) -> WebhookError:
    """`text` is the body of a response, "" if that is not text."""
    if code == 403:
        return WebhookError(text or "unknown", code)
    if code in _STATUS_TEXTS:
        return WebhookError(_STATUS_TEXTS[code], code)
    if code >= 500:
        body = errors.quoted(text or "unknown")
        return WebhookError(f"an error on the server ({body}) has prevented the request from succeeding", code)
    return WebhookError(f"the server responded with the status code {code} but did not return more information", code)


def successful_document(response: WebhookResponse) -> dict[str, Any]:
    """The object in the body of a response with a success status. Raises WebhookError."""
    return read_document(response.data, response.code)


def read_document(data: bytes, code: int) -> dict[str, Any]:
    """The object in a JSON body, or in a YAML body of at most `_MOST_YAML` bytes if it does not begin like a JSON
    object, as in the reference. Raises WebhookError."""
    if not data:
        raise WebhookError(f"0-length response with status code: {code} and content type: application/json")
    try:
        document: Any = orjson.loads(data)
    except orjson.JSONDecodeError as bad:
        if data.lstrip()[:1] == b"{":
            why = json_syntax.syntax_error(data) or str(bad)
            raise WebhookError(f"couldn't get version/kind; json parse error: {why}") from None
        if len(data) > _MOST_YAML:
            raise WebhookError(f"the response exceeds {_MOST_YAML} bytes and is not a JSON object") from None
        try:
            document = yaml_.decode(data)
        except yaml_.YAMLError as error:
            raise WebhookError(str(error)) from None
    if isinstance(document, dict):
        return document
    what = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    raise WebhookError(
        "couldn't get version/kind; json parse error: json: cannot unmarshal "
        f"{json_name(document)} into Go value of type {what}"
    )
