"""Single stages, with responses that the test controls."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from orchd import errors
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, Credentials
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.pipeline import Pipeline
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages import access
from orchd.server.pipeline.stages.deadline import Deadline
from orchd.server.pipeline.stages.failure import Failure
from orchd.server.pipeline.stages.limits import InFlight, InFlightCount
from orchd.server.pipeline.stages.request_metrics import RequestMetrics
from orchd.testing.doubles.server import BytesBody, run
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.coroutines import start
from orchd.txkit.fair_lock import TooManyWaitingError


def ask(method: str = "GET", path: str = "/api/v1/pods", user: User | None = None, **headers: str) -> Request:
    raw, _, query = path.partition("?")
    parameters = {k: [v] for k, _, v in (p.partition("=") for p in query.split("&") if p)}
    named = {k.replace("_", "-"): (v,) for k, v in headers.items()}
    return Request(
        method=method, path=raw, raw_path=raw, query=Query.of(parameters), headers=named, body=BytesBody(b""),
        credentials=Credentials(headers=named), received=0.0, user=user,
        info=requestinfo.parse(method, raw, parameters),
    )  # fmt: skip


class ControlledAnswer:
    """A response that the test completes."""

    def __init__(self) -> None:
        self.waiting: Deferred[Response] = Deferred()
        self.cancelled = False

    async def __call__(self, request: Request) -> Response:
        try:
            return await self.waiting
        except CancelledError:
            self.cancelled = True
            raise


async def at_once(request: Request) -> Response:
    return Response(body=b"x")


def outcome(deferred: Deferred[Any]) -> list[Any]:
    out: list[Any] = []
    deferred.addBoth(out.append)
    return out


class TestDeadline:
    def test_an_answer_in_time_leaves_no_timer(self) -> None:
        """The timer is cancelled when the response is there."""
        clock, slow = Clock(), ControlledAnswer()
        got = outcome(start(Deadline(clock, 60)(ask(), slow)))
        assert clock.getDelayedCalls() and not got
        slow.waiting.callback(Response(body=b"y"))
        assert got[0].body == b"y" and not clock.getDelayedCalls()

    def test_synchronous_answer_creates_no_timer(self) -> None:
        """A synchronous response creates no timer."""
        clock = Clock()
        assert run(Deadline(clock, 60)(ask(), at_once)).body == b"x"
        assert not clock.getDelayedCalls()

    def test_late_read_is_cancelled_with_504(self) -> None:
        """A read that takes too long is cancelled with 504, and its trace says that it was terminated."""
        clock, slow, request = Clock(), ControlledAnswer(), ask()
        got = outcome(start(Deadline(clock, 60)(request, slow)))
        clock.advance(61)
        assert slow.cancelled and got[0].value.code == 504 and request.trace.terminated

    def test_late_write_continues_after_504(self) -> None:
        """A write gets 504 but continues to its end, and the stage keeps track of it."""
        clock, slow = Clock(), ControlledAnswer()
        deadline = Deadline(clock, 60)
        got = outcome(start(deadline(ask("POST"), slow)))
        clock.advance(61)
        assert got[0].value.code == 504 and not slow.cancelled and len(deadline.detached) == 1
        drained = outcome(start(deadline.drained()))
        assert not drained
        slow.waiting.callback(Response())
        assert drained == [None] and not deadline.detached

    @pytest.mark.parametrize(("method", "stopped"), [("GET", True), ("PUT", False), ("DELETE", False)])
    def test_disconnect_stops_reads_but_not_writes(self, method: str, stopped: bool) -> None:
        """When its client disconnects, a read is cancelled and a write continues; the caller gets CancelledError."""
        clock, slow = Clock(), ControlledAnswer()
        deadline, request = Deadline(clock, 60), ask(method)
        call = start(deadline(request, slow))
        got = outcome(call)
        call.cancel()
        assert not request.trace.terminated
        assert got[0].check(CancelledError) and slow.cancelled is stopped
        assert bool(deadline.detached) is not stopped and not clock.getDelayedCalls()

    def test_failure_after_disconnect_is_logged(self) -> None:
        """A failure after the client disconnected is logged."""
        clock, slow = Clock(), ControlledAnswer()
        seen: Any = []
        note: Any = seen.append
        call = start(Deadline(clock, 60)(ask("PUT"), slow))
        outcome(call)
        call.cancel()
        globalLogPublisher.addObserver(note)
        try:
            slow.waiting.errback(ZeroDivisionError())
        finally:
            globalLogPublisher.removeObserver(note)
        assert any("log_failure" in event for event in seen)

    @pytest.mark.parametrize(("text", "seconds"), [("5s", 5), ("1m30s", 60), ("0s", 60), ("-3s", 60), ("100ms", 0.1)])
    def test_timeout_parameter_shortens_the_deadline(self, text: str, seconds: float) -> None:
        """`timeout` shortens the deadline of a request and never extends it."""
        clock = Clock()
        outcome(start(Deadline(clock, 60)(ask(path=f"/api/v1/pods?timeout={text}"), ControlledAnswer())))
        assert clock.getDelayedCalls()[0].getTime() == seconds

    def test_invalid_timeout_is_400(self) -> None:
        """An invalid duration is 400."""
        with pytest.raises(ApiError, match="invalid timeout specified in the request URL - time: invalid duration"):
            run(Deadline(Clock(), 60)(ask(path="/api/v1/pods?timeout=x"), at_once))

    def test_watches_have_no_deadline(self) -> None:
        """Watches are not limited in time."""
        clock = Clock()
        outcome(start(Deadline(clock, 60)(ask(path="/api/v1/pods?watch=1"), ControlledAnswer())))
        assert not clock.getDelayedCalls()


class TestInFlight:
    def test_reads_and_writes_are_limited_separately(self) -> None:
        """Reads and writes have separate limits; a place is free again when its request ends."""
        underway, slow = InFlightCount(), ControlledAnswer()
        stage = InFlight(underway, reading=1, changing=1)
        got = outcome(start(stage(ask(), slow)))
        refused = run(stage(ask(), at_once))
        assert refused.code == 429 and ("Retry-After", "1") in refused.headers
        assert run(stage(ask("POST"), at_once)).code == 200
        slow.waiting.callback(Response())
        assert got and run(stage(ask(), at_once)).code == 200
        assert [underway.executing[half].current for half in (False, True)] == [0, 0]
        assert [underway.executing[half].read_peak() for half in (False, True)] == [1, 1]
        assert underway.rejected == {False: 1, True: 0}

    def test_masters_are_not_limited(self) -> None:
        """Members of system:masters are never rejected with 429."""
        stage = InFlight(InFlightCount(), reading=1, changing=1)
        outcome(start(stage(ask(), ControlledAnswer())))
        assert run(stage(ask(user=User(name="a", groups=("system:masters",))), at_once)).code == 200

    def test_failed_request_frees_its_place(self) -> None:
        """Failed and cancelled requests free their place."""
        underway, slow = InFlightCount(), ControlledAnswer()
        stage = InFlight(underway, reading=1, changing=1)
        call = start(stage(ask(), slow))
        outcome(call)
        call.cancel()
        assert underway.executing[False].current == 0

    def test_long_running_requests_are_not_limited(self) -> None:
        """Long-running requests are not counted."""
        underway = InFlightCount()
        stage = InFlight(underway, reading=1, changing=1)
        for _ in range(3):
            outcome(start(stage(ask(path="/api/v1/pods?watch=1"), ControlledAnswer())))
        assert underway.executing[False].current == 0


def render(request: Request, error: ApiError) -> Response:
    return Response(code=error.code, body=error.message.encode())


class TestFailure:
    def fail(self, error: BaseException) -> Response:
        async def then(request: Request) -> Response:
            raise error

        return run(Failure(render)(ask(), then))

    def test_api_error_is_rendered_as_status(self) -> None:
        """An ApiError becomes its Status."""
        assert self.fail(errors.not_found("", "pods", "a")).code == 404

    def test_a_full_queue_is_429(self) -> None:
        """A user with too many large bodies that wait is told to come back."""
        assert self.fail(TooManyWaitingError()).code == 429

    def test_internal_error_shows_an_id_that_is_in_the_log(self) -> None:
        """Any other exception is a 500 with an id only; the log has the id and the traceback."""
        seen: list[dict[str, Any]] = []
        note: Any = seen.append
        globalLogPublisher.addObserver(note)
        try:
            response = self.fail(ZeroDivisionError("secret"))
        finally:
            globalLogPublisher.removeObserver(note)
        assert response.code == 500 and b"secret" not in bytes(response.body)  # type: ignore[arg-type]  # one piece here
        logged = [e for e in seen if "incident" in e]
        assert logged and logged[0]["incident"].encode() in response.body and "log_failure" in logged[0]

    def test_cancellation_passes_through(self) -> None:
        """CancelledError is raised."""
        with pytest.raises(CancelledError):
            self.fail(CancelledError())

    @pytest.mark.parametrize("inner", [errors.bad_request("x"), CancelledError()])
    def test_first_error_is_unwrapped(self, inner: Exception) -> None:
        """FirstError is replaced by the error that it wraps."""

        async def then(request: Request) -> Response:
            failing: Deferred[None] = Deferred()
            both = gatherResults([failing], consumeErrors=True)
            failing.errback(inner)
            await both
            raise AssertionError

        if isinstance(inner, CancelledError):
            with pytest.raises(CancelledError):
                run(Failure(render)(ask(), then))
        else:
            assert run(Failure(render)(ask(), then)).code == 400

    def test_first_error_is_twisteds(self) -> None:
        """The wrapper of the test above is Twisted's FirstError."""
        assert issubclass(FirstError, Exception)


