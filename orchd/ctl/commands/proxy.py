"""``proxy``: a local HTTP port whose requests are forwarded to the server with the credentials of the current context.

Every client of the port acts as this user. Therefore the Host of a request must be an accepted one, against DNS
rebinding, and requests of web pages of other origins are rejected, against CSRF.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import click
import orjson
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss, Request
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from orchd.client.body_stream import abort
from orchd.client.interfaces import IForwardingClient
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.txkit.background import Background

_HOSTS: Final = r"^localhost$,^127\.0\.0\.1$,^\[::1\]$"
_REJECTED: Final = "^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach"
#: Headers that belong to one connection, and those that would replace the user's credentials.
_DROPPED: Final = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade content-length host authorization cookie origin "
    b"referer".split()
)
_MOST_BODY: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Decides which requests are forwarded, by patterns of hosts, paths and methods."""

    hosts: tuple[re.Pattern[str], ...]
    accepted: tuple[re.Pattern[str], ...]
    rejected: tuple[re.Pattern[str], ...]
    methods: tuple[re.Pattern[str], ...]

    def refusal(self, method: str, path: str, host: str, origin: str, site: str) -> str:
        """The reason to reject a request, "" to forward it. `site` is its Sec-Fetch-Site header."""
        name = host.rpartition(":")[0] if re.search(r":[0-9]+\Z", host) else host
        if not any(each.search(name) for each in self.hosts):
            return f"host {name!r} is not accepted: see --accept-hosts"
        if site in ("cross-site", "same-site") or (origin and urlsplit(origin).netloc != host):
            return "requests of pages of other origins are not accepted"
        if any(each.search(path) for each in self.rejected) or not any(each.search(path) for each in self.accepted):
            return f"path {path} is not accepted: see --accept-paths and --reject-paths"
        if any(each.search(method) for each in self.methods):
            return f"method {method} is not accepted: see --reject-methods"
        return ""


def _patterns(text: str, flag: str) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(part) for part in text.split(",") if part)
    except re.error as error:
        raise CommandError(f"{flag}={text}: not a regular expression: {error}") from None


@click.command(cls=Command)
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="Local port; 0 is a free one."
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Local address.")
@click.option("-u", "--unix-socket", default="", metavar="PATH", help="Listen on this Unix socket instead of a port.")
@click.option("--api-prefix", default="/", show_default=True, help="Path under which the API is served.")
@click.option("-w", "--www", default="", metavar="DIR", help="Also serve the files of this folder.")
@click.option("-P", "--www-prefix", default="/static/", show_default=True, help="Path of that folder.")
@click.option("--accept-hosts", default=_HOSTS, show_default=True, metavar="REGEX,...", help="Accepted Host headers.")
@click.option("--accept-paths", default="^.*", show_default=True, metavar="REGEX,...", help="Accepted paths.")
@click.option("--reject-paths", default=_REJECTED, show_default=True, metavar="REGEX,...", help="Rejected paths.")
@click.option("--reject-methods", default="^$", show_default=True, metavar="REGEX,...", help="Rejected methods.")
@click.option("--keepalive", hidden=True, expose_value=False, help="Without effect: the reactor keeps connections.")
@click.option("--disable-filter", "unfiltered", is_flag=True, help="Accept requests of every host and path: dangerous.")
@click.option("--append-server-path", is_flag=True, hidden=True, expose_value=False, help="Always on.")
@pass_session
def proxy(
    session: Session,
    port: int,
    address: str,
    unix_socket: str,
    api_prefix: str,
    www: str,
    www_prefix: str,
    accept_hosts: str,
    accept_paths: str,
    reject_paths: str,
    reject_methods: str,
    unfiltered: bool,
) -> None:
    """Serve the API on a local port without TLS, with the credentials of the current context, until interrupted. Every
    client of the port acts as this user. Upgraded connections (exec, attach, port-forward) are not supported."""
    if unfiltered:
        output.note(
            "Warning: the filter of requests is off: this port acts for every page that a browser of this machine opens"
        )
        accept_hosts, accept_paths, reject_paths, reject_methods = ".*", ".*", "^$", "^$"
    chosen = Filter(
        hosts=_patterns(accept_hosts, "--accept-hosts"), accepted=_patterns(accept_paths, "--accept-paths"),
        rejected=_patterns(reject_paths, "--reject-paths"), methods=_patterns(reject_methods, "--reject-methods"),
    )  # fmt: skip
    if www and not os.path.isdir(www):
        raise CommandError(f"--www={www}: no such folder")
    folder = ("/" + www_prefix.strip("/") + "/").replace("//", "/") if www else ""

    async def work(api: Api) -> None:
        if not IForwardingClient.providedBy(api.client):
            raise CommandError("this client cannot forward requests")
        background = Background()
        site = Site(
            ProxyResource(api, chosen, background, prefix="/" + api_prefix.strip("/"), www=www, www_prefix=folder)
        )
        site.noisy = False
        listening = _listen(api.clock, site, port, address, unix_socket)
        try:
            # Until interrupted.
            await Deferred(lambda _: None)
        finally:
            await listening.stopListening()
            await background.stop()

    session.run(work)


