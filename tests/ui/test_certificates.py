"""Client certificates in a browser: sign-in, and protection against cross-origin requests."""

from __future__ import annotations

import asyncio
import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page


class CertificateBrowser:
    """A browser with the administrator's certificate: a relay in front of the server adds the certificate to the
    browser's connections and changes nothing else."""

    def __init__(self, server: DaemonProcess) -> None:
        self._server = server
        self._context = server.context()
        self._inner = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pki = server.data / "pki"
        self._inner.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        # One thread serves all connections: two threads must not use a TLS connection at once.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._listening = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port: int = self._listening.sockets[0].getsockname()[1]

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._inner)

    async def _stop(self) -> None:
        self._listening.close()
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _serve(self, near_reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        far_reader, far = await asyncio.open_connection("127.0.0.1", self._server.port, ssl=self._context)
        await asyncio.gather(_copy(near_reader, far), _copy(far_reader, near))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until one of the connections ends, then close both."""
    try:
        with suppress(OSError):
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
    finally:
        target.close()


@pytest.fixture
def relay(server: DaemonProcess) -> Iterator[CertificateBrowser]:
    certificate_browser = CertificateBrowser(server)
    yield certificate_browser
    certificate_browser.close()


@pytest.fixture
def other_origin() -> Iterator[str]:
    """The address of an empty page of another origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    threading_httpserver = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=threading_httpserver.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{threading_httpserver.server_port}/"
    threading_httpserver.shutdown()
    threading_httpserver.server_close()


def test_a_certificate_signs_in_and_writes(page: Page, server: DaemonProcess, relay: CertificateBrowser) -> None:
    """The page offers to continue as the certificate's user; its own requests pass the origin check."""
    page.driver.get(f"https://127.0.0.1:{relay.port}/ui/")
    page.until(lambda: "admin" in page.one("#certificate").text)
    page.one("#certificate").click()
    page.go("#/new/-/configmaps?namespace=default")
    page.type_yaml(lambda text: text.replace('name: ""', "name: by-certificate"))
    page.one("#apply").click()
    page.until(lambda: page.one("h1").text.startswith("by-certificate"))
    assert server.request("GET", "/api/v1/namespaces/default/configmaps/by-certificate")[0] == 200


def test_cross_origin_request_with_a_certificate_is_refused(
    page: Page, server: DaemonProcess, relay: CertificateBrowser, other_origin: str
) -> None:
    """A cross-origin request that needs no preflight is sent with the certificate, and is refused."""
    page.driver.get(f"https://127.0.0.1:{relay.port}/ui/")
    page.until(lambda: page.all("#certificate"))
    page.driver.get(other_origin)
    sent = page.driver.execute_async_script(
        """const [url, done] = arguments, body = new Blob(['{"metadata": {"name": "forged"}}']);
        fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', body}).then((answer) => done(answer.type), (error) => done(String(error)));""",
        f"https://127.0.0.1:{relay.port}/api/v1/namespaces",
    )
    assert sent == "opaque"
    assert server.request("GET", "/api/v1/namespaces/forged")[0] == 404


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_origin_header_decides(server: DaemonProcess, headers: dict[str, str], code: int) -> None:
    """A body without a content type is parsed as JSON, so only the Origin header identifies a request from another
    page."""
    connection: http.client.HTTPSConnection = server.connect()
    connection.request("POST", "/api/v1/namespaces?dryRun=All", b'{"metadata": {"name": "any"}}', headers)
    assert connection.getresponse().status == code
    connection.close()