class TestIdentity:
    def test_known_user_is_not_authenticated_again(self) -> None:
        """Local callers provide their user; others are authenticated once, and their annotations are kept."""
        asked = []

        class Chain:
            async def authenticate(self, credentials: Credentials) -> Authenticated:
                asked.append(credentials)
                return Authenticated(user=User(name="found"), annotations={"a": "b"})

        stage = access.Authentication(Chain())
        request = ask()
        run(stage(request, at_once))
        assert request.user == User(name="found") and request.trace.annotations == {"a": "b"}
        known = ask(user=User(name="me"))
        run(stage(known, at_once))
        assert known.user == User(name="me") and len(asked) == 1

    @pytest.mark.parametrize("decision", list(Decision))
    def test_only_allow_passes(self, decision: Decision) -> None:
        """Deny and no opinion are both 403."""

        class Authorizer:
            async def authorize(self, action: Action) -> Verdict:
                assert (action.verb, action.resource) == ("list", "pods")
                return Verdict(decision, "because")

        stage = access.Authorization(
            Authorizer(),  # type: ignore[arg-type]  # an IAuthorizer by shape
            lambda action, why: errors.forbidden("", action.resource, "", why),
            ORCH,
        )
        request = ask(user=User(name="me"))
        if decision is Decision.ALLOW:
            assert run(stage(request, at_once)).code == 200
        else:
            with pytest.raises(ApiError) as refused:
                run(stage(request, at_once))
            assert refused.value.code == 403 and refused.value.headers["X-Content-Type-Options"] == "nosniff"

    @pytest.mark.parametrize(("length", "aside"), [(1000, 0), (50_000, 1)])
    def test_long_selectors_are_parsed_in_another_thread(self, length: int, aside: int) -> None:
        """A selector of the whole length of a query takes long to parse, before anybody is authorized."""
        calls: list[str] = []
        actions: list[Action] = []

        async def in_thread(function: Any, *arguments: Any) -> Any:
            calls.append(function.__name__)
            return function(*arguments)

        class Authorizer:
            async def authorize(self, action: Action) -> Verdict:
                actions.append(action)
                return Verdict(Decision.ALLOW, "")

        stage = access.Authorization(
            Authorizer(),  # type: ignore[arg-type]  # an IAuthorizer by shape
            lambda action, why: errors.forbidden("", action.resource, "", why),
            ORCH,
            selecting=access.selectors_of,
            compute=ComputeThread(in_thread),
        )
        labels = ",".join(f"k{n}" for n in range(length // 5))
        run(stage(ask(path=f"/api/v1/pods?labelSelector={labels}", user=User(name="me")), at_once))
        assert calls == ["selectors_of"] * aside
        assert actions[0].selectors is not None and len(actions[0].selectors.labels) == length // 5


class TestMeasuring:
    def test_unserved_requests_share_one_metric_series(self) -> None:
        """Requests for unknown resources share one series, however they are spelled; so do invalid dryRun values."""
        measuring = RequestMetrics(lambda: 0.0, lambda info: info.resource == "pods")
        for path in ("/api/v1/pods", "/api/v1/a", "/api/v1/b", "/api/v1/pods?dryRun=x", "/c", "/d"):
            run(measuring(ask(path=path), at_once))
        assert {labels.resource for labels in measuring.series} == {"pods", ""}
        assert len(measuring.series) == 2
        assert sum(s.codes[200] for s in measuring.series.values()) == 6

    def test_series_of_what_is_no_longer_served_are_forgotten(self) -> None:
        """In one version, what is counted of all versions stays; other resources keep their series."""
        measuring = RequestMetrics(lambda: 0.0, own_user="me")
        user = User(name="me")

        async def reads(request: Request) -> Response:
            request.trace.read_bytes = 5
            return Response()

        for path in ("/apis/g/v1/things", "/apis/g/v2/things", "/apis/g/v1/others"):
            run(measuring(ask("POST", path, user), reads))
            run(measuring(ask("GET", path, user), at_once))

        def known() -> tuple[list[tuple[str, str]], set[str], set[str]]:
            series = sorted({(labels.version, labels.resource) for labels in measuring.series})
            return series, {key[1] for key in measuring.bodies}, {key[2] for key in measuring.own}

        both = {"things", "others"}
        seen = measuring.series
        measuring.forget("g", "v1", "things")
        assert known() == ([("v1", "others"), ("v2", "things")], both, both)
        measuring.forget("g", "v2", "things")
        assert known() == ([("v1", "others")], {"others"}, {"others"}) and seen is measuring.series
        run(measuring(ask(path="/apis/g/v1/things"), at_once))
        assert len(measuring.series) == 3


class FixedBits:
    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class TestPipeline:
    def handle(self, *texts: str, **headers: str) -> Response:
        async def answer(request: Request) -> Response:
            request.warnings.extend(texts)
            return Response()

        return run(Pipeline([], answer, FixedBits()).handle(ask(**headers)))  # type: ignore[arg-type]  # as much of a Random as is used

    def test_warnings_are_deduplicated_and_escaped(self) -> None:
        """Equal warnings are sent once; quotes are escaped and control characters removed."""
        response = self.handle("a", "b", "a", 'c"\n\\')
        assert [v for n, v in response.headers if n == "Warning"] == ['299 - "a"', '299 - "b"', '299 - "c\\"\\\\"']

    def test_warnings_are_truncated(self) -> None:
        """Long warnings are truncated to 256 characters each, and to 4096 in total."""
        response = self.handle(*(f"{i:03}" + "x" * 1000 for i in range(100)))
        warnings = [v for n, v in response.headers if n == "Warning"]
        assert len(warnings) == 16 and all(len(v) == 256 + len('299 - ""') for v in warnings)

    def test_audit_id_is_the_clients_or_new(self) -> None:
        """A client's audit id is used, truncated to 64 characters."""
        assert dict(self.handle(audit_id="x" * 70).headers)["Audit-Id"] == "x" * 70
        assert dict(self.handle().headers)["Audit-Id"].count("-") == 4

    def test_stages_run_in_order(self) -> None:
        """The first stage is the outermost one."""
        order: list[str] = []

        def stage(name: str) -> Any:
            async def run_stage(request: Request, then: Any) -> Response:
                order.append(name)
                response: Response = await then(request)
                order.append("-" + name)
                return response

            return run_stage

        run(Pipeline([stage("a"), stage("b")], at_once, FixedBits()).handle(ask()))  # type: ignore[arg-type]  # as above
        assert order == ["a", "b", "-b", "-a"]

    def test_failed_parsing_of_a_path_is_a_failed_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception while a path is parsed becomes the response of the failure stage, and the stages around it see a
        request."""

        def fail(*_: object) -> Any:
            raise KeyError("broken")

        monkeypatch.setattr(requestinfo, "parse", fail)
        request = Request(
            method="GET", path="/x", raw_path="/x", query=Query({}), headers={}, body=BytesBody(b""),
            credentials=Credentials(headers={}), received=0.0,
        )  # fmt: skip
        measuring = RequestMetrics(lambda: 0.0)
        stages = [measuring, Failure(lambda request, error: Response(code=error.code))]
        response = run(Pipeline(stages, at_once, FixedBits()).handle(request))  # type: ignore[arg-type]  # as above
        assert (response.code, request.trace.terminated) == (500, True)
        assert [series.codes for series in measuring.series.values()] == [{500: 1}]
