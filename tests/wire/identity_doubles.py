"""Authentication and authorization services on real TLS connections: an OpenID issuer, and webhooks for token and
access reviews. They run in a thread."""

from __future__ import annotations

import json
import ssl
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from orchd.pki.certificates import CLIENT, SERVER, Signed, chain_pem, issue_pair, new_authority, subject
from orchd.pki.keys import private_pem

NOW = datetime.now(UTC)
CLIENT_NAME = "reviewed-by"


class Pki:
    """Files of one authority in `folder`: of servers, and of several clients."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._authority = new_authority(name, now=NOW)
        self.ca = self._write(f"{name}.pem", chain_pem(self._authority.certificate))
        self.server = self.pair("server", (SERVER,), names=["127.0.0.1"])

    def pair(self, name: str, usages: Any = (CLIENT,), names: Any = (), groups: Any = ()) -> tuple[Path, Path]:
        """Certificate and key files."""
        signed: Signed = issue_pair(self._authority, subject(name, groups), usages=usages, now=NOW, names=names)
        return (
            self._write(f"{self.ca.stem}-{name}.crt", chain_pem(signed.certificate)),
            self._write(f"{self.ca.stem}-{name}.key", private_pem(signed.key)),
        )

    def _write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path


class Outside:
    """The services. `start` listens on `port`; `calls` are (path, document, common name of the caller)."""

    def __init__(self, pki: Pki, port: int) -> None:
        self.pki = pki
        self.port = port
        self.key = rsa.generate_private_key(65537, 2048)
        self.calls: list[tuple[str, Any, str]] = []
        #: Trace contexts of the calls, "" without one.
        self.traces: list[str] = []
        #: Queries of the calls.
        self.queries: list[str] = []
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.pki.server)
        context.load_verify_locations(self.pki.ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer(outside.document(self.path))

            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                shown: Any = self.connection
                names = [
                    v for part in (shown.getpeercert() or {}).get("subject", ()) for k, v in part if k == "commonName"
                ]
                outside.traces.append(self.headers.get("traceparent") or "")
                outside.queries.append(self.path.partition("?")[2])
                outside.calls.append((self.path.partition("?")[0], document, "".join(names)))
                self._answer(outside.reply(document))

            def _answer(self, document: Any) -> None:
                body = json.dumps(document).encode()
                self.send_response(200 if document else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def document(self, path: str) -> Any:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if path == "/keys":
            return {"keys": [{**RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": "one"}]}
        return None

    def reply(self, document: Any) -> Any:
        """The response to a posted document."""
        return {**document, "status": self.review(document)}

    def review(self, document: Any) -> Any:
        spec = document["spec"]
        if "token" in spec:
            name = spec["token"].removeprefix("outside-")
            return {"authenticated": name != spec["token"], "user": {"username": name, "groups": ["outsiders"]}}
        if spec["user"] == "refused":
            return {"allowed": False, "denied": True, "reason": "not you"}
        return {"allowed": spec.get("user") == "welcome"}

    def token(self, **claims: Any) -> str:
        """A token of this issuer."""
        end = int(datetime.now(UTC).timestamp()) + 600
        data = {"iss": self.url, "aud": "client", "exp": end, **claims}
        return jwt.PyJWS().encode(json.dumps(data).encode(), self.key, "RS256", {"kid": "one"})

    def configuration(self, name: str, path: str) -> Path:
        """A kubeconfig for one of the webhooks."""
        certificate, key = self.pki.pair(CLIENT_NAME)
        file = self.pki.folder / name
        file.write_text(json.dumps({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url + path, "certificate-authority": str(self.pki.ca)}}],
            "users": [{"name": "u", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }))  # fmt: skip
        return file
