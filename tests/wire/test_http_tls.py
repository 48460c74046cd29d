"""Real sockets: both TLS layers under the HTTP channel behave alike, and faulty connections do not affect others."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_twisted
from OpenSSL import SSL
from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.logger import capturedLogs

from orchd.dialect import ORCH
from orchd.pki.bootstrap import Files, ensure, write_private
from orchd.pki.certificates import SERVER, Signed, chain_pem, issue_pair, load_chain, self_signed, subject
from orchd.pki.keys import load_private, private_pem
from orchd.server.http import tls_transport
from orchd.server.http.channel import HttpChannel
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.limits import Limits
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import KeyPairFiles, ServerContexts, TlsSettings
from orchd.server.http.tls_transport import TlsTransport
from orchd.testing.processes.daemon import PATIENCE
from tests.server.http.http_doubles import Answer, Paths, read_answers
from tests.waiting import until_true

T = TypeVar("T")
NOW = datetime.now(UTC)


@dataclass
class Running:
    """A server on a free port of the loopback address."""

    paths: Paths
    factory: ApiServerFactory
    listener: Listener
    files: Files
    contexts: ServerContexts
    settings: TlsSettings

    def context(self, **pair: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.files.ca_certificate))
        if pair:
            context.load_cert_chain(pair["certificate"], pair["key"])
        return context

    def connect(self, context: ssl.SSLContext | None = None, name: str = "localhost") -> ssl.SSLSocket:
        """A blocking client connection; for use in a thread."""
        raw = socket.create_connection(self.listener.address, timeout=PATIENCE)
        return (context or self.context()).wrap_socket(raw, server_hostname=name)

    def ask(self, *paths: str, context: ssl.SSLContext | None = None, name: str = "localhost") -> list[Answer]:
        """Send GETs on one connection, the last of which closes it."""
        with self.connect(context, name) as client:
            for path in paths:
                last = "Connection: close\r\n" if path is paths[-1] else ""
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n{last}\r\n".encode())
            return read_answers(_read_all(client))


def _read_all(client: socket.socket) -> bytes:
    out = b""
    while data := client.recv(65536):
        out += data
    return out


async def thread(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    return await deferToThread(work, *arguments, **named)


async def until(true: Callable[[], object]) -> None:
    """Wait for an event of a real socket."""
    await until_true(reactor, true)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return ensure(tmp_path_factory.mktemp("pki"), dialect=ORCH, server_url="https://localhost", now=NOW)


@pytest_twisted.async_yield_fixture(params=["records", "plain"])
async def server(request: pytest.FixtureRequest, files: Files) -> AsyncIterator[Running]:
    paths = Paths()
    factory = ApiServerFactory(paths, reactor, Limits(linger=0.5))
    settings = TlsSettings(
        serving=KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key)),
        client_ca_files=(str(files.ca_certificate),),
    )
    contexts = ServerContexts(settings)
    at = Binding(address="127.0.0.1", port=0)
    listener = Listener(reactor, factory, at, contexts=contexts, plain=request.param == "plain", grace=1)
    await listener.start(lambda _: None)
    yield Running(paths, factory, listener, files, contexts, settings)
    await listener.stop()


@pytest_twisted.ensureDeferred
async def test_keep_alive_and_pipelining_over_tls(server: Running) -> None:
    """Keep-alive and pipelining work over TLS."""
    answers = await thread(server.ask, "/a", "/big", "/b")
    assert [len(response.body) for response in answers] == [6, 300000, 6]


@pytest_twisted.ensureDeferred
async def test_refused_upload_is_answered(server: Running) -> None:
    """The response to a rejected large body is not lost to a reset connection."""

    def upload() -> list[Answer]:
        with server.connect() as client:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 4000000)
            return read_answers(_read_all(client))

    (response,) = await thread(upload)
    assert response.code == 413


@pytest_twisted.ensureDeferred
async def test_client_certificate_chain_is_passed_on(server: Running, tmp_path: Path) -> None:
    """The client's certificate chain is passed on unverified, leaf first; empty without a certificate."""
    stranger = self_signed("stranger", names=[], now=NOW)
    write_private(tmp_path / "crt", chain_pem(stranger.certificate))
    write_private(tmp_path / "key", private_pem(stranger.key))
    known = server.context(certificate=str(server.files.admin_certificate), key=str(server.files.admin_key))
    unknown = server.context(certificate=str(tmp_path / "crt"), key=str(tmp_path / "key"))
    for context in (None, known, unknown):
        assert (await thread(server.ask, "/a", context=context))[0].code == 200
    shown = [request.credentials.certificates for request in server.paths.requests]
    admin = ssl.PEM_cert_to_DER_cert(server.files.admin_certificate.read_text())
    assert shown[0] == ()
    assert shown[1][0] == admin
    assert shown[2] == (ssl.PEM_cert_to_DER_cert((tmp_path / "crt").read_text()),)
    assert server.paths.requests[0].credentials.remote == "127.0.0.1"


