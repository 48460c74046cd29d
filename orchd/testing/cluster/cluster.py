"""`Cluster`: a real API server for one test, as a separate process, with time and faults under the test's control.

    with Cluster() as cluster:
        status, pods = cluster.request("GET", "/api/v1/pods")
        client = kubernetes.config.new_client_from_config(cluster.config_file)

Only the standard library is imported here: a test's process does not load the server.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from orchd.dialect import DIALECTS, KUBERNETES, Dialect
from orchd.testing.cluster.channel import ClusterChannel, ClusterError
from orchd.testing.cluster.flags import command_line, controller_names, release_of
from orchd.testing.forking.client import ForkClient, fork_client

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

#: Default time limit of starts, requests and waits in seconds: enough for machines under load.
LIMIT = 60.0
#: Seconds by which one command advances time; longer times take several commands, each with its own time limit.
_MAX_STEP = 600.0
#: Limit of an object's text in errors, in characters.
_MAX_OBJECT_TEXT = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request that the server has served. `time` is the server's wall clock; `code` is 0 if the client disconnected
    before the response. `verb` and the following fields are empty where they do not apply; `user` is "" for
    unauthenticated requests."""

    time: float
    code: int
    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: str
    groups: Sequence[str]
    agent: str


def _exists(value: Any) -> bool:
    return True


def _describe(function: Callable[..., object]) -> str:
    """The source line of a lambda, the name of another function."""
    name = getattr(function, "__name__", repr(function))
    if name != "<lambda>":
        return str(name)
    try:
        return inspect.getsource(function).strip().splitlines()[0]
    except (OSError, TypeError):
        return str(name)


def _evaluate(condition: Callable[[], T]) -> T:
    """The result of `condition`. Raises TypeError for an asynchronous one, whose result would always be true."""
    value = condition()
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"wait_for: {_describe(condition)} is asynchronous; wait_for needs an ordinary function")
    return value


def _format_response(code: int, response: Any) -> str:
    """Text of a response for errors: its code, then the message of a Status, or the object without its managed
    fields."""
    if isinstance(response, dict) and response.get("kind") == "Status":
        return f"{code} {response.get('message', '')}"
    if isinstance(response, dict) and isinstance(response.get("metadata"), dict):
        plain = {name: value for name, value in response["metadata"].items() if name != "managedFields"}
        response = {**response, "metadata": plain}
    text = response if isinstance(response, str) else json.dumps(response)
    return f"{code} {text if len(text) <= _MAX_OBJECT_TEXT else text[:_MAX_OBJECT_TEXT] + '...'}"


