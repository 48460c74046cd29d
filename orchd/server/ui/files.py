"""The files of the page: read once from the package, and served from memory.

A request names a file by its exact path in this table, so that no path can lead out of it.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from ipaddress import ip_address
from types import MappingProxyType

from orchd import errors
from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import Request, Response

#: Path of the page. Its files are below it.
ROOT = "/ui"
_INDEX = "index.html"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Nothing runs, is loaded or is connected to but what this server's own files say; no code or style inside a document.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
#: Headers of every response below /ui.
SECURITY_HEADERS = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

#: For responses about the user or of the user's texts: no cache keeps a copy.
NEVER_STORE = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """One file. `etag` is quoted, as in the header."""

    body: bytes
    content_type: str
    etag: str

    def respond(self, request: Request) -> Response:
        """The response to GET and HEAD; 304 when the client has the file. Raises ApiError 405."""
        if request.method not in ("GET", "HEAD"):
            raise protected(errors.method_not_allowed())
        headers = [*SECURITY_HEADERS, ("ETag", self.etag), ("Cache-Control", "no-cache")]
        if _has(request, self.etag):
            return Response(code=304, content_type="", headers=headers)
        return Response(content_type=self.content_type, headers=headers, body=self.body)


@cache
def page_files() -> Mapping[str, StaticFile]:
    """All files of the page by URL path; the page itself also at ``/ui/``."""
    files: dict[str, StaticFile] = {}
    for entry in sorted(resources.files("orchd.server.ui").joinpath("static").iterdir(), key=lambda each: each.name):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is None:
            continue
        body = entry.read_bytes()
        etag = urlsafe_b64encode(sha256(body).digest()[:18]).decode()
        file = StaticFile(body=body, content_type=kind, etag=f'"{etag}"')
        files[f"{ROOT}/{entry.name}"] = file
        if entry.name == _INDEX:
            files[f"{ROOT}/"] = file
    return MappingProxyType(files)


def protected(error: ApiError) -> ApiError:
    """The error, with the headers of responses below /ui."""
    error.headers.update(SECURITY_HEADERS)
    return error


def is_loopback(address: str) -> bool:
    """True for addresses of this machine alone; False for other text, such as the path of a socket."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return bool((mapped or ip).is_loopback)


def _has(request: Request, etag: str) -> bool:
    """Weak comparison of If-None-Match (RFC 9110, 13.1.2)."""
    tags = [each.strip() for value in request.headers.get("if-none-match", ()) for each in value.split(",")]
    return "*" in tags or any(each.removeprefix("W/") == etag for each in tags)
