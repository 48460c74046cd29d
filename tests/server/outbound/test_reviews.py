"""Reviews by an external service: retries, limits, invalid responses. The service is a double."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.pki.clientconfig import ClientConfig
from orchd.server.outbound.reviews import ConfigurationFile, Limits, RemoteReviews, ReviewStatus
from orchd.server.outbound.webhooks import WebhookError, WebhookResponse
from orchd.txkit.coroutines import start

GROUP = "g.example/v1"
REVIEW = {"kind": "Review", "apiVersion": GROUP, "spec": {"a": 1}}
GOOD = WebhookResponse(code=200, data=orjson.dumps({"kind": "Review", "apiVersion": GROUP, "status": {"ok": True}}))


def answer(code: int, text: str = "", later: str = "", data: Any = None) -> WebhookResponse:
    body = text.encode() if data is None else orjson.dumps(data)
    return WebhookResponse(code=code, data=body, text=text, headers={"retry-after": later} if later else {})


class Service:
    """Returns its responses in order, the last one repeatedly; a Deferred is a pending response."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, str, Any]] = []

    async def call(self, method: str, url: str, seconds: float, **given: Any) -> WebhookResponse:
        self.calls.append((method, url, given))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Deferred):
            found = await found
        if isinstance(found, Exception):
            raise found
        result: WebhookResponse = found
        return result


class NoChance:
    def random(self) -> float:
        return 0.5


class Play:
    def __init__(self, *answers: Any, server: str = "https://h/review", **options: Any) -> None:
        self.service = Service(*answers)
        self.clock = Clock()
        self.seen: list[tuple[str, float]] = []
        self.config = ClientConfig(server=server, authority=b"ca", token="t")
        self.reviews = RemoteReviews(
            self.service,  # type: ignore[arg-type]  # as much of a client as is used
            lambda: self.config,
            self.clock,
            random=NoChance(),  # type: ignore[arg-type]  # as much of a Random as is used
            observe=lambda code, seconds: self.seen.append((code, seconds)),
            **options,
        )

    def ask(self, document: Any = REVIEW) -> tuple[Deferred[Any], list[Any]]:
        outcome: list[Any] = []
        task = start(self.reviews.ask(document))
        task.addBoth(outcome.append)
        return task, outcome

    def result(self) -> Any:
        _, outcome = self.ask()
        for _ in range(200):
            if outcome:
                break
            self.clock.advance(0.25)
        if isinstance(outcome[0], dict):
            return outcome[0]
        return outcome[0].value


def test_review_is_posted_with_credentials() -> None:
    """The review is posted to the configured server with its credentials and the time limit."""
    play = Play(GOOD)
    assert play.result()["status"] == {"ok": True}
    ((method, url, given),) = play.service.calls
    assert (method, url) == ("POST", "https://h/review?timeout=30s")
    assert given["authority"] == b"ca" and given["user"] is play.config and orjson.loads(given["body"]) == REVIEW
    assert play.seen == [("200", 0.0)]


def test_attempts_are_observed() -> None:
    """Each attempt is observed with its result, and sends its own timeout to the service."""
    told: list[str] = []
    late = WebhookError("late", timed_out=True)
    play = Play(
        answer(500, "broken"),
        answer(504),
        GOOD,
        evaluated=lambda result, _: told.append(result),
        limits=Limits(timeout=3.0),
    )
    assert play.result()["status"] == {"ok": True}
    assert told == ["error", "timeout", "success"] and play.service.calls[0][1].endswith("?timeout=3s")
    for failing, results in ((late, ["timeout"]), (WebhookError("x"), ["error"]), (answer(200, "{"), ["error"])):
        told.clear()
        assert isinstance(Play(failing, evaluated=lambda result, _: told.append(result)).result(), WebhookError)
        assert told == results
    told.clear()
    task, _ = Play(Deferred(), evaluated=lambda result, _: told.append(result)).ask()
    task.cancel()
    assert told == ["canceled"]