@pytest_twisted.ensureDeferred
async def test_disconnect_cancels(server: Running) -> None:
    """The end of a connection, orderly or by reset, cancels its running request or stops its stream."""
    polite = await thread(server.connect)
    rude = await thread(server.connect)
    await thread(polite.sendall, b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    await thread(rude.sendall, b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: server.paths.feeds and server.paths.waiting)
    rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    rude.close()
    polite.close()
    await until(lambda: len(server.factory) == 0)
    assert server.paths.feeds[0].stopped
    assert server.paths.cancelled


@pytest_twisted.ensureDeferred
async def test_invalid_tls_does_not_affect_others(server: Running) -> None:
    """Garbage bytes, half a handshake, plain HTTP and silence do not affect other connections."""
    address = server.listener.address
    raw = [socket.create_connection(address, timeout=PATIENCE) for _ in range(4)]
    raw[0].sendall(b"\x00" * 3000)
    raw[1].sendall(b"\x16\x03\x01\x02\x00\x01\x00")
    raw[2].sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await thread(server.ask, "/a"))[0].body == b"GET /a"
    await thread(_until_closed, raw[0])
    await thread(_until_closed, raw[2])
    for one in raw:
        one.close()
    if server.listener._tls is not None:
        # Each is a failed handshake; the successful one is not counted.
        await until(lambda: server.listener.failed_handshakes == 4)


def _until_closed(client: socket.socket) -> None:
    try:
        _read_all(client)
    except ConnectionError:
        """Reset: closed as well."""


@pytest_twisted.ensureDeferred
async def test_damaged_record_aborts_the_connection(server: Running) -> None:
    """A connection with a record that does not verify is aborted; its running request is cancelled."""
    client = await thread(server.connect)
    await thread(client.sendall, b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: server.paths.waiting)
    raw = socket.socket(fileno=client.detach())
    raw.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    await until(lambda: len(server.factory) == 0)
    assert server.paths.cancelled
    raw.close()


@pytest_twisted.ensureDeferred
async def test_stream_to_a_slow_client(server: Running) -> None:
    """Writes do not wait for a client that does not read: `buffered` grows; when it reads again it gets every byte."""
    client = await thread(server.connect)
    await thread(client.sendall, b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: server.paths.feeds)
    sink = server.paths.feeds[0].sink
    frame = bytes(range(256)) * 40
    count = 0
    while sink.buffered < 300_000:
        sink.write(frame)
        count += 1
        if count % 50 == 0:
            await deferLater(reactor, 0)
    for size in (1, 70_000, 200_000, 5):
        sink.write(b"y" * size)
    reading = deferToThread(_read_until, client, b"0\r\n\r\n")
    await sink.writable()
    assert sink.buffered == 0
    sink.finish()
    (response,) = read_answers(await reading)
    assert response.body == frame * count + b"y" * 270_006
    await thread(client.close)


