"""Connections to extenders: requests, limits, and errors that name the extender."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectionRefusedError
from twisted.python.failure import Failure

from orchd.scheduler.config.model import ConfigError, ExtenderConfig, ExtenderTls
from orchd.scheduler.extender_connection import ExtenderConnection, check_extender
from orchd.scheduler.interfaces import ExtenderError
from orchd.txkit.coroutines import start
from tests.memory_http import MemoryHttp

PREFIX = "http://127.0.0.1:8001/scheduler/"
POST = 'Post "http://127.0.0.1:8001/scheduler/filter": '


class Bench(MemoryHttp):
    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.connection = ExtenderConnection(
            ExtenderConfig(**{"url_prefix": PREFIX, **config}), self.reactor, "tester/1"
        )

    def post(self, *, again: bool = True) -> list[Any]:
        return self.begin(self.connection.post("filter", {"a": 1}, again=again))


def test_document_is_posted_below_the_prefix() -> None:
    bench = Bench()
    results = bench.post()
    sent = bench.request()
    assert (sent.method, sent.target, sent.body) == ("POST", "/scheduler/filter", b'{"a":1}')
    assert sent.header("User-Agent") == ["tester/1"] and sent.header("Content-Type") == ["application/json"]
    bench.respond(body=b'{"b":2}')
    assert results == [{"b": 2}]
    bench.post()
    bench.request()
    assert len(bench.transports) == 1


def test_idle_connection_is_closed() -> None:
    """Thirty seconds after the last request."""
    bench = Bench()
    for pause, closed in ((29, False), (29, False), (30, True)):
        bench.post()
        bench.request()
        bench.respond()
        bench.reactor.advance(pause)
        assert bench.transports[0].disconnecting == closed
    assert len(bench.transports) == 1


def test_users_of_urls_are_sent_and_not_shown() -> None:
    """User and password of the URL are a header, and neither in the header Host nor in messages."""
    bench = Bench(url_prefix=PREFIX.replace("://", "://u:p@"))
    results = bench.post()
    sent = bench.request()
    assert sent.header("Authorization") == ["Basic dTpw"] and sent.header("Host") == ["127.0.0.1:8001"]
    bench.respond(500)
    assert str(results[0]) == "failed filter with extender at URL http://127.0.0.1:8001/scheduler/filter, code 500"


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        (500, b"{}", "failed filter with extender at URL http://127.0.0.1:8001/scheduler/filter, code 500"),
        (201, b"{}", "failed filter with extender at URL http://127.0.0.1:8001/scheduler/filter, code 201"),
        (200, b"", "EOF"),
        (200, b" \n", "EOF"),
        (200, b"x", "invalid character 'x' looking for beginning of value"),
    ],
)
def test_unusable_responses(code: int, body: bytes, message: str) -> None:
    bench = Bench()
    results = bench.post()
    bench.request()
    bench.respond(code, body)
    assert isinstance(results[0], ExtenderError) and str(results[0]) == message


@pytest.mark.parametrize(("timeout", "seconds"), [(0.0, 5.0), (2.0, 2.0)])
def test_extender_that_is_silent(timeout: float, seconds: float) -> None:
    """Five seconds where the configuration says nothing."""
    bench = Bench(http_timeout=timeout)
    results = bench.post()
    bench.request()
    bench.reactor.advance(seconds - 0.5)
    assert not results
    bench.reactor.advance(0.5)
    assert str(results[0]) == POST + "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


def test_unreachable_extender() -> None:
    bench = Bench()
    results = bench.post()
    factory: Any = bench.reactor.tcpClients[0][2]
    factory.clientConnectionFailed(None, Failure(ConnectionRefusedError()))
    bench.reactor.advance(1)
    assert isinstance(results[0], ExtenderError) and str(results[0]).startswith(POST)


def test_lost_connection_is_tried_once_more_where_that_is_allowed() -> None:
    bench = Bench()
    results = bench.post()
    bench.request()
    bench.lose()
    assert not results
    bench.request()
    bench.lose()
    assert isinstance(results[0], ExtenderError)
    once = bench.post(again=False)
    bench.request()
    bench.lose()
    assert isinstance(once[0], ExtenderError) and str(once[0]).startswith(POST)


def test_response_has_a_limit() -> None:
    """Four MiB and twice the request."""
    bench = Bench()
    results = bench.post()
    bench.request()
    bench.send(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (4 * 1024 * 1024 + 2 * 7))
    assert not results and not bench.transports[0].disconnecting
    bench.send(b" ")
    bench.lose()
    assert "exceeds 4194318 bytes" in str(results[0])


def test_cancelled_request_is_no_error_of_the_extender() -> None:
    bench = Bench()
    waiting = start(bench.connection.post("filter", {}))
    bench.request()
    failures: list[Failure] = []
    waiting.addErrback(failures.append)
    waiting.cancel()
    assert failures[0].check(CancelledError)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"url_prefix": "ftp://h"}, "must be an HTTP or HTTPS URL"),
        ({"url_prefix": "http://"}, "must be an HTTP or HTTPS URL"),
        ({"url_prefix": "http://h:port"}, "urlPrefix: "),
        ({"tls": ExtenderTls(ca_data=b"x", insecure=True)}, "with the insecure flag is not allowed"),
        ({"tls": ExtenderTls(cert_data=b"x")}, "a client certificate needs its key"),
        ({"tls": ExtenderTls(key_data=b"x")}, "a client certificate needs its key"),
        ({"tls": ExtenderTls(cert_data=b"x", key_data=b"y")}, "certificates or key cannot be read"),
        ({"tls": ExtenderTls(ca_file="/nowhere/ca")}, "tlsConfig.caFile: cannot read /nowhere/ca: No such file"),
        ({"tls": ExtenderTls(cert_file="/nowhere/c")}, "tlsConfig.certFile: cannot read"),
        ({"tls": ExtenderTls(key_file="/nowhere/k")}, "tlsConfig.keyFile: cannot read"),
    ],
)
def test_configuration_that_cannot_be_used(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_extender(ExtenderConfig(**{"url_prefix": PREFIX, **config}))


def test_usable_configuration(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for tls in (None, ExtenderTls(insecure=True), ExtenderTls(cert_file=str(tmp_path / "empty"))):
        check_extender(ExtenderConfig(url_prefix=PREFIX, tls=tls))