@pytest.mark.parametrize(("server", "url"), [
    ("https://h", "https://h/?timeout=30s"),
    ("https://h/", "https://h/?timeout=30s"),
    ("https://h:1/a/b/", "https://h:1/a/b?timeout=30s"),
    ("https://h/a?x=1#y", "https://h/a?timeout=30s"),
])  # fmt: skip
def test_review_path_is_the_configured_one(server: str, url: str) -> None:
    """Reviews are posted to the exact URL of the configuration, path included."""
    play = Play(GOOD, server=server)
    play.result()
    assert play.service.calls[0][1] == url


def test_transient_failures_are_retried() -> None:
    """At most five attempts, with backoff; the last error is raised."""
    play = Play(answer(500, "broken"))
    _, outcome = play.ask()
    times: list[float] = []
    for _ in range(400):
        times += [play.clock.seconds()] * (len(play.service.calls) - len(times))
        play.clock.advance(0.025)
    assert [round(b - a, 2) for a, b in pairwise(times)] == pytest.approx([0.55, 0.825, 1.2375, 1.85], abs=0.03)
    assert str(outcome[0].value) == 'an error on the server ("broken") has prevented the request from succeeding'
    assert [code for code, _ in play.seen] == ["500"] * 5 and not play.clock.getDelayedCalls()


@pytest.mark.parametrize(("first", "again"), [
    (answer(500), True), (answer(502), True), (answer(504), True), (answer(429), True),
    (WebhookError("EOF", reset=True), True),
    (answer(503), False), (answer(403, "no"), False), (answer(404), False), (answer(300), False),
    (WebhookError("refused"), False), (answer(200, "{"), False),
])  # fmt: skip
def test_transient_failures(first: Any, again: bool) -> None:
    """Server errors, 429 and lost connections are retried; rejections and malformed responses are not."""
    play = Play(first, GOOD)
    assert isinstance(play.result(), dict) is again
    assert len(play.service.calls) == 1 + again


def test_retry_after_is_respected() -> None:
    """Retry-After of the service is respected up to a limit."""
    play = Play(answer(503, later="2"), answer(429, later="1"), GOOD)
    _, outcome = play.ask()
    play.clock.advance(1.9)
    assert len(play.service.calls) == 1
    play.clock.advance(0.2)
    play.clock.advance(1)
    assert outcome[0]["status"] == {"ok": True}
    play = Play(answer(503, later="99999"))
    _, outcome = play.ask()
    for _ in range(10):
        play.clock.advance(30)
    assert len(play.service.calls) == 11
    assert str(outcome[0].value) == "the server is currently unable to handle the request"


