"""A server answers requests while it loads the pods, but is not ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IStreamServerEndpoint
from zope.interface import implementer

from orchd.assembly.server import ApiServer
from orchd.cache.stored_encoding import encode
from orchd.server.pipeline.interfaces import Response, whole
from orchd.testing.doubles.server import NOW, InProcessServer, StillReactor, make_request, make_server, run, user
from orchd.txkit.coroutines import start

#: More pods than are loaded in one turn of the reactor.
_PODS = 1200


@implementer(IStreamServerEndpoint)
class _AskingEndpoint:
    """Sends requests at the moment at which the server listens."""

    def __init__(self) -> None:
        self.server: ApiServer | None = None
        self.answers: dict[str, Deferred[Response]] = {}
        self.answered: dict[str, bool] = {}

    def listen(self, protocolFactory: object) -> Deferred[Any]:
        for path in ("/readyz", "/api/v1/namespaces", "/api/v1/pods"):
            assert self.server is not None
            request = make_request("GET", path, b"", {}, NOW)
            request.user = user("admin")
            self.answers[path] = start(self.server.pipeline.handle(request))
            self.answered[path] = self.answers[path].called
        return succeed(_Port())


class _Port:
    def getHost(self) -> Any:
        return type("Host", (), {"host": "127.0.0.1", "port": 6443})

    def stopListening(self) -> Deferred[None]:
        return succeed(None)


def _result(response: Deferred[Any]) -> Any:
    async def wait() -> Any:
        return await response

    return run(wait())


def test_other_kinds_are_served_while_the_pods_load(tmp_path: Path) -> None:
    """When the server listens, it is not ready, lists of loaded kinds are answered, and a list of pods waits until all
    of them are loaded."""
    before = make_server(tmp_path)
    for number in range(_PODS):
        pod = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": f"p{number}", "namespace": "default"},
            "spec": {},
        }
        run(before.store.create(f"/pods/default/p{number}", encode(pod)))
    # Without history, from which a cache would load at once.
    run(before.store.compact(before.store.revision))
    clock, endpoint = StillReactor(), _AskingEndpoint()
    clock.advance(NOW)
    store = before.store.copy(clock)
    before.stop()
    server = ApiServer(
        before.server.settings, clock, endpoint=endpoint, store=store, wall=lambda: NOW, durable_files=False
    )
    server.api.documents.specification.build.in_background = False
    endpoint.server = server
    server.service.startService()
    clock.pump([0.1] * 50)
    assert server.service.ready.called and server.state.open
    assert endpoint.answered == {"/readyz": True, "/api/v1/namespaces": True, "/api/v1/pods": False}
    answers = {path: _result(response) for path, response in endpoint.answers.items()}
    codes = {path: response.code for path, response in answers.items()}
    assert codes == {"/readyz": 500, "/api/v1/namespaces": 200, "/api/v1/pods": 200}
    assert whole(answers["/api/v1/pods"].body).count(b'"name":"p') == _PODS
    started = InProcessServer(server, clock, store)
    assert run(started.request("GET", "/readyz")).code == 200
    started.stop()