def _listen(reactor: Any, site: Site, port: int, address: str, unix_socket: str) -> Any:
    try:
        if unix_socket:
            if os.path.exists(unix_socket) and stat.S_ISSOCK(os.stat(unix_socket).st_mode):
                os.unlink(unix_socket)
            listening = reactor.listenUNIX(unix_socket, site, mode=0o600)
            output.line(f"Starting to serve on {unix_socket}")
        else:
            listening = reactor.listenTCP(port, site, interface=address)
            host = f"[{address}]" if ":" in address else address
            output.line(f"Starting to serve on {host}:{listening.getHost().port}")
    except (CannotListenError, OSError) as error:
        cause = getattr(error, "socketError", error)
        where = unix_socket or f"{address} port {port}"
        raise CommandError(
            f"cannot listen on {where}: {getattr(cause, 'strerror', None) or cause}: choose another --port"
        ) from None
    return listening


class ProxyResource(Resource):
    """Responds to every request with a file of the folder, or with the server's response."""

    isLeaf = True

    def __init__(
        self, api: Api, chosen: Filter, background: Background, *, prefix: str, www: str, www_prefix: str
    ) -> None:
        Resource.__init__(self)
        self._api, self._filter, self._background = api, chosen, background
        self._prefix = prefix.rstrip("/")
        self._files: Any = None
        if www:
            # Slow to import, and rarely needed.
            from twisted.web.static import File

            self._files = File(www)
        self._www_prefix = www_prefix

    def render(self, request: Request) -> Any:
        target = request.uri.decode("ascii", "replace")
        path, mark, query = target.partition("?")
        rest = path.removeprefix(self._prefix)
        header = request.getHeader
        why = self._filter.refusal(
            request.method.decode("ascii", "replace"),
            unquote(rest),
            header("host") or "",
            header("origin") or "",
            header("sec-fetch-site") or "",
        )
        if why:
            return _refuse(request, 403, why)
        plain = unquote(path)
        if self._files is not None and plain.startswith(self._www_prefix):
            return _render_file(self._files, request, plain.removeprefix(self._www_prefix))
        if not path.startswith(f"{self._prefix}/"):
            return _refuse(request, 404, f"paths begin with {self._prefix}/")
        if request.getHeader("upgrade"):
            return _refuse(
                request, 501, "upgraded connections do not go through this proxy: use exec, attach or port-forward"
            )
        body = request.content.read(_MOST_BODY + 1) if request.content is not None else b""
        if len(body) > _MOST_BODY:
            return _refuse(request, 413, f"the body has more than {_MOST_BODY} bytes")
        self._background.add(self._forward(request, rest + mark + query, body), "request")
        return NOT_DONE_YET

    async def _forward(self, request: Request, target: str, body: bytes) -> None:
        gone: list[Any] = []
        request.notifyFinish().addErrback(gone.append)
        headers = Headers()
        for name, values in request.requestHeaders.getAllRawHeaders():
            if name.lower() not in _DROPPED and not name.lower().startswith((b"impersonate-", b"sec-")):
                headers.setRawHeaders(name, values)
        client: Any = self._api.client
        try:
            response = await client.forward(request.method.decode("ascii"), target, headers, body)
        except CancelledError:
            raise
        except ApiError as error:
            if not gone:
                request.write(_refuse(request, 502, error.message))
                request.finish()
            return
        request.setResponseCode(response.code)
        for name, values in response.headers.getAllRawHeaders():
            if name.lower() not in _DROPPED:
                request.responseHeaders.setRawHeaders(name, values)
        response.deliverBody(_Relay(None if gone else request))


def _refuse(request: Request, code: int, message: str) -> bytes:
    request.setResponseCode(code)
    request.setHeader("Content-Type", "application/json")
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": code,
    }
    return orjson.dumps(status)


def _render_file(files: Any, request: Request, rest: str) -> Any:
    file = files
    for name in filter(None, rest.split("/")):
        if not hasattr(file, "isdir"):
            break
        file = file.getChild(name, request)
    if hasattr(file, "isdir") and file.isdir():
        file = file.getChild("index.html", request)
    return file.render(request)


class _Relay(Protocol):
    """Passes a response body on to `request` as fast as its client reads; without a request, aborts the connection."""

    transport: Any

    def __init__(self, request: Request | None) -> None:
        self._request = request

    def connectionMade(self) -> None:
        if self._request is None:
            abort(self)
            return
        self._request.notifyFinish().addErrback(self._left)
        self._request.registerProducer(self.transport, True)

    def _left(self, _: Failure) -> None:
        self._request = None
        abort(self)

    def dataReceived(self, data: bytes) -> None:
        if self._request is not None:
            self._request.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._request is None:
            return
        self._request.unregisterProducer()
        if reason.check(ResponseDone, PotentialDataLoss):
            self._request.finish()
        else:
            # A truncated response must not look complete.
            self._request.loseConnection()