@pytest.mark.parametrize(("given", "why"), [
    (answer(200, "{"), "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    (answer(200, " {x"), "couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of object key string"),
    (answer(200), "0-length response with status code: 200 and content type: application/json"),
    (answer(200, data={"kind": "Other", "apiVersion": GROUP}),
     f'no kind "Other" is registered for version "{GROUP}" in scheme "pkg/runtime/scheme.go:100"'),
    (answer(200, data={"kind": "Review", "apiVersion": "g.example/v1beta1"}),
     "converting (v1beta1.Review) to (v1.Review): unknown conversion"),
    (answer(200, data={"kind": "Status", "apiVersion": "v1"}), "converting (v1.Status) to (v1.Review): unknown conversion"),
    (answer(403, data={"kind": "Status", "status": "Failure", "message": "go away"}), "go away"),
    (answer(403, data={"kind": "Status", "status": "Success"}), "unknown"),
    (answer(403, "not you"), "not you"),
    (answer(418), "the server responded with the status code 418 but did not return more information"),
])  # fmt: skip
def test_invalid_responses_are_errors(given: WebhookResponse, why: str) -> None:
    """Anything but the requested review is an error with a message."""
    error = Play(given).result()
    assert isinstance(error, WebhookError) and str(error) == why


@pytest.mark.parametrize(
    "data", [{"status": {}}, {"kind": "Review", "status": {}}, {"apiVersion": GROUP, "status": {}}]
)
def test_response_may_omit_kind_and_version(data: Any) -> None:
    """A response without kind and apiVersion is taken for the requested review."""
    assert Play(answer(200, data=data)).result()["status"] == {}


def test_concurrent_calls_are_bounded() -> None:
    """Concurrent and waiting calls are bounded; a cancelled call frees its slot."""
    pending: list[Deferred[Any]] = [Deferred() for _ in range(4)]
    play = Play(*pending, GOOD, limits=Limits(at_once=2, waiting=1))
    asked = [play.ask() for _ in range(4)]
    assert len(play.service.calls) == 2
    assert str(asked[3][1][0].value) == "too many reviews are waiting for the service"
    asked[2][0].cancel()
    assert asked[2][1][0].check(CancelledError)
    asked[0][0].cancel()
    assert asked[0][1][0].check(CancelledError)
    later = play.ask()
    assert len(play.service.calls) == 3
    pending[1].callback(GOOD)
    pending[2].callback(GOOD)
    assert asked[1][1][0]["status"] == later[1][0]["status"] == {"ok": True}


def test_cancelled_review_is_not_retried() -> None:
    """A cancelled review is not retried."""
    play = Play(answer(500))
    task, outcome = play.ask()
    task.cancel()
    assert outcome[0].check(CancelledError) and not play.clock.getDelayedCalls()


# -- the file

TEXT = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://h/x", certificate-authority: ca.pem}}]
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def test_configuration_files_are_reread(tmp_path: Path) -> None:
    """Every minute the file and those it references are read again; unreadable ones keep the previous configuration."""
    (tmp_path / "ca.pem").write_text("one")
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "conf").write_text(TEXT)
    clock = Clock()
    configuration = ConfigurationFile(str(tmp_path / "conf"), clock.seconds)
    found = configuration()
    assert (found.server, found.authority, found.token) == ("https://h/x", b"one", "first")
    (tmp_path / "token").write_text("second")
    assert configuration().token == "first"
    clock.advance(60)
    assert configuration().token == "second"
    os.unlink(tmp_path / "ca.pem")
    clock.advance(60)
    assert configuration().token == "second"


@pytest.mark.parametrize(
    "text", ["", "a: b: c", TEXT.replace("https:", "ftp:"), TEXT.replace("c, cluster", "d, cluster")]
)
def test_invalid_file_is_named(tmp_path: Path, text: str) -> None:
    """An invalid file is an error at the start that names the file."""
    for name in ("ca.pem", "token"):
        (tmp_path / name).write_text("x")
    (tmp_path / "conf").write_text(text)
    with pytest.raises(ValueError, match=r"conf: "):
        ConfigurationFile(str(tmp_path / "conf"), Clock().seconds)
    with pytest.raises(ValueError, match=r"absent: .*No such file"):
        ConfigurationFile(str(tmp_path / "absent"), Clock().seconds)


def test_status_type_errors_name_the_path() -> None:
    """Errors about fields of the wrong type have their paths."""
    status = ReviewStatus({"status": {"f": True, "t": "x", "l": ["a"], "o": {"p": 1}, "bad": 3}}, "ReviewStatus")
    assert (status.flag("f"), status.text("t"), status.texts("l"), status.inner("o", "O")) == (
        True,
        "x",
        ("a",),
        {"p": 1},
    )
    assert (status.flag("no"), status.text("no"), status.texts("no"), status.inner("no", "O")) == (False, "", (), {})
    for read in (status.flag, status.text, status.texts):
        with pytest.raises(
            WebhookError, match=r"^json: cannot unmarshal number into Go struct field ReviewStatus.status.bad of type"
        ):
            read("bad")
    with pytest.raises(WebhookError, match=r"struct field Review.status of type v1.ReviewStatus"):
        ReviewStatus({"status": "x"}, "ReviewStatus")
