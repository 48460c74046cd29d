"""Running watches are authorized again: a watch ends soon after its permission."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.messages import forbidden
from orchd.server.pipeline.running import REVIEW_EVERY, RunningStreams
from orchd.testing.doubles.server import InProcessServer, make_server, run, user
from orchd.txkit.coroutines import start
from tests.server.pipeline.test_watches import Reader

ALLOW, DENY = Verdict(decision=Decision.ALLOW), Verdict(decision=Decision.NO_OPINION, reason="gone")
BROKEN = Verdict(decision=Decision.NO_OPINION, error="unreachable")


class Stream:
    """A watch that records how it ended."""

    def __init__(self, *verbs: str) -> None:
        self.permitted = tuple(Action(user=User(name="u"), verb=verb, resource="pods") for verb in verbs)
        self.errors: list[Any] = []

    def fail(self, error: Any) -> None:
        self.errors.append(error)


TURN = 1 / 1024


class Turns(Clock):
    """A clock on which nothing happens in the same turn."""

    def callLater(self, delay: float, *args: Any, **kwargs: Any) -> Any:
        return super().callLater(max(delay, TURN), *args, **kwargs)


class Authorizer:
    """Answers by verb."""

    def __init__(self, **verdicts: Verdict) -> None:
        self.verdicts = verdicts
        self.asked = 0

    async def authorize(self, action: Action) -> Verdict:
        self.asked += 1
        return self.verdicts[action.verb]


def register(clock: Clock, authorizer: Authorizer) -> Any:
    return RunningStreams(clock, authorizer, forbidden)  # type: ignore[arg-type]  # as far as it is asked


@pytest.mark.parametrize(("verdict", "ended"), [(ALLOW, False), (DENY, True), (BROKEN, False)])
def test_verdict_of_a_review(verdict: Verdict, ended: bool) -> None:
    """A watch ends with 403 when an action of its request is not allowed any more, not while the authorizer fails."""
    clock, authorizer, stream = Clock(), Authorizer(impersonate=ALLOW, watch=verdict), Stream("impersonate", "watch")
    running = register(clock, authorizer)
    running.add(stream)
    clock.advance(REVIEW_EVERY - 1)
    assert authorizer.asked == 0
    clock.advance(1)
    assert authorizer.asked == 2 and [error.code for error in stream.errors] == [403] * ended
    clock.advance(REVIEW_EVERY)
    assert authorizer.asked == 4


def test_many_watches_are_reviewed_in_turns() -> None:
    """One timer serves all watches; a review of many is spread over several turns of the reactor."""
    clock, authorizer = Turns(), Authorizer(watch=ALLOW)
    running = register(clock, authorizer)
    streams = [Stream("watch") for _ in range(120)]
    for stream in streams:
        running.add(stream)
    assert len(clock.getDelayedCalls()) == 1
    for seconds, asked in ((REVIEW_EVERY, 50), (TURN, 100), (TURN, 120), (REVIEW_EVERY - 1, 120)):
        clock.advance(seconds)
        assert authorizer.asked == asked
    for stream in streams:
        running.discard(stream)
    assert len(running) == 0 and not clock.getDelayedCalls()


def test_stopping_cancels_reviews() -> None:
    """A review that waits for an authorizer is cancelled when the server stops."""
    clock, waiting, stream = Clock(), Deferred[Verdict](), Stream("watch")

    class Slow:
        async def authorize(self, action: Action) -> Verdict:
            return await waiting

    running = register(clock, Slow())  # type: ignore[arg-type]  # as far as it is asked
    running.add(stream)
    clock.advance(REVIEW_EVERY)
    run(running.stop())
    assert waiting.called and not stream.errors


@pytest.fixture
def server(tmp_path: Any) -> Any:
    server = make_server(tmp_path, "--authorization-mode=RBAC")
    yield server
    server.stop()


def test_watch_ends_when_its_permission_is_withdrawn(server: InProcessServer) -> None:
    """Within a minute after the binding is deleted the watch gets an ERROR event with 403."""
    group = "/apis/rbac.authorization.orch.io/v1/namespaces/default"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}
    reference = {"apiGroup": "rbac.authorization.orch.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "r"}, "subjects": [{"kind": "User", "name": "alice"}], "roleRef": reference}
    assert run(server.request("POST", f"{group}/roles", body={"metadata": {"name": "r"}, "rules": [rule]})).code == 201
    assert run(server.request("POST", f"{group}/rolebindings", body=binding)).code == 201
    answers: list[Any] = []
    watch = server.request(
        "GET", "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0", user=user("alice", "people")
    )
    start(watch).addCallback(answers.append)
    reader = Reader()
    answers[0].response.stream.start(reader)
    server.clock.advance(REVIEW_EVERY)
    assert not reader.ended
    assert run(server.request("DELETE", f"{group}/rolebindings/r")).code == 200
    server.clock.advance(REVIEW_EVERY)
    event = reader.events()[-1]
    assert (event["type"], event["object"]["code"], reader.ended) == ("ERROR", 403, "finished")
    assert 'User "alice" cannot watch resource "configmaps"' in event["object"]["message"]
