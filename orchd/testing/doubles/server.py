"""A whole server in process: memory store, no sockets, no threads, a manual clock. For tests above the HTTP layer.

    server = make_server(tmp_path)
    admin = server.client("admin", "system:masters")
    obj = run(admin.create(PODS, "a", {...}))          # IClient, every stage as over the wire
    response = run(server.request("GET", "/api/v1/pods", user=...))

With the memory store few calls suspend: `run` returns the result of a coroutine immediately, and fails a test in which
it needs the clock to advance (`server.clock.advance`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qs, unquote

import orjson
from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.config.options import Options, from_options
from orchd.kinds.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from orchd.server.authn.interfaces import Credentials
from orchd.server.local import LocalClient
from orchd.server.pipeline.interfaces import IBody, Request, Response, whole
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream
from orchd.store.interfaces import KeyValue
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server_templates import StoreTemplate, keep_keys, provide_keys
from orchd.testing.doubles.virtual_time import InlineThreads
from orchd.txkit.coroutines import start

T = TypeVar("T")

#: The time of tests in epoch seconds.
NOW = 1_800_000_000.0


def run(coro: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that does not suspend. AssertionError when it does."""
    outcome: list[Any] = []
    start(coro).addBoth(outcome.append)
    assert outcome, "the coroutine waits for something"
    if isinstance(outcome[0], Failure):
        outcome[0].raiseException()
    result: T = outcome[0]
    return result


class StillReactor(Clock):
    """The part of a reactor that a server without sockets uses. Its pending calls stay sorted by their times, where a
    `Clock` sorts all of them for each that is added or run."""

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kw: object) -> DelayedCall:
        call = DelayedCall(self.rightNow + delay, callable, args, kw, self.calls.remove, self._moved, self.seconds)
        # By `time`: what was put off keeps its place until it is the first.
        insort(self.calls, call)
        return call

    def _moved(self, call: DelayedCall) -> None:
        self.calls.remove(call)
        insort(self.calls, call)

    def advance(self, amount: float) -> None:
        self.rightNow += amount
        calls = self.calls
        while calls and calls[0].time <= self.rightNow:
            call = calls[0]
            if call.delayed_time:
                call.activate_delay()
                self._moved(call)
                continue
            del calls[0]
            call.called = 1
            call.func(*call.args, **call.kw)

    def getThreadPool(self) -> InlineThreads:
        return InlineThreads()

    def callFromThread(self, function: Callable[..., Any], *arguments: Any) -> None:
        function(*arguments)


class _Host:
    host, port = "127.0.0.1", 6443


class _Port:
    """A listening port without a socket."""

    def getHost(self) -> _Host:
        return _Host()

    def stopListening(self) -> Deferred[None]:
        return succeed(None)


@implementer(IStreamServerEndpoint)
class _Nowhere:
    def listen(self, protocolFactory: object) -> Deferred[Any]:
        return succeed(_Port())