@pytest_twisted.ensureDeferred
async def test_large_writes_are_divided_over_turns(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large frame to many clients is encrypted in several reactor turns, between which other connections are served;
    every client gets all of it, and what is written after it in order."""
    monkeypatch.setattr(tls_transport, "_TURN", 100_000)
    clients = [await thread(server.connect) for _ in range(5)]
    for client in clients:
        await thread(client.sendall, b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: len(server.paths.feeds) == len(clients))
    # The first large write begins a turn with the limit above.
    server.paths.feeds[0].sink.write(b"x" * 20_000)
    await deferLater(reactor, 0.01)
    encrypted: list[int] = []
    counted = SSL.Connection.sendall

    def count(self: SSL.Connection, data: Any, flags: int = 0) -> int:
        encrypted.append(len(data))
        return counted(self, data, flags)

    monkeypatch.setattr(SSL.Connection, "sendall", count)
    frame = bytes(range(250)) * 400
    for feed in server.paths.feeds:
        feed.sink.write(frame)
        feed.sink.write(b"small")
        feed.sink.finish()
    assert sum(encrypted) < 3 * len(frame)
    for client in clients:
        (response,) = read_answers(await deferToThread(_read_until, client, b"0\r\n\r\n"))
        assert response.body.removeprefix(b"x" * 20_000) == frame + b"small"
        await thread(client.close)


def _read_until(client: socket.socket, end: bytes) -> bytes:
    out = b""
    while not out.endswith(end):
        data = client.recv(65536)
        assert data, "the connection was closed"
        out += data
    return out


@pytest_twisted.ensureDeferred
async def test_requests_may_span_any_records(server: Running) -> None:
    """Requests may be divided into any TLS records and TCP packets."""

    def dribble() -> list[Answer]:
        context = server.context()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(server.listener.address, timeout=PATIENCE) as raw:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    raw.sendall(outgoing.read())
                    incoming.write(raw.recv(65536))
            for byte in b"GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nGET":
                tls.write(bytes([byte]))
            tls.write(b" /c HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            wire = outgoing.read()
            for at in range(0, len(wire), 37):
                raw.sendall(wire[at : at + 37])
            out = b""
            while True:
                try:
                    data = tls.read(65536)
                    if not data:
                        return read_answers(out)
                    out += data
                except ssl.SSLWantReadError:
                    data = raw.recv(65536)
                    if not data:
                        return read_answers(out)
                    incoming.write(data)
                except ssl.SSLZeroReturnError:
                    return read_answers(out)

    assert [response.body for response in await thread(dribble)] == [b"GET /a", b"GET /b", b"GET /c"]


@pytest_twisted.ensureDeferred
async def test_tiny_records_are_passed_on_together(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that arrive together are passed on together, so that tiny records cost the server little."""
    received: list[int] = []
    ours: set[bool] = set()
    take = HttpChannel.dataReceived

    def note(channel: HttpChannel, data: bytes) -> None:
        received.append(len(data))
        ours.add(isinstance(channel.transport, TlsTransport))
        take(channel, data)

    monkeypatch.setattr(HttpChannel, "dataReceived", note)
    request = b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nx: " + b"y" * 1500 + b"\r\n\r\n"

    def send() -> list[Answer]:
        context = server.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(server.listener.address, timeout=PATIENCE) as raw:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    raw.sendall(outgoing.read())
                    incoming.write(raw.recv(65536))
            for byte in request:
                tls.write(bytes([byte]))
            raw.sendall(outgoing.read())
            out = b""
            while not out.endswith(b"GET /a"):
                try:
                    out += tls.read(65536)
                except ssl.SSLWantReadError:
                    data = raw.recv(65536)
                    assert data, "the connection was closed"
                    incoming.write(data)
            return read_answers(out)

    (response,) = await thread(send)
    assert response.body == b"GET /a"
    assert sum(received) == len(request)
    # Twisted's own TLS layer passes records on one by one.
    assert ours == {False} or len(received) < 100


@pytest_twisted.ensureDeferred
async def test_stop_ends_connections_and_frees_the_port(server: Running) -> None:
    """Stopping closes idle connections, unfinished handshakes and streams, and frees the port."""
    idle = await thread(server.connect)
    hanging = socket.create_connection(server.listener.address, timeout=PATIENCE)
    streaming = await thread(server.connect)
    await thread(streaming.sendall, b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: server.paths.feeds)
    address = server.listener.address
    await server.listener.stop()
    assert await thread(idle.recv, 1) == b""
    assert (await thread(_read_all, streaming)).endswith(b"0\r\n\r\n")
    if server.listener._tls is not None:
        await thread(_until_closed, hanging)
    assert server.listener.failed_handshakes == 0, "handshakes that the server ends have not failed"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=PATIENCE)
    for one in (idle, hanging, streaming):
        one.close()


