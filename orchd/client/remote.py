"""`RemoteClient`: an API client over HTTPS, on Twisted's HTTP client with persistent connections."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.error import ConnectError, ConnectionLost, DNSLookupError
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThreadPool
from twisted.web.client import ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchd.client import requests
from orchd.client.bodies import JSON, BodyCodec
from orchd.client.body_stream import BodyStream
from orchd.client.credentials import Credential, Credentials, ITokenSource, impersonation_headers
from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import (
    IByteStream,
    IForwardingClient,
    ISocketClient,
    IWatchStream,
    IWebSocket,
    RawResponse,
    ResourceRef,
)
from orchd.client.methods import Methods
from orchd.client.metrics import RequestMetrics
from orchd.client.requests import Call
from orchd.client.statuses import error_of, warning_text
from orchd.client.streams import EventStream, read_body
from orchd.client.throttle import Throttle
from orchd.client.transport import Transport
from orchd.errors import ApiError
from orchd.kinds.digits import is_whole
from orchd.kinds.jsonvalues import Object
from orchd.pki.clientconfig import ClientConfig
from orchd.txkit.cancellation import cleanly_cancelled
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import BytesBodyProducer

#: Number of retries after responses with Retry-After, and the maximum pause in seconds.
_RETRIES, _LONGEST_PAUSE = 5, 30.0
#: timeoutSeconds of watches (randomized up to twice this value), and the grace period before the client aborts them.
_WATCH_SECONDS, _WATCH_GRACE = 300, 30.0
_MOST_BODY = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How a client sends requests. `agent` is its user agent. Every wait for a response is limited to `timeout`
    seconds; watches have a limit of their own. `connections` is the number of persistent connections; `throttle` delays
    requests beyond its rate; clients that share `metrics` are counted together. `bearer` overrides the credentials of
    the configuration; `codec` encodes bodies and decodes objects."""

    agent: str
    timeout: float = 30.0
    connections: int = 4
    throttle: Throttle | None = None
    metrics: RequestMetrics | None = None
    bearer: ITokenSource | None = None
    codec: BodyCodec = JSON


