"""`RemoteClient`: an API client over HTTPS, on Twisted's HTTP client with persistent connections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson
from twisted.internet import ssl
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.error import ConnectError, ConnectionLost, DNSLookupError
from twisted.internet.task import deferLater
from twisted.web.client import Agent, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IPolicyForHTTPS, IResponse
from zope.interface import implementer

from orchd.client import requests
from orchd.client.errors import NoAnswerError, UnreachableError
from orchd.client.interfaces import IClient, IWatchStream, Object, ResourceRef
from orchd.client.methods import Methods
from orchd.client.requests import Call
from orchd.client.statuses import error_of
from orchd.client.streams import LineStream, read_body
from orchd.errors import ApiError
from orchd.pki import clientconfig
from orchd.pki.clientconfig import ClientConfig
from orchd.txkit.answerheads import bounded_heads_pool
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import BytesBodyProducer, UnverifiedConnection, own_certificate, trust_roots

#: Number of retries after responses with Retry-After, and the maximum pause in seconds.
_RETRIES, _LONGEST_PAUSE = 5, 30.0
#: timeoutSeconds of watches (randomized up to twice this value), and the grace period before the client aborts them.
_WATCH_SECONDS, _WATCH_GRACE = 300, 30.0
#: Seconds after which a token file is read again.
_TOKEN_AGE = 60.0
_MOST_BODY = 512 * 1024 * 1024


@implementer(IPolicyForHTTPS)
class _Policy:
    """TLS with the CA and client certificate of the configuration."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._own = own_certificate(config.certificate, config.key)
        self._trust = trust_roots(config.authority) if config.authority else None

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        if self._config.insecure:
            return UnverifiedConnection(self._own)
        name = self._config.server_name or hostname.decode("ascii").strip("[]")
        return ssl.optionsForClientTLS(name, trustRoot=self._trust, clientCertificate=self._own)


class _Token:
    """The bearer token. A token file is read again periodically, because such tokens are rotated."""

    def __init__(self, config: ClientConfig, clock: Callable[[], float]) -> None:
        self._config = config
        self._clock = clock
        self._text = config.token
        self._read: float | None = None

    def __call__(self) -> str:
        if self._config.token_file:
            now = self._clock()
            if self._read is None or now - self._read > _TOKEN_AGE:
                self._text = Path(self._config.token_file).read_text(encoding="utf-8").strip()
                self._read = now
        return self._text


@implementer(IClient)
class RemoteClient(Methods):
    """A client of one server as one user. Every wait for a response is limited to `timeout` seconds, except on watches.

    Up to `connections` connections stay open between requests. Call `close` after use.
    """

    def __init__(
        self,
        config: ClientConfig,
        reactor: Any,
        *,
        agent: str,
        random: Random,
        timeout: float = 30.0,
        connections: int = 4,
    ) -> None:
        self._config = config
        self._reactor = reactor
        self._random = random
        self._timeout = timeout
        self._server = config.server.rstrip("/")
        if urlsplit(self._server).scheme not in ("https", "http"):
            raise ValueError(f"not an HTTP server: {config.server}")
        self._user_agent = agent
        self._token = _Token(config, reactor.seconds)
        self._pool = bounded_heads_pool(reactor, persistent=True)
        self._pool.maxPersistentPerHost = connections
        self._agent = Agent(reactor, contextFactory=_Policy(config), pool=self._pool, connectTimeout=timeout)

    @classmethod
    def from_file(cls, path: Path, reactor: Any, *, context: str = "", **options: Any) -> RemoteClient:
        """Create a client from a client configuration file. Raises ClientConfigError or OSError."""
        return cls(clientconfig.load(path, context=context), reactor, **options)

    async def close(self) -> None:
        """Close idle connections."""
        await self._pool.closeCachedConnections()

    # -- sending

    def _headers(self, call: Call) -> Headers:
        headers = Headers({"User-Agent": [self._user_agent], "Accept": ["application/json"]})
        if call.body is not None:
            headers.setRawHeaders("Content-Type", [call.content_type])
        token = self._token()
        if token:
            headers.setRawHeaders("Authorization", [f"Bearer {token}"])
        return headers

    async def _send(self, call: Call) -> IResponse:
        query = urlencode(call.query, quote_via=quote)
        url = f"{self._server}{call.path}" + (f"?{query}" if query else "")
        body = None if call.body is None else BytesBodyProducer(orjson.dumps(call.body))
        requested = self._agent.request(call.method.encode(), url.encode(), self._headers(call), body)
        response: IResponse = await self._bounded(requested)
        return response

    async def _bounded(self, waiting: Deferred[Any]) -> Any:
        """Await a network operation within the timeout. Network failures become ApiErrors."""
        try:
            return await within(waiting, self._timeout, self._reactor)
        except TimeoutError:
            raise NoAnswerError(self._server, self._timeout) from None
        except CancelledError:
            raise
        except ResponseFailed as error:
            why = ", ".join(reason.getErrorMessage() for reason in error.reasons)
            raise UnreachableError(self._server, why) from error
        except (ConnectError, ConnectionLost, DNSLookupError, OSError) as error:
            raise UnreachableError(self._server, str(error) or type(error).__name__) from error

    async def _request(self, call: Call) -> IResponse:
        """Send a call; return a response below 400. Retries 429 and 503 with Retry-After; raises other errors."""
        for attempt in range(_RETRIES + 1):
            response = await self._send(call)
            if response.code < 400:
                return response
            data = await self._bounded(read_body(response, _MOST_BODY))
            pause = _retry_after(response)
            if response.code not in (429, 503) or pause is None or attempt == _RETRIES:
                raise _response_error(response, data)
            await deferLater(self._reactor, min(pause, _LONGEST_PAUSE) * (1 + self._random.random() / 10))
        raise AssertionError("the last attempt returned or raised")

    async def _call(self, call: Call) -> Object:
        response = await self._request(call)
        data = await self._bounded(read_body(response, _MOST_BODY))
        try:
            answer: Object = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ApiError(500, "InternalError", f"the server's response is not JSON: {error}") from None
        return answer

    # -- IClient

    async def watch(self, ref: ResourceRef, namespace: str = "", **options: Any) -> IWatchStream:
        call = requests.watch(ref, namespace, **options)
        seconds = int(_WATCH_SECONDS * (1 + self._random.random()))
        call = Call(method=call.method, path=call.path, query={**call.query, "timeoutSeconds": str(seconds)})
        response = await self._request(call)
        stream: IWatchStream = LineStream(response, self._reactor, self._server, seconds + _WATCH_GRACE)
        return stream


def _retry_after(response: IResponse) -> float | None:
    """The delay of the Retry-After header in seconds, None without one. API servers do not send dates."""
    for value in response.headers.getRawHeaders("Retry-After", ()):
        if value.strip().isdigit():
            return float(value)
    return None


def _response_error(response: IResponse, data: bytes) -> ApiError:
    try:
        status: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        status = data.decode("utf-8", "replace")
    error = error_of(status, response.code)
    pause = _retry_after(response)
    if pause is not None:
        error.headers["Retry-After"] = f"{pause:g}"
    return error