@pytest_twisted.ensureDeferred
async def test_replaced_certificate_is_used(server: Running, tmp_path: Path) -> None:
    """New connections get a replaced certificate; a key that does not match is ignored."""
    old = (tmp_path / "crt", tmp_path / "key")
    for path, source in zip(old, (server.files.serving_certificate, server.files.serving_key), strict=True):
        path.write_bytes(source.read_bytes())
    contexts = ServerContexts(replace(server.settings, serving=KeyPairFiles(certificate=str(old[0]), key=str(old[1]))))
    assert not contexts.reload()
    (authority,) = load_chain(server.files.ca_certificate.read_bytes())
    signer = Signed(certificate=authority, key=load_private(server.files.ca_key.read_bytes()))
    fresh = issue_pair(signer, subject("x"), usages=[SERVER], names=["localhost"], now=NOW)
    write_private(old[0], chain_pem(fresh.certificate))
    assert not contexts.reload()
    write_private(old[1], private_pem(fresh.key))
    assert contexts.reload()


@pytest_twisted.ensureDeferred
async def test_certificate_is_chosen_by_server_name(files: Files, tmp_path: Path) -> None:
    """The pair with the requested server name is used; a wildcard matches one label."""
    (authority,) = load_chain(files.ca_certificate.read_bytes())
    signer = Signed(certificate=authority, key=load_private(files.ca_key.read_bytes()))
    pairs = []
    for number, names in enumerate((["one.example"], ["*.two.example"])):
        pair = issue_pair(signer, subject(f"p{number}"), usages=[SERVER], names=names, now=NOW, lifetime=timedelta(1))
        write_private(tmp_path / f"{number}.crt", chain_pem(pair.certificate))
        write_private(tmp_path / f"{number}.key", private_pem(pair.key))
        pairs.append(KeyPairFiles(certificate=str(tmp_path / f"{number}.crt"), key=str(tmp_path / f"{number}.key")))
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    settings = TlsSettings(serving=serving, by_name=tuple(pairs))
    factory = ApiServerFactory(Paths(), reactor)
    listener = Listener(reactor, factory, Binding(address="127.0.0.1", port=0), contexts=ServerContexts(settings))
    await listener.start(lambda _: None)

    def common_name(name: str) -> str:
        context = ssl.create_default_context(cafile=str(files.ca_certificate))
        with (
            socket.create_connection(listener.address, timeout=PATIENCE) as raw,
            context.wrap_socket(raw, server_hostname=name) as client,
        ):
            certificate: Any = client.getpeercert()
            return str(dict(part[0] for part in certificate["subject"])["commonName"])

    assert [await thread(common_name, name) for name in ("one.example", "a.two.example", "localhost")] == [
        "p0", "p1", ORCH("{short}-apiserver"),
    ]  # fmt: skip
    await listener.stop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_version": "VersionTLS9"}, "unknown TLS version"),
        ({"cipher_suites": ("TLS_NOTHING",)}, "unknown cipher suite"),
        ({"cipher_suites": ("TLS_RSA_WITH_RC4_128_SHA",)}, "cipher suites TLS_RSA_WITH_RC4_128_SHA: "),
        (
            {"cipher_suites": ("TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA")},
            "cipher suites TLS_RSA_WITH_RC4_128_SHA: ",
        ),
    ],
)
def test_invalid_tls_settings_are_refused(files: Files, change: dict[str, Any], message: str) -> None:
    """The error for an unknown version or suite lists the known ones."""
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    with pytest.raises(ValueError, match=message):
        ServerContexts(TlsSettings(serving=serving, **change))


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_error_of_certificate_files_names_the_flag(tmp_path: Path, content: bytes | None) -> None:
    """A file that is missing or has no certificate is an error that names file and flag."""
    name = tmp_path / "x.pem"
    if content is not None:
        name.write_bytes(content)
    serving = KeyPairFiles(certificate=str(name), key=str(name), flags="--tls-cert-file")
    with pytest.raises(ValueError, match=r"^--tls-cert-file: .*x\.pem"):
        ServerContexts(TlsSettings(serving=serving))


def test_suites_that_the_library_lacks_are_named(files: Files) -> None:
    """A suite that the TLS library does not have is named in a warning, and the others are offered."""
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    suites = ("TLS_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")
    with capturedLogs() as events:
        contexts = ServerContexts(TlsSettings(serving=serving, cipher_suites=suites))
    assert [event["missing"] for event in events if "missing" in event] == ["TLS_RSA_WITH_RC4_128_SHA"]
    offered = contexts.serverConnectionForTLS(None).get_cipher_list()
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in offered and "RC4-SHA" not in offered