@implementer(IBody)
@dataclass(slots=True)
class BytesBody:
    """A request body in memory."""

    data: bytes
    value: ClassVar[None] = None
    arrival: ClassVar[None] = None

    @property
    def length(self) -> int:
        return len(self.data)

    async def read(self, limit: int) -> bytes:
        return self.data

    async def piece(self) -> bytes:
        data, self.data = self.data, b""
        return data


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """A response for tests; `stream` is None or the stream that would follow."""

    code: int
    headers: Mapping[str, str]
    body: bytes
    response: Response = field(repr=False)

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class InProcessServer:
    """A started `ApiServer` on `store`, and its clients."""

    def __init__(self, server: ApiServer, clock: StillReactor, store: MemoryStore) -> None:
        self.server = server
        self.clock = clock
        self.store = store

    @property
    def dialect(self) -> Any:
        return self.server.settings.dialect

    def client(self, name: str = "admin", *groups: str, agent: str = "test") -> LocalClient:
        """A client that acts as a user; by default a member of system:masters."""
        return LocalClient(self.server.pipeline, user(name, *groups), agent=agent, clock=self.clock.seconds)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        user: User | None = None,
        headers: Mapping[str, str] | None = None,
        hijack: Callable[[], Any] | None = None,
    ) -> JsonResponse:
        """Send a request; `path` includes the query, `body` is bytes or JSON data. Errors are returned as responses.
        What the request left to later turns of the reactor is done afterwards."""
        fields = {"user-agent": "test/1", "content-type": "application/json", **(headers or {})}
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        request = make_request(method, path, data, fields, self.clock.seconds())
        request.user = user or globals()["user"]("admin")
        request.hijack = hijack
        response = await self.server.pipeline.handle(request)
        self.clock.advance(0)
        return JsonResponse(response.code, dict(response.headers), whole(response.body), response)

    def contents(self) -> Mapping[str, KeyValue]:
        """The contents of the store, for `restore`."""
        return {item.key: item for item in run(self.store.range("")).items}

    def restore(self, contents: Mapping[str, KeyValue]) -> None:
        """Undo the writes since `contents` in the store, latest first. The server receives the changes as those of
        another server; its clock is not set back."""
        present = self.contents()
        for item in sorted(present.values(), key=lambda each: -each.revision):
            before = contents.get(item.key)
            if before is None:
                run(self.store.delete(item.key, expected=item.revision))
            elif before.value != item.value:
                run(self.store.update(item.key, before.value, expected=item.revision))
        for key in contents.keys() - present.keys():
            run(self.store.create(key, contents[key].value))
        self.clock.pump([1, 1])

    def stop(self) -> None:
        """Stop the server, and run its pending calls."""
        stopped = self.server.service.stopService()
        for _ in range(10):
            if stopped.called:
                break
            self.clock.advance(1)
        assert stopped.called, "the server does not stop"


def make_request(method: str, path: str, body: bytes, headers: Mapping[str, str], received: float) -> Request:
    """A request as it comes from the listener; `path` includes the query."""
    raw, _, query = path.partition("?")
    named = {name.lower(): (value,) for name, value in headers.items()}
    return Request(
        method=method,
        path=unquote(raw),
        raw_path=raw,
        query=Query.of(parse_qs(query, keep_blank_values=True)),
        headers=named,
        body=BytesBody(body),
        credentials=Credentials(headers=named),
        received=received,
    )


def user(name: str, *groups: str) -> User:
    """A user as made by authentication; by default a member of system:masters."""
    return User(name=name, groups=(*(groups or (MASTERS_GROUP,)), AUTHENTICATED_GROUP))


def make_server(
    folder: Path,
    *flags: str,
    wall: Callable[[], float] = lambda: NOW,
    upstream: IUpstream | None = None,
    store: MemoryStore | None = None,
) -> InProcessServer:
    """A started server with its files (keys, certificates) in `folder`. `flags` are those of the command line;
    controllers and scheduler are disabled by default. `upstream` replaces nodes, pods and services. With `store` the
    server starts on a copy of it.

    Keys and the store of the bootstrapped cluster are copies of those of earlier servers
    (`orchd.testing.doubles.server_templates`). The OpenAPI document is built when it is asked for."""
    options = Options(capabilities=capabilities())
    # A list, to which a flag of the caller would be added.
    none = [] if any(flag.startswith("--controllers=") for flag in flags) else ["--controllers=-*"]
    options.parseOptions([*none, "--scheduler=false", *flags, f"--data-dir={folder}"])
    settings = from_options(options)
    clock = StillReactor()
    clock.advance(NOW)
    now = wall()
    provide_keys(settings, now)
    template: StoreTemplate | None = None
    if store is not None:
        own = store.copy(clock)
    else:
        template = StoreTemplate(flags, now)
        if template.needs_server:
            with TemporaryDirectory() as other:
                make_server(Path(other), *template.flags, wall=lambda: now).stop()
        own = template.make(clock)
    failures: list[Failure] = []
    server = ApiServer(
        settings,
        clock,
        endpoint=_Nowhere(),
        store=own,
        upstream=upstream,
        failed=failures.append,
        wall=wall,
        durable_files=False,
    )
    server.api.documents.specification.build.in_background = False
    server.service.startService()
    for _ in range(50):
        if server.service.ready.called or failures:
            break
        clock.advance(0.1)
    if failures:
        failures[0].raiseException()
    assert server.service.ready.called, "the server does not start"
    keep_keys(settings, now)
    if template is not None:
        template.keep(own, clock)
    return InProcessServer(server, clock, own)