class Cluster:
    """One API server with a store of its own; runs between `start` and `stop`, or as a context manager (sync or async).

    `dialect` is "kubernetes" for stock clients, or "orch". `release` is the release of the API, "1.35" or "1.23"; None
    is the default of the dialect. `nodes` is the number of simulated nodes, on which pods run. `controllers` is True
    for all, False for none, or names as for --controllers (an iterable, or one text with commas). `scheduler` None runs
    a scheduler if there are nodes. `gates` are feature gates, `flags` further flags of the server by name (without
    dashes), such as text, a number, True, False or a list. `folder` keeps the store on disk, for a later cluster to
    continue; without it, the store is in memory. `port` 0 takes a free port. Raises ValueError for invalid arguments,
    such as flags that the cluster sets itself.
    """

    def __init__(
        self,
        *,
        dialect: str = KUBERNETES.name,
        release: str | None = None,
        nodes: int = 0,
        controllers: bool | Iterable[str] = True,
        scheduler: bool | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Mapping[str, object] | None = None,
        folder: str | os.PathLike[str] | None = None,
        port: int = 0,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: one of {', '.join(DIALECTS)}")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
            raise ValueError(f"port: {port!r} is not a port from 0 to 65535")
        self.dialect: Dialect = DIALECTS[dialect]
        self._port = port
        named = {} if gates is None else gates, {} if flags is None else flags
        line = list(command_line(release_of(self.dialect, release), nodes, controllers, scheduler, *named))
        written = [text.partition("=")[2] for text in line if text.startswith("--controllers=")]
        self._controllers = controller_names(written[0] if written else True)
        self._spec = {
            "dialect": dialect,
            "flags": line,
            "folder": "" if folder is None else str(Path(folder).resolve()),
        }
        self._owner: ForkClient | None = None
        self._channel: ClusterChannel | None = None
        self._home = Path()
        self._ready: dict[str, Any] = {}
        self._context: ssl.SSLContext | None = None

    # -- start and stop

    def start(self, timeout: float = LIMIT) -> Self:
        """Start the server and wait until it is ready. Raises `ClusterError` with the end of the server's log."""
        if self._channel is not None:
            raise ClusterError("the cluster is running")
        self._owner = owner = fork_client()
        try:
            channel, self._home = owner.start(self._spec, self._port)
        except OSError as error:
            raise ClusterError(f"the fork server has ended: {error}\n{owner.log()[-4000:]}") from error
        self._channel = ClusterChannel(channel)
        # For `request`: imported while the server starts, to save time.
        import http.client  # noqa: F401
        import ssl  # noqa: F401

        try:
            self._ready = self._channel.wait_ready(timeout)
        except ClusterError as error:
            self.stop()
            raise ClusterError(f"{error}\n{(self.log or owner.log())[-4000:]}".rstrip()) from None
        return self

    def stop(self) -> None:
        """Stop the server. A store in memory is lost, a store in a folder is closed cleanly. Does nothing if it is not
        running."""
        channel, self._channel, self._context = self._channel, None, None
        if channel is not None:
            channel.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)

    # -- addresses and credentials

    @property
    def url(self) -> str:
        """URL of the server, such as ``https://127.0.0.1:40123``."""
        return str(self._ready_value("url"))

    @property
    def ca_file(self) -> str:
        """Path of the server's CA certificate, PEM."""
        return str(self._ready_value("ca"))

    @property
    def token(self) -> str:
        """A bearer token of the administrator."""
        return str(self._ready_value("token"))

    @property
    def certificate_file(self) -> str:
        """Path of the administrator's client certificate, PEM."""
        return str(self._ready_value("certificate"))

    @property
    def key_file(self) -> str:
        """Path of the key of `certificate_file`, PEM."""
        return str(self._ready_value("key"))

    @property
    def config_file(self) -> str:
        """Path of a client configuration file (kubeconfig) of the administrator."""
        return str(self._ready_value("config"))

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return int(self._ready_value("pid"))

    @property
    def log(self) -> str:
        """The server's log so far."""
        path = self._home / "log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def runs_controllers(self, name: str) -> bool:
        """True if the server runs the controller of this name."""
        if isinstance(self._controllers, bool):
            return self._controllers
        return f"-{name}" not in self._controllers and ("*" in self._controllers or name in self._controllers)

    def environment(self) -> dict[str, str]:
        """Environment variables with which a client program finds the cluster."""
        return {self.dialect("{SHORT}CONFIG"): self.config_file}

    def _ready_value(self, name: str) -> Any:
        """A value that the server reported when it became ready."""
        self._running()
        return self._ready[name]

    def _running(self) -> ClusterChannel:
        if self._channel is None:
            raise ClusterError("the cluster is not running")
        return self._channel

    # -- requests of the test

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        token: str | None = None,
        timeout: float = LIMIT,
    ) -> tuple[int, Any]:
        """Send one request, as administrator unless another `token` is given ("" sends none). `body` is JSON data or
        bytes. Returns the status code, and the response body as JSON data or text."""
        import http.client
        import ssl

        if self._context is None:
            self._context = ssl.create_default_context(cafile=self.ca_file)
        address = urlsplit(self.url)
        headers = {"Accept": "application/json, */*", **({"Content-Type": content_type} if body is not None else {})}
        bearer = self.token if token is None else token
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, timeout=timeout, context=self._context
        )
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if "json" in (response.getheader("Content-Type") or ""):
            return response.status, json.loads(text)
        return response.status, text.decode("utf-8", "replace")

    def wait_for(
        self, condition: Callable[[], T | None], *, timeout: float = LIMIT, what: str | Callable[[], str] = ""
    ) -> T:
        """Call `condition` until it returns something true, and return that. Its exceptions are passed on. Raises
        `ClusterError` after `timeout` real seconds; its message names `what`, a text or a function that returns one."""
        if not callable(condition):
            raise TypeError(f"wait_for: {condition!r} is a value, not a function: pass wait_for(lambda: ...)")
        end = time.monotonic() + timeout
        pause = 0.005
        while not (value := _evaluate(condition)):
            if time.monotonic() > end:
                text = what() if callable(what) else what or f"{_describe(condition)} was {value!r}"
                raise ClusterError(f"not after {timeout:g} s: {text}")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.2)
        return value

    def wait_for_object(
        self, path: str, until: Callable[[Any], Any] = _exists, *, timeout: float = LIMIT
    ) -> dict[str, Any]:
        """Wait until there is an object at `path` for which `until` is true, and return it. Raises `ClusterError` after
        `timeout`."""

        last: tuple[int, Any] = 0, None

        def look() -> dict[str, Any] | None:
            nonlocal last
            last = code, obj = self.request("GET", path)
            return obj if code == 200 and until(obj) else None

        def describe() -> str:
            condition = "exists" if until is _exists else f"exists, and {_describe(until)} is true"
            return f"{path} {condition}; the last response was {_format_response(*last)}"

        return self.wait_for(look, timeout=timeout, what=describe)

    def wait_for_absence(self, path: str, *, timeout: float = LIMIT) -> None:
        """Wait until there is nothing at `path`. Raises `ClusterError` after `timeout`."""
        last: tuple[int, Any] = 0, None

        def look() -> bool:
            nonlocal last
            last = self.request("GET", path)
            return last[0] == 404

        self.wait_for(
            look, timeout=timeout, what=lambda: f"{path} is removed; the last response was {_format_response(*last)}"
        )

    # -- recorded requests

    @property
    def requests(self) -> list[RecordedRequest]:
        """Requests of clients over the network, oldest first; at most the last 10,000. A watch is listed once its
        response has begun. Requests of components inside the server, such as controllers, are not recorded."""
        return [RecordedRequest(**entry) for entry in self._running().command("requests", clear=False)]

    def clear_requests(self) -> None:
        """Empty `requests`."""
        self._running().command("requests", clear=True)

    # -- time

    def advance(self, seconds: float) -> float:
        """Let time pass in the server at once: wall clock, leases, time limits, back-off, controllers. Delayed calls
        that come due run in order, each at its time. Returns the wall clock afterwards. Clients check TLS certificates
        by their own clock."""
        left = float(seconds)
        if not math.isfinite(left):
            raise ValueError(f"advance: {seconds!r} is not a number of seconds")
        while left > _MAX_STEP:
            self._running().command("advance", seconds=_MAX_STEP)
            left -= _MAX_STEP
        return float(self._running().command("advance", seconds=left))

    def now(self) -> float:
        """The server's wall clock, in seconds since the epoch."""
        return float(self._running().command("now"))

    # -- faults

    def fail(self, code: int, *, times: int = 1, message: str = "", **match: str) -> None:
        """Refuse the next `times` matching requests with an error. Keys of `match` are verb (such as "list"), group,
        resource, subresource, namespace and name. Raises `ClusterError` for invalid arguments."""
        self._fault(match=match, times=times, code=code, message=message)

    def delay(self, seconds: float, *, times: int = 1, **match: str) -> None:
        """Delay the next `times` matching requests by `seconds` of the server's time, which `advance` can let pass."""
        self._fault(match=match, times=times, delay=float(seconds))

    def _fault(self, **fault: Any) -> None:
        self._running().command("fault", fault=fault)

    def clear_faults(self) -> None:
        """Remove the failures and delays that have not been used yet."""
        self._running().command("clear_faults")

    def drop_watches(self, *, cut: bool = True) -> int:
        """End the watches of clients, with `cut` by aborting their connections. Returns how many. Watches of components
        inside the server continue."""
        return int(self._running().command("end_watches", cut=cut))

    def expire_history(self) -> int:
        """Compact the history: running watches end with an error 410, and watches and exact lists from earlier versions
        are refused with 410. Returns the oldest version from which a watch can start."""
        return int(self._running().command("expire_history"))

    def expire_serving_certificate(self) -> None:
        """Present a certificate that expired an hour ago to new connections."""
        self._running().command("expire_serving_certificate")

    def restore_serving_certificate(self) -> None:
        """Present the server's own certificate to new connections again."""
        self._running().command("restore_serving_certificate")

    def issue_certificate(
        self, user: str = "", groups: Iterable[str] = (), *, lifetime: float = 86400
    ) -> tuple[str, str]:
        """Issue a client certificate; returns certificate and key, PEM. The holder is `user` in `groups`, or the
        administrator if `user` is "". A certificate with a negative `lifetime` expired that many seconds ago."""
        certificate, key = self._running().command("issue", user=user, groups=list(groups), lifetime=float(lifetime))
        return certificate, key


def reachable(url: str, timeout: float = 1.0) -> bool:
    """True if the address accepts connections."""
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname or "", address.port or 443), timeout).close()
    except OSError:
        return False
    return True
