"""HTTP connection to an extender: POST of JSON, bounded in time and size."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from OpenSSL import crypto
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.web.client import Agent
from twisted.web.http_headers import Headers

from orchd.errors import ApiError, quoted
from orchd.kinds.gotext.json_syntax import syntax_error
from orchd.pki.url_users import basic_authorization, split_user
from orchd.scheduler.config.model import ConfigError, ExtenderConfig, ExtenderTls
from orchd.scheduler.interfaces import ExtenderError
from orchd.txkit.failures import CLOSED, describe, was_cancelled
from orchd.txkit.response_heads import bounded_heads_pool
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import ServerPolicy, own_certificate

#: Seconds for a response where the configuration says nothing.
DEFAULT_TIMEOUT = 5.0
#: Bytes of a response beyond twice those of the request: a response contains nodes or pods of the request, and reasons.
MOST_ADDED = 4 * 1024 * 1024
#: Idle connections that are kept, and for how many seconds.
_IDLE, _IDLE_SECONDS = 4, 30


def check_extender(config: ExtenderConfig) -> None:
    """Raises ConfigError for a URL that nothing can be posted to, and for TLS settings that cannot be used."""
    _address(config.url)
    _policy(config)


class ExtenderConnection:
    """Posts documents below one URL. Call `close` when done. Raises ConfigError for TLS settings that cannot be
    used."""

    def __init__(self, config: ExtenderConfig, reactor: Any, agent: str) -> None:
        _, user, password = split_user(config.url_prefix)
        self._prefix = config.url.rstrip("/")
        self._reactor = reactor
        self._timeout = config.http_timeout or DEFAULT_TIMEOUT
        self._address = _address(config.url)
        self._headers = Headers({"User-Agent": [agent], "Content-Type": ["application/json"]})
        if user or password:
            self._headers.setRawHeaders("Authorization", [basic_authorization(user, password)])
        self._pool = bounded_heads_pool(reactor, persistent=True)
        self._pool.maxPersistentPerHost = _IDLE
        self._pool.cachedConnectionTimeout = _IDLE_SECONDS
        self._agent = Agent(reactor, contextFactory=_policy(config), pool=self._pool, connectTimeout=self._timeout)

    async def close(self) -> None:
        """Close kept connections."""
        await self._pool.closeCachedConnections()

    async def post(self, verb: str, document: Any, *, again: bool = True) -> Any:
        """The JSON value of the extender's response. `again`: the request may be sent twice, when a kept connection
        turns out to be closed. Raises ExtenderError."""
        url = f"{self._prefix}/{verb}"
        body = orjson.dumps(document)
        waiting = Deferred.fromCoroutine(self._exchange(url, body, again))
        try:
            code, data = await within(waiting, self._timeout, self._reactor)
        except TimeoutError:
            why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise ExtenderError(f"Post {quoted(url)}: {why}") from None
        if code != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {code}")
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ExtenderError((syntax_error(data) or str(error)) if data.strip() else "EOF") from None

    async def _exchange(self, url: str, body: bytes, again: bool) -> tuple[int, bytes]:
        # Few configurations have extenders: others do not wait for the library.
        from orchd.client.plain_http import exchange

        try:
            response, data = await exchange(
                self._agent, self._reactor, "POST", url, self._headers, body, 2 * len(body) + MOST_ADDED
            )
            return response.code, data
        except ApiError as error:
            raise ExtenderError(f"Post {quoted(url)}: {error.message}") from None
        except Exception as error:
            # Whatever goes wrong out there must become an error that names the extender.
            if was_cancelled(error):
                raise CancelledError from error
            why = describe(error, self._address)
            if again and why == CLOSED:
                return await self._exchange(url, body, False)
            raise ExtenderError(f"Post {quoted(url)}: {why}") from error


def _address(url: str) -> tuple[str, int]:
    """Host and port of a URL. Raises ConfigError for one that nothing can be posted to."""
    try:
        url.encode("ascii")
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ConfigError(f"extender {url}: urlPrefix: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"extender {url}: urlPrefix: must be an HTTP or HTTPS URL")
    return host, port


def _policy(config: ExtenderConfig) -> ServerPolicy:
    """Checks the extender's certificate as configured. With enableHTTPS but no authority it is not checked, as in the
    reference; without either it must be one that this machine trusts. Raises ConfigError."""
    tls = config.tls or ExtenderTls()
    name = f"extender {config.url}: tlsConfig"
    authority = tls.ca_data or _read(tls.ca_file, f"{name}.caFile")
    certificate = tls.cert_data or _read(tls.cert_file, f"{name}.certFile")
    key = tls.key_data or _read(tls.key_file, f"{name}.keyFile")
    if authority and tls.insecure:
        raise ConfigError(f"{name}: specifying a root certificates file with the insecure flag is not allowed")
    if bool(certificate) != bool(key):
        raise ConfigError(f"{name}: a client certificate needs its key, and a key its certificate")
    unchecked = tls.insecure or (config.enable_https and not authority)
    try:
        return ServerPolicy(authority, own_certificate(certificate, key), unchecked=unchecked, name=tls.server_name)
    except (crypto.Error, ValueError) as error:
        raise ConfigError(f"{name}: certificates or key cannot be read: {error}") from None


def _read(path: str, field: str) -> bytes:
    if not path:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{field}: cannot read {path}: {error.strerror or error}") from None
