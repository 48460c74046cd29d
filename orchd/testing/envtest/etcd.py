"""The `etcd` program of ``orchd-envtest-assets``: serves the health checks of test frameworks and stores nothing.

The API server beside it stores in memory; frameworks only need a process that becomes healthy.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from urllib.parse import urlsplit

#: A member of /version by which the API server's program knows that there is no store behind this.
MARK = "orchd"
_VERSION = {"etcdserver": "3.5.0", "etcdcluster": "3.5.0", MARK: "no store"}
_RESPONSES = {
    "/health": ("application/json", json.dumps({"health": "true", "reason": ""})),
    "/readyz": ("text/plain", "ok\n"),
    "/livez": ("text/plain", "ok\n"),
    "/version": ("application/json", json.dumps(_VERSION)),
}
#: Flags that mean nothing without a store, all with a value.
_UNUSED = (
    "name", "data-dir", "wal-dir", "advertise-client-urls", "listen-peer-urls", "initial-advertise-peer-urls",
    "initial-cluster",
    "initial-cluster-state", "initial-cluster-token", "quota-backend-bytes", "snapshot-count", "auto-compaction-mode",
    "auto-compaction-retention", "heartbeat-interval", "election-timeout", "log-level", "log-outputs", "logger",
    "listen-metrics-urls", "max-request-bytes", "max-txn-ops",
)  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, text = _RESPONSES.get(self.path.partition("?")[0], ("", ""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Health checks are not worth a line each."""


def parser() -> argparse.ArgumentParser:
    """The flags, in the spelling of etcd."""
    arguments = argparse.ArgumentParser(prog="etcd", description=__doc__, allow_abbrev=False)
    arguments.add_argument(
        "--listen-client-urls", default="http://127.0.0.1:2379", help="Where to serve health checks (http)."
    )
    arguments.add_argument("--unsafe-no-fsync", nargs="?", const="true", help="Means nothing: there is no store.")
    for name in _UNUSED:
        arguments.add_argument(f"--{name}", help="Means nothing: there is no store.")
    arguments.add_argument("--version", action="version", version=f"etcd Version: {_VERSION['etcdserver']}")
    return arguments


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    flags = parser().parse_args(arguments)
    urls = [urlsplit(text.strip()) for text in flags.listen_client_urls.split(",") if text.strip()]
    if len(urls) != 1 or urls[0].scheme != "http" or urls[0].port is None:
        sys.exit(
            f"etcd: --listen-client-urls: {flags.listen_client_urls!r} is not one URL of the form http://HOST:PORT"
        )
    try:
        server = ThreadingHTTPServer((urls[0].hostname or "127.0.0.1", urls[0].port), _Handler)
    except OSError as error:
        sys.exit(f"etcd: --listen-client-urls: {flags.listen_client_urls}: {error.strerror}")

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    server.serve_forever()


if __name__ == "__main__":
    main()