@pytest.mark.parametrize(
    ("least", "version", "accepted"),
    [
        ("VersionTLS10", SSL.TLS1_VERSION, True),
        ("VersionTLS10", SSL.TLS1_1_VERSION, True),
        ("VersionTLS11", SSL.TLS1_1_VERSION, True),
        ("VersionTLS11", SSL.TLS1_VERSION, False),
        ("VersionTLS12", SSL.TLS1_1_VERSION, False),
        ("VersionTLS12", SSL.TLS1_2_VERSION, True),
        ("VersionTLS13", SSL.TLS1_2_VERSION, False),
    ],
)
@pytest.mark.parametrize(
    "suites", [(), ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")]
)
def test_minimum_version(files: Files, suites: tuple[str, ...], least: str, version: int, accepted: bool) -> None:
    """Clients of the minimum version and later ones are served, those of earlier versions are not."""
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    settings = TlsSettings(serving=serving, min_version=least, cipher_suites=suites)
    server = ServerContexts(settings).serverConnectionForTLS(None)
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(version)
    context.set_max_proto_version(version)
    context.set_cipher_list(b"ALL:@SECLEVEL=0")
    client = SSL.Connection(context, None)
    client.set_connect_state()
    if not accepted:
        with pytest.raises(SSL.Error):
            shake_hands(client, server)
        return
    shake_hands(client, server)
    assert client.get_protocol_version() == server.get_protocol_version() == version


def shake_hands(client: SSL.Connection, server: SSL.Connection) -> None:
    """A handshake over memory. Raises SSL.Error if it fails."""
    pairs = ((client, server), (server, client))
    for one, other in pairs * 4:
        with suppress(SSL.WantReadError):
            one.do_handshake()
        with suppress(SSL.WantReadError):
            other.bio_write(one.bio_read(1 << 16))


@pytest_twisted.ensureDeferred
async def test_tls_versions_and_suites_are_limited(files: Files) -> None:
    """Versions and suites that are not configured are rejected in the handshake."""
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    contexts = ServerContexts(TlsSettings(serving=serving, cipher_suites=(suite,)))
    factory = ApiServerFactory(Paths(), reactor)
    listener = Listener(reactor, factory, Binding(address="127.0.0.1", port=0), contexts=contexts)
    await listener.start(lambda _: None)

    def cipher(version: ssl.TLSVersion, ciphers: str = "") -> Any:
        context = ssl.create_default_context(cafile=str(files.ca_certificate))
        context.minimum_version = context.maximum_version = version
        if ciphers:
            context.set_ciphers(ciphers)
        with (
            socket.create_connection(listener.address, timeout=PATIENCE) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as client,
        ):
            cipher: Any = client.cipher()
            return cipher[0]

    assert await thread(cipher, ssl.TLSVersion.TLSv1_2) == "ECDHE-ECDSA-AES256-GCM-SHA384"
    assert (await thread(cipher, ssl.TLSVersion.TLSv1_3)).startswith("TLS_")
    with pytest.raises(ssl.SSLError):
        await thread(cipher, ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await thread(cipher, ssl.TLSVersion.TLSv1_1)
    await listener.stop()


@pytest_twisted.ensureDeferred
async def test_port_can_be_shared() -> None:
    """Two listeners may share a port if both ask for it; otherwise the second fails at start."""
    first = Listener(
        reactor,
        ApiServerFactory(Paths(), reactor),
        Binding(address="127.0.0.1", port=0, share_port=True),
        contexts=None,
    )
    await first.start(lambda _: None)
    port = first.address[1]
    shared = Listener(
        reactor,
        ApiServerFactory(Paths(), reactor),
        Binding(address="127.0.0.1", port=port, share_port=True),
        contexts=None,
    )
    await shared.start(lambda _: None)
    greedy = Listener(
        reactor, ApiServerFactory(Paths(), reactor), Binding(address="127.0.0.1", port=port), contexts=None
    )
    with pytest.raises(OSError, match="in use"):
        await greedy.start(lambda _: None)
    await shared.stop()
    await first.stop()