@implementer(IForwardingClient, ISocketClient)
class RemoteClient(Methods):
    """A client of one server as one user. `environment` is the environment of exec plugins. Call `close` at the end."""

    def __init__(
        self,
        config: ClientConfig,
        reactor: Any,
        options: ClientOptions,
        *,
        random: Random,
        wall: Callable[[], float] = time.time,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._reactor = reactor
        self._random = random
        self._timeout = options.timeout
        self._server = config.server.rstrip("/")
        self._host = urlsplit(config.server).netloc
        self._user_agent = options.agent
        self._codec = options.codec
        self._throttle = options.throttle or Throttle(reactor, qps=0, burst=0)
        self.metrics = options.metrics or RequestMetrics()
        self._transport = Transport(config, reactor, timeout=options.timeout, connections=options.connections)
        plugin = None
        if config.exec is not None:
            # Few configurations have one.
            from orchd.client.exec_plugin import ExecCredentials

            plugin = ExecCredentials(
                config, wall=wall, in_thread=self._in_thread, environment=environment, metrics=self.metrics
            )
        self._credentials = Credentials(config, reactor.seconds, plugin, options.bearer)
        self._impersonation = impersonation_headers(config.impersonation)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await deferToThreadPool(self._reactor, self._reactor.getThreadPool(), function, *arguments)

    async def close(self) -> None:
        """Close idle connections."""
        await self._transport.close()

    async def document(self, path: str) -> Object:
        """The JSON document at any path, such as those of discovery."""
        return await self._object(Call(method="GET", path=path))

    # -- sending

    def _headers(self, content_type: str, accept: str, credential: Credential) -> Headers:
        headers = Headers({"User-Agent": [self._user_agent], "Accept": [accept]})
        if content_type:
            headers.setRawHeaders("Content-Type", [content_type])
        if credential.authorization:
            headers.setRawHeaders("Authorization", [credential.authorization])
        for name, value in self._impersonation:
            headers.addRawHeader(name, value)
        return headers

    async def _send(self, call: Call) -> IResponse:
        waited = await self._throttle.wait()
        self.metrics.observe_wait(call, self._server, waited)
        self._transport.reload()
        credential = await self._credentials.get(self._transport.config)
        query = urlencode(call.query, quote_via=quote)
        url = f"{self._server}{call.path}" + (f"?{query}" if query else "")
        body, content_type, data = None, "", b""
        if call.body is not None:
            data, content_type = self._codec.encode(call)
            body = BytesBodyProducer(data)
        headers = self._headers(content_type, call.accept, credential)
        code, began = "<error>", self._reactor.seconds()
        try:
            response: IResponse = await self._bounded(
                self._transport.request(
                    call.method.encode(), url.encode(), headers, body, (credential.certificate, credential.key)
                )
            )
            code = str(response.code)
        finally:
            self.metrics.results.add(code, call.method, self._host)
            self.metrics.observe_request(call, self._server, self._reactor.seconds() - began)
        length = response.length
        self.metrics.observe_sizes(call, self._server, len(data), length if isinstance(length, int) else None)
        if response.code == 401:
            self._credentials.refused(credential)
        return response

    async def _bounded(self, waiting: Deferred[Any]) -> Any:
        """Await a network operation within the timeout. Network failures become ApiErrors."""
        try:
            return await within(cleanly_cancelled(waiting), self._timeout, self._reactor)
        except TimeoutError:
            raise NoResponseError(self._server, self._timeout) from None
        except ResponseFailed as error:
            why = ", ".join(reason.getErrorMessage() for reason in error.reasons)
            raise UnreachableError(self._server, why) from error
        except (ConnectError, ConnectionLost, DNSLookupError, OSError) as error:
            raise UnreachableError(self._server, str(error) or type(error).__name__) from error

    async def _request(self, call: Call) -> IResponse:
        """Send a call; return a response below 400. Retries 429 and 503 with Retry-After; raises other errors."""
        for attempt in count():
            response = await self._send(call)
            if response.code < 400:
                return response
            data = await self._bounded(read_body(response, _MOST_BODY))
            pause = _retry_after(response)
            if response.code not in (429, 503) or pause is None or attempt == _RETRIES:
                raise self._error(response, data)
            self.metrics.count_repeated(call, self._server, response.code)
            await deferLater(self._reactor, min(pause, _LONGEST_PAUSE) * (1 + self._random.random() / 10))
        raise AssertionError("the last attempt returned or raised")

    async def _call(self, call: Call) -> Object:
        return await self._object(replace(call, accept=self._codec.accept))

    async def _object(self, call: Call) -> Object:
        response = await self._request(call)
        data = await self._bounded(read_body(response, _MOST_BODY))
        return self._codec.decode(data, _content_type(response))

    async def exchange(self, call: Call) -> RawResponse:
        response = await self._request(call)
        data = await self._bounded(read_body(response, _MOST_BODY))
        warnings = map(warning_text, _header(response, b"Warning"))
        return RawResponse(
            code=response.code, content_type=_content_type(response), body=data, warnings=tuple(filter(None, warnings))
        )

    async def stream(self, call: Call, seconds: float) -> IByteStream:
        stream: IByteStream = ByteStream(await self._request(call), self._reactor, self._server, seconds)
        return stream

    async def forward(self, method: str, target: str, headers: Headers, body: bytes) -> IResponse:
        self._transport.reload()
        credential = await self._credentials.get(self._transport.config)
        sent = headers.copy()
        if credential.authorization:
            sent.setRawHeaders("Authorization", [credential.authorization])
        for name, value in self._impersonation:
            sent.addRawHeader(name, value)
        url = f"{self._server}{target}".encode()
        producer = BytesBodyProducer(body) if body else None
        response: IResponse = await self._bounded(
            self._transport.request(method.encode(), url, sent, producer, (credential.certificate, credential.key))
        )
        if response.code == 401:
            self._credentials.refused(credential)
        return response

    async def websocket(self, path: str, query: Iterable[tuple[str, str]], protocols: Iterable[str]) -> IWebSocket:
        # Few clients open one: others do not wait for its library.
        from orchd.client.websocket import WebSocket

        self._transport.reload()
        credential = await self._credentials.get(self._transport.config)
        headers = [("User-Agent", self._user_agent), *self._impersonation]
        if credential.authorization:
            headers.append(("Authorization", credential.authorization))
        words = urlencode(list(query), quote_via=quote)
        target = urlsplit(self._server).path + path + (f"?{words}" if words else "")
        socket = WebSocket(self._server, target, self._host, headers, tuple(protocols))
        factory = Factory.forProtocol(lambda: socket)
        factory.noisy = False
        await self._bounded(self._transport.connect(factory, (credential.certificate, credential.key)))
        try:
            opened: IWebSocket = await self._bounded(socket.opened)
        except ApiError as error:
            if error.code == 401:
                self._credentials.refused(credential)
            raise
        return opened

    # -- IClient

    async def watch(
        self, ref: ResourceRef, namespace: str = "", *, metadata_only: bool = False, **options: Any
    ) -> IWatchStream:
        # `metadata_only` allows complete objects too.
        call = requests.watch(ref, namespace, **options)
        seconds = int(_WATCH_SECONDS * (1 + self._random.random()))
        call = replace(call, query={**call.query, "timeoutSeconds": str(seconds)}, accept=self._codec.accept)
        response = await self._request(call)
        content_type = _content_type(response)
        stream: IWatchStream = EventStream(
            response, self._reactor, self._server, seconds + _WATCH_GRACE, self._codec, content_type
        )
        return stream

    def _error(self, response: IResponse, data: bytes) -> ApiError:
        try:
            status: Any = self._codec.decode(data, _content_type(response))
        except ApiError:
            status = data.decode("utf-8", "replace")
        error = error_of(status, response.code)
        pause = _retry_after(response)
        if pause is not None:
            error.headers["Retry-After"] = f"{pause:g}"
        return error


def _header(response: IResponse, name: bytes) -> list[str]:
    """The values of a header; bytes that are not UTF-8 become replacement characters."""
    return [value.decode("utf-8", "replace") for value in response.headers.getRawHeaders(name, ())]


def _content_type(response: IResponse) -> str:
    return next(iter(_header(response, b"Content-Type")), "")


def _retry_after(response: IResponse) -> float | None:
    """The delay of the Retry-After header in seconds, None without one. API servers do not send dates."""
    for value in _header(response, b"Retry-After"):
        if is_whole(value.strip()):
            return float(value)
    return None


@implementer(IByteStream)
class ByteStream(BodyStream):
    """Pieces of a response's body in order."""

    def dataReceived(self, data: bytes) -> None:
        self.queue.put(data)

    async def next(self) -> bytes | None:
        return await self.queue.next()
