"""Scheduler extenders over real loopback connections."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted
from twisted.internet import reactor, ssl
from twisted.internet.defer import Deferred
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import private_pem
from orchd.scheduler.config.model import ConfigError, ExtenderConfig, ExtenderTls
from orchd.scheduler.extender_connection import ExtenderConnection
from orchd.scheduler.interfaces import ExtenderError
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.ports import free_port

CLOCK: Any = reactor


class Extender(Resource):
    """Answers by path."""

    isLeaf = True

    def __init__(self) -> None:
        Resource.__init__(self)
        self.peers: list[int] = []
        self.drop = False

    def render_POST(self, request: Any) -> Any:
        self.peers.append(request.transport.getPeer().port)
        verb = request.path.decode().rpartition("/")[2]
        if verb == "slow":
            return NOT_DONE_YET
        if verb == "drop" and self.drop:
            self.drop = False
            request.transport.abortConnection()
            return NOT_DONE_YET
        if verb == "fail":
            request.setResponseCode(500)
        if verb == "headers":
            request.responseHeaders.setRawHeaders("X-Long", ["x" * 8000] * 40)
        answers = {"empty": b"", "text": b"hello", "fail": b"{}"}
        return answers.get(
            verb, orjson.dumps({"path": request.path.decode(), "body": orjson.loads(request.content.read())})
        )


class Place:
    """The same extender with and without TLS."""

    def __init__(self) -> None:
        signed = self_signed("extender", names=["127.0.0.1", "extender.example"], now=datetime.now(UTC))
        self.pem = chain_pem(signed.certificate)
        own = ssl.PrivateCertificate.loadPEM(self.pem + b"\n" + private_pem(signed.key))
        self.extender = Extender()
        self.plain = CLOCK.listenTCP(0, Site(self.extender), interface="127.0.0.1")
        self.tls = CLOCK.listenSSL(0, Site(self.extender), own.options(), interface="127.0.0.1")
        self.made: list[ExtenderConnection] = []

    def connection(self, *, scheme: str = "http", port: int = 0, **settings: Any) -> ExtenderConnection:
        listening = self.tls if scheme == "https" else self.plain
        self.port = port or listening.getHost().port
        config = ExtenderConfig(url_prefix=f"{scheme}://127.0.0.1:{self.port}/here/", **settings)
        extender_connection = ExtenderConnection(config, CLOCK, "test")
        self.made.append(extender_connection)
        return extender_connection

    async def fails(self, connection: ExtenderConnection, verb: str) -> str:
        with pytest.raises(ExtenderError) as caught:
            await connection.post(verb, {})
        return str(caught.value).replace(str(self.port), "PORT")

    async def close(self) -> None:
        for each in self.made:
            await each.close()
        for listening in (self.plain, self.tls):
            stopped = listening.stopListening()
            if stopped is not None:
                await stopped


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    pytest_twisted.blockon(Deferred.fromCoroutine(place.close()))


@pytest_twisted.ensureDeferred
async def test_verb_is_posted_below_the_url(place: Place) -> None:
    """A verb is posted to a path below the URL, and connections are reused."""
    connection = place.connection()
    assert await connection.post("filter", {"a": 1}) == {"path": "/here/filter", "body": {"a": 1}}
    await connection.post("filter", {})
    assert place.extender.peers[0] == place.extender.peers[1]


@pytest_twisted.ensureDeferred
async def test_failure_messages_have_the_references_words(place: Place) -> None:
    """Errors have the reference's messages, with the URL."""
    connection = place.connection(http_timeout=PATIENCE)
    url = "http://127.0.0.1:PORT/here"
    assert await place.fails(connection, "fail") == f"failed fail with extender at URL {url}/fail, code 500"
    assert await place.fails(connection, "empty") == "EOF"
    assert await place.fails(connection, "text") == "invalid character 'h' looking for beginning of value"
    assert "response headers exceeded" in await place.fails(connection, "headers")
    assert await place.fails(place.connection(http_timeout=0.2), "slow") == (
        f'Post "{url}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    )
    refused = place.connection(port=free_port())
    assert await place.fails(refused, "filter") == (
        f'Post "{url}/filter": dial tcp 127.0.0.1:PORT: connect: connection refused'
    )


@pytest_twisted.ensureDeferred
async def test_lost_connection_is_retried_once(place: Place) -> None:
    """A request whose connection is lost is sent again once, but not one that must not be repeated."""
    connection = place.connection()
    place.extender.drop = True
    assert (await connection.post("drop", {}))["path"] == "/here/drop"
    place.extender.drop = True
    with pytest.raises(ExtenderError, match=r'^Post ".*": EOF$'):
        await connection.post("drop", {}, again=False)


@pytest_twisted.ensureDeferred
async def test_extender_certificate_is_verified(place: Place, tmp_path: Path) -> None:
    """The certificate is verified by the configured CA, from data or a file, for the configured name; not if
    verification is disabled or HTTPS is enabled without a CA."""
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(place.pem)
    for settings in (
        {"tls": ExtenderTls(ca_data=place.pem)},
        {"tls": ExtenderTls(ca_file=str(bundle), server_name="extender.example"), "enable_https": True},
        {"tls": ExtenderTls(insecure=True)},
        {"enable_https": True},
    ):
        assert (await place.connection(scheme="https", **settings).post("x", {}))["path"] == "/here/x"
    unknown = await place.fails(place.connection(scheme="https"), "x")
    assert unknown.endswith("tls: failed to verify certificate: x509: certificate signed by unknown authority")
    named = place.connection(scheme="https", tls=ExtenderTls(ca_data=place.pem, server_name="other.example"))
    assert "certificate is not valid" in await place.fails(named, "x")


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        (
            ExtenderTls(ca_file="/no/such/file"),
            "tlsConfig.caFile: cannot read /no/such/file: No such file or directory",
        ),
        (
            ExtenderTls(ca_data=b"x", insecure=True),
            "tlsConfig: specifying a root certificates file with the insecure flag is not allowed",
        ),
        (ExtenderTls(cert_data=b"x"), "tlsConfig: a client certificate needs its key, and a key its certificate"),
        (ExtenderTls(cert_data=b"x", key_data=b"y"), "tlsConfig: certificates or key cannot be read: "),
    ],
)
def test_invalid_tls_settings_are_refused(tls: ExtenderTls, expected: str) -> None:
    """Invalid TLS settings are rejected when the extender is created."""
    with pytest.raises(ConfigError) as caught:
        ExtenderConnection(ExtenderConfig(url_prefix="https://x", tls=tls), CLOCK, "test")
    assert str(caught.value).startswith(f"extender https://x: {expected}")


@pytest.mark.parametrize("url", ["", "x", "ftp://x", "http://", "http://x:port", "http://\u00e4"])
def test_invalid_urls_are_refused(url: str) -> None:
    """An invalid URL is rejected when the extender is created."""
    with pytest.raises(ConfigError, match=f"^extender {url}: urlPrefix: "):
        ExtenderConnection(ExtenderConfig(url_prefix=url), CLOCK, "test")
