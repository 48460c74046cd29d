"""External faults: garbage bytes, clients that vanish, stall or crowd, and killed processes."""

from __future__ import annotations

import http.client
import json
import os
import resource
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sized
from functools import partial
from pathlib import Path

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, NotReady, exchange
from orchd.testing.processes.ports import free_port
from tests.processes import resident_memory
from tests.waiting import until
from tests.wire.wire_cli import complaints, config_map

DIALECT_NAMES = [ORCH.name]

IDLE = 1000
WATCHES = 2000
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module", autouse=True)
def files() -> Iterator[None]:
    """Raise the limit of descriptors, here and in the server, which inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = max(IDLE, WATCHES) + 500
    if hard != resource.RLIM_INFINITY and hard < descriptors:
        pytest.skip(f"only {hard} open files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, descriptors), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(autouse=True)
def no_complaints(request: pytest.FixtureRequest) -> Iterator[None]:
    """No fault makes the server that the tests share log an error."""
    if "server" not in request.fixturenames:
        yield
        return
    server: DaemonProcess = request.getfixturevalue("server")
    before = len(server.log)
    yield
    assert complaints(server.log[before:]) == []


def raw(server: DaemonProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def secured(server: DaemonProcess, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(raw(server), server_hostname="127.0.0.1")


def in_use(server: DaemonProcess) -> int:
    """Open descriptors of the server."""
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def works(server: DaemonProcess) -> bool:
    return server.request("GET", "/readyz") == (200, "ok")


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"\x00" * 1000,
        b"\xff\xfe\xfd" * 5000,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + b"\x01" * 100,
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"SSH-2.0-x\r\n",
    ],
)
def test_invalid_tls_ends_its_own_connection(server: DaemonProcess, rubbish: bytes) -> None:
    """Bytes that are not a handshake close their own connection and affect no other."""
    with raw(server) as client:
        client.sendall(rubbish)
        if rubbish:
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
    assert works(server)


@pytest.mark.parametrize(
    ("rubbish", "response"),
    [
        (b"\x00\x01\x02\x03\r\n\r\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"505 400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nNo colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 2_000_000 + b"\r\n\r\n", b"431 400"),
        (b"GET /" + b"x" * 2_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414 431 400"),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: nonsense\r\n\r\n", b"400"),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"500"),
        (
            b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"400",
        ),
        (b"GET /api/%zz%00%ff HTTP/1.1\r\nHost: x\r\n\r\n", b"404 400 403"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"404 400 403 301"),
    ],
)
def test_invalid_http_is_4xx(server: DaemonProcess, rubbish: bytes, response: bytes) -> None:
    """Bytes that are not a request get a 4xx, an invalid chunk length the reference's 500, or the connection is closed;
    others continue."""
    with secured(server, server.context()) as client:
        heard = b""
        try:
            client.sendall(rubbish)
            heard = client.recv(65536)
        except (ssl.SSLError, ConnectionError):
            pass  # closed while we were still sending
        if heard:
            assert heard.split()[1] in response.split(), heard
    assert works(server)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"x"',
        b"\xff\xff",
        b"{" * 100_000,
        b"[" * 200_000,
        b'{"metadata":[]}',
        b'{"metadata":{"name":7}}',
        b'{"metadata":{"labels":[]}}',
        b'{"apiVersion":7}',
        b'{"kind":{}}',
        b'{"metadata":{"name":"x"},"data":{"a":' + b'{"b":' * 5000,
        b'{"metadata":{"name":"\\ud800"}}',
        b"1e999999",
        b'{"metadata":{"name":"x"},"data":"y"}',
        b"\x00" * 100,
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/yaml", ORCH.protobuf, KUBERNETES.protobuf])
def test_invalid_bodies_are_client_errors(server: DaemonProcess, body: bytes, kind: str) -> None:
    """A body that is not an object is a client error in every format."""
    if kind.endswith("protobuf"):
        body = b"k8s\x00" + body
    code, response = server.request("POST", MAPS, body, content_type=kind)
    assert 400 <= code < 500, response
    assert response["kind"] == "Status" and response["code"] == code


#: Patches of the table below that change nothing or add nothing that is kept, and the one whose directive is unknown.
PATCH_CODES = {
    ("json-patch+json", b"[]"): 200,
    ("json-patch+json", b"null"): 200,
    ("merge-patch+json", b'{"$patch":"what"}'): 200,
    ("merge-patch+json", b'{"$retainKeys":7}'): 200,
    ("strategic-merge-patch+json", b"null"): 200,
    ("strategic-merge-patch+json", b'{"$patch":"what"}'): 500,
}


@pytest.mark.parametrize(
    "kind", ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"\xff",
        b"[" * 100_000,
        b'[{"op":"copy","from":"/metadata","path":"/metadata/labels/x"}]',
        b'[{"op":7}]',
        b'{"metadata":7}',
        b'{"metadata":{"labels":7}}',
        b'{"data":[1]}',
        b'{"$patch":"what"}',
        b'{"$retainKeys":7}',
    ],
)
def test_invalid_patches_are_client_errors(server: DaemonProcess, body: bytes, kind: str) -> None:
    """Invalid patches are client errors, except those that the reference accepts or answers with a 500."""
    server.request("POST", MAPS, config_map("target"))
    code, response = server.request("PATCH", f"{MAPS}/target?fieldManager=x", body, content_type=f"application/{kind}")
    expected = PATCH_CODES.get((kind, body))
    assert code == expected if expected else 400 <= code < 500, response
    assert code == 200 or (response["kind"], response["code"]) == ("Status", code)


def test_vanishing_clients_leave_nothing_behind(server: DaemonProcess) -> None:
    """Clients that vanish during a handshake, a head, a body or a response leave no resources in use."""
    server.request("POST", MAPS, config_map("large", a="x" * 500_000))
    before = in_use(server)
    context = server.context()
    open_ones: list[socket.socket] = []
    for _ in range(20):
        half = raw(server)
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        open_ones.append(half)
        for text in (
            b"GET /api/v1/name",
            b"POST " + MAPS.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
            b"GET " + MAPS.encode() + b"?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET " + MAPS.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n" * 10,
        ):
            client = secured(server, context)
            client.sendall(text)
            open_ones.append(client)
    assert works(server)
    for number, each in enumerate(open_ones):
        if number % 2:  # as when a machine loses power: no goodbye, and a reset for whatever comes
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        if isinstance(each, ssl.SSLSocket):
            each = socket.socket(fileno=each.detach())
        each.close()
    until(lambda: in_use(server) <= before + 2, "connections stay behind")
    assert works(server)


def test_idle_connections_are_cheap(server: DaemonProcess) -> None:
    """A thousand idle connections use little memory and do not delay requests."""
    before, context = resident_memory(server.pid), server.context()
    crowd = [secured(server, context) for _ in range(IDLE)]
    try:
        grown = (resident_memory(server.pid) - before) / 2**20
        assert grown < 150, f"{grown:.0f} MiB for {IDLE} connections"
        # The newest: the oldest ones may have reached the idle timeout.
        crowd[-1].sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        assert crowd[-1].recv(65536).startswith(b"HTTP/1.1 200")
        for _ in range(20):
            assert works(server)
    finally:
        for each in crowd:
            each.close()


def test_many_watches_get_every_event(server: DaemonProcess) -> None:
    """Two thousand watches each get every event, in order, within bounded memory."""
    before, context = resident_memory(server.pid), server.context()
    start = server.request("GET", f"{MAPS}?limit=1")[1]["metadata"]["resourceVersion"]
    ask = f"GET {MAPS}?watch=1&resourceVersion={start}&labelSelector=crowd HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    crowd: list[ssl.SSLSocket] = []
    chosen = selectors.DefaultSelector()
    heard: list[bytearray] = []
    for number in range(WATCHES):
        each = secured(server, context)
        # At once: a connection without a request is closed after some time.
        each.sendall(ask)
        each.setblocking(False)
        crowd.append(each)
        heard.append(bytearray())
        chosen.register(each, selectors.EVENT_READ, number)

    def take(enough: Callable[[bytearray], bool]) -> None:
        waiting = {number for number, data in enumerate(heard) if not enough(data)}
        while waiting:
            ready = chosen.select(PATIENCE)
            assert ready, f"{len(waiting)} watches hear nothing: {bytes(heard[min(waiting)])[-300:]!r}"
            for key, _ in ready:
                data = b"-"
                try:
                    while data := crowd[key.data].recv(65536):
                        heard[key.data] += data
                except ssl.SSLWantReadError:
                    pass
                assert data, f"a watch has ended: {bytes(heard[key.data])[-300:]!r}"
                if enough(heard[key.data]):
                    waiting.discard(key.data)

    try:
        take(lambda data: b"\r\n\r\n" in data)
        names = [f"crowd-{i}" for i in range(5)]
        for name in names:
            assert server.request("POST", MAPS, config_map(name, {"crowd": "yes"}))[0] == 201
        take(lambda data: data.count(b'"type":"ADDED"') >= len(names))
        for data in heard:
            created_names = [
                json.loads(line)["object"]["metadata"]["name"]
                for line in data.split(b"\n")
                if line.startswith(b'{"type"')
            ]
            assert created_names == names
        grown = (resident_memory(server.pid) - before) / 2**20
        assert grown < 300, f"{grown:.0f} MiB for {WATCHES} watches"
    finally:
        for each in crowd:
            each.close()
    until(lambda: in_use(server) < 200, "watches stay behind")
    assert works(server)


def test_slow_watch_is_ended(server: DaemonProcess) -> None:
    """A watch whose client does not read is ended before it fills memory; a watch that is read gets everything."""
    context, before = server.context(), resident_memory(server.pid)
    ask = f"GET {MAPS}?watch=1&labelSelector=flood HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    slow = secured(server, context)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(ask)
    slow.recv(100)
    connection = server.connect()
    size, count = 500_000, 120
    for i in range(count):
        code, response = exchange(
            connection,
            "PUT" if i else "POST",
            f"{MAPS}/flood" if i else MAPS,
            config_map("flood", {"flood": "yes"}, a=f"{i:06}" + "x" * size),
        )
        assert code in (200, 201), response
    connection.close()
    # Written data stays in the cache's window once; the client that stalls adds little.
    grown = (resident_memory(server.pid) - before) / 2**20
    assert grown < 3 * size * count / 1e6, f"{grown:.0f} MiB"
    received = 0
    slow.settimeout(PATIENCE)
    try:
        while data := slow.recv(1 << 20):
            received += len(data)
    except (ConnectionError, ssl.SSLError, TimeoutError) as error:
        assert not isinstance(error, TimeoutError), "the watch goes on"
    assert received < size * count
    slow.close()
    assert works(server)


# -- processes that end


def _more_than(done: Sized, count: int) -> bool:
    return len(done) > count


def _writer(
    server: DaemonProcess, number: int, done: list[tuple[str, int]], tried: list[str], stop: threading.Event
) -> None:
    connection = server.connect()
    i = 0
    try:
        while not stop.is_set():
            name = f"w{number}-{i}"
            tried.append(name)
            code, response = exchange(connection, "POST", MAPS, config_map(name, a=str(i)))
            assert code == 201, response
            done.append((name, int(response["metadata"]["resourceVersion"])))
            i += 1
    except (OSError, http.client.HTTPException):
        pass  # killed


def test_kill_loses_no_acknowledged_write(tmp_path: Path) -> None:
    """kill -9 during writes loses no acknowledged write; revisions continue, and keys are unchanged."""
    done: list[tuple[str, int]] = []
    tried: list[str] = []
    port = free_port()
    certificate = ""
    for _ in range(3):
        server = DaemonProcess(tmp_path, dialect=ORCH, port=port).start()
        config = server.config_file.read_text()
        assert certificate in ("", config)
        certificate = config
        highest = max((revision for _, revision in done), default=0)
        assert int(server.request("GET", MAPS)[1]["metadata"]["resourceVersion"]) >= highest
        before, stop = len(done), threading.Event()
        round_ = len(tried)
        writers = [
            threading.Thread(target=_writer, args=(server, 10 * round_ + n, done, tried, stop)) for n in range(4)
        ]
        for each in writers:
            each.start()
        until(partial(_more_than, done, before + 100), "no progress")
        server.kill()
        stop.set()
        for each in writers:
            each.join(PATIENCE)
    with DaemonProcess(tmp_path, dialect=ORCH, port=port) as server:
        revisions = {
            i["metadata"]["name"]: int(i["metadata"]["resourceVersion"])
            for i in server.request("GET", MAPS)[1]["items"]
        }
        missing = [(name, revision) for name, revision in done if revisions.get(name) != revision]
        assert missing == []
        assert set(revisions) <= {*tried, f"{ORCH.short}-root-ca.crt"}
        code, response = server.request("POST", MAPS, config_map("after"))
        assert code == 201 and int(response["metadata"]["resourceVersion"]) > max(revisions.values())
    assert complaints(server.log) == []


def test_sigterm_ends_watches_and_exits_with_0(tmp_path: Path) -> None:
    """SIGTERM ends the process with status 0 while watches are open, which end orderly; a restart reuses everything."""
    server = DaemonProcess(tmp_path, dialect=KUBERNETES, fresh=True).start()
    context = server.context()
    watching = []
    for _ in range(50):
        each = secured(server, context)
        each.sendall(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        watching.append(each)
    idle = [secured(server, context) for _ in range(20)]
    for each in watching:
        assert each.recv(65536).startswith(b"HTTP/1.1 200")
    assert server.terminate() == 0
    # No connection reached the limit for stopping.
    assert "after the grace period" not in server.log
    for each in watching:
        data = b""
        while more := each.recv(65536):
            data += more
        assert data.endswith(b"0\r\n\r\n")
    for each in (*watching, *idle):
        each.close()
    assert complaints(server.log) == []
    files = {p: p.read_bytes() for p in [server.config_file, *(server.data / "pki").iterdir()] if p.is_file()}
    with DaemonProcess(tmp_path, dialect=KUBERNETES, port=server.port) as again:
        assert {p: p.read_bytes() for p in files} == files
        assert works(again)
    assert again.status == 0
    assert (server.data.stat().st_mode & 0o777) == 0o700
    for path in files:
        if path.suffix == ".key" or path == server.config_file:
            assert path.stat().st_mode & 0o077 == 0, path


def test_signal_during_start_ends_the_process(tmp_path: Path) -> None:
    """A signal at any moment of the start ends the process, and the next start succeeds."""
    for delay in (0.2, 0.4, 0.6, 0.8):
        server = DaemonProcess(tmp_path, dialect=ORCH, fresh=True)
        server.launch()
        time.sleep(delay)
        server.terminate()
    with DaemonProcess(tmp_path, dialect=ORCH) as server:
        assert works(server)
    assert complaints(server.log) == []


def _refused(server: DaemonProcess) -> str:
    with pytest.raises(NotReady):
        server.start()
    assert server.status == 1
    assert "Unhandled" not in server.log
    return server.log


def test_port_in_use_is_named(tmp_path: Path) -> None:
    """A port in use is named in the error, and the exit status is 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        log = _refused(DaemonProcess(tmp_path, dialect=ORCH, port=port))
        assert str(port) in log and "in use" in log


def test_data_folder_in_use_is_refused(tmp_path: Path) -> None:
    """A second server on a data folder fails to start."""
    with DaemonProcess(tmp_path / "one", dialect=ORCH) as server:
        other = DaemonProcess(tmp_path / "two", f"--data-dir={server.data}", dialect=ORCH)
        other.launch()
        assert other.wait() == 1
        assert "Unhandled" not in other.log and "Traceback" not in other.log
        assert works(server)


def test_store_of_the_other_dialect_is_refused(tmp_path: Path) -> None:
    """A store of one dialect is not opened in the other."""
    with DaemonProcess(tmp_path, dialect=ORCH):
        pass
    other = DaemonProcess(tmp_path, dialect=KUBERNETES)
    other.launch()
    assert other.wait() == 1
    assert ORCH.name in other.log and KUBERNETES.name in other.log


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--no-such-flag=1", "no-such-flag"),
        ("--bind-adress=127.0.0.1", "bind-address"),
        ("--secure-port=many", "many"),
        ("--authorization-mode=RBCA", "RBAC"),
        ("--token-auth-file=/nowhere/tokens", "/nowhere/tokens"),
        ("--client-ca-file=/nowhere/ca", "/nowhere/ca"),
        ("--enable-admission-plugins=Nothing", "Nothing"),
        ("--service-cluster-ip-range=nonsense", "nonsense"),
        ("--flagfile=/nowhere/flags", "/nowhere/flags"),
    ],
)
def test_invalid_flags_are_refused(tmp_path: Path, flag: str, message: str) -> None:
    """An unknown flag or invalid value fails the start with a message that names it, and no traceback."""
    server = DaemonProcess(tmp_path, flag, dialect=ORCH)
    server.launch()
    assert server.wait() == 1
    assert message in server.log
    assert "Traceback" not in server.log
