"""Audit events of a request: their stages and contents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from orchd import errors
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.server.pipeline.audit.policy import make_policy
from orchd.server.pipeline.audit.record import recorded_response, source_addresses, strip_managed_fields
from orchd.server.pipeline.audit.stage import AuditStage, AuditTrail, UnauthenticatedAuditStage
from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response
from orchd.server.pipeline.query import Query
from orchd.testing.doubles.server import BytesBody, run
from orchd.txkit.coroutines import start
from tests.server.pipeline.test_headers import through

POD = "/api/v1/namespaces/a/pods/x"
ALICE = User(name="alice")


@implementer(IAuditSink)
class Kept:
    name = "kept"

    def __init__(self, *, strict: bool = False, works: bool = True) -> None:
        self.strict = strict
        self.works = works
        self.lost = 0
        self.gate: Deferred[None] | None = None
        self.events: list[Mapping[str, Any]] = []

    async def take(self, event: Mapping[str, Any]) -> bool:
        if self.gate is not None:
            await self.gate
        self.events.append(event)
        return self.works

    async def stop(self) -> None:
        """There is nothing to flush."""

    def stages(self) -> list[str]:
        return [event["stage"] for event in self.events]


def trail(sink: Kept, level: str = "RequestResponse", *, clock: Clock | None = None, **rule: Any) -> AuditTrail:
    document = {"apiVersion": "audit.orch.io/v1", "kind": "Policy", "rules": [{"level": level, **rule}]}
    return AuditTrail(ORCH, make_policy(document), [sink], lambda: 1_000_000_000.25, clock or Clock())


def ask(method: str = "GET", path: str = POD, body: bytes = b"", user: User | None = ALICE, **headers: str) -> Request:
    raw, _, query = path.partition("?")
    named = {name.replace("_", "-"): (value,) for name, value in headers.items()}
    parameters = {k: [v] for k, _, v in (p.partition("=") for p in query.split("&") if p)}
    request = Request(
        method=method, path=raw, raw_path=raw, query=Query.of(parameters), headers=named, body=BytesBody(body), user=user,
        credentials=Credentials(headers=named, remote="10.1.2.3"), received=0.0,
        info=requestinfo.parse(method, raw, parameters),
    )  # fmt: skip
    request.trace.audit_id = "id-1"
    return request


@implementer(IStream)
class Stream:
    def __init__(self) -> None:
        self.sink: Any = None
        self.stopped = False

    def start(self, sink: Any) -> None:
        self.sink = sink

    def stop(self) -> None:
        self.stopped = True


@implementer(ISink)
class Sink:
    buffered = 7

    def __init__(self) -> None:
        self.got: list[str] = []

    def write(self, data: bytes) -> None:
        self.got.append(data.decode())

    def writable(self) -> Deferred[None]:
        raise AssertionError("the stream of this test never waits")

    def finish(self) -> None:
        self.got.append("finish")

    def abort(self) -> None:
        self.got.append("abort")


async def pod(request: Request) -> Response:
    body = await request.body.read(1000)
    request.trace.body = json.loads(body) if body else None
    return Response(code=201, body=b'{"kind":"Pod","metadata":{"name":"x","managedFields":[]}}')


class TestEvents:
    def test_events_of_an_answered_request(self) -> None:
        """The events are RequestReceived and ResponseComplete; the second has the objects, the outcome and the
        annotations."""
        sink = Kept()
        request = ask("PUT", POD + "?dryRun=All", b'{"metadata":{"name":"x","uid":"u"}}', user_agent="test/1")
        request.trace.annotations["b"], request.trace.annotations["a"] = "2", "1"
        run(through(AuditStage(trail(sink)), request, pod))
        common = {
            "kind": "Event", "apiVersion": "audit.orch.io/v1", "level": "RequestResponse", "auditID": "id-1",
            "requestURI": POD + "?dryRun=All", "verb": "update", "user": {"username": "alice"},
            "sourceIPs": ["10.1.2.3"], "userAgent": "test/1",
            "requestReceivedTimestamp": "2001-09-09T01:46:40.250000Z", "stageTimestamp": "2001-09-09T01:46:40.250000Z",
        }  # fmt: skip
        reference = {"resource": "pods", "namespace": "a", "name": "x", "apiVersion": "v1"}
        assert sink.events == [
            {**common, "stage": "RequestReceived", "objectRef": reference},
            {
                **common,
                "stage": "ResponseComplete",
                "objectRef": {**reference, "uid": "u"},
                "responseStatus": {"metadata": {}, "code": 201},
                "requestObject": {"metadata": {"name": "x", "uid": "u"}},
                "responseObject": {"kind": "Pod", "metadata": {"name": "x", "managedFields": []}},
                "annotations": {"a": "1", "b": "2"},
            },
        ]

    @pytest.mark.parametrize(
        ("level", "members"),
        [
            ("Metadata", set()), ("Request", {"requestObject"}),
            ("RequestResponse", {"requestObject", "responseObject"}),
        ],
    )  # fmt: skip
    def test_levels(self, level: str, members: set[str]) -> None:
        """The rule's level decides what is recorded."""
        sink = Kept()
        run(through(AuditStage(trail(sink, level)), ask("PUT", body=b'{"a":1}'), pod))
        assert {"requestObject", "responseObject"} & set(sink.events[1]) == members

    def test_response_objects_are_read_only_at_their_level(self) -> None:
        """At lower levels they are not even read; a Status is, since it has the outcome."""
        request = ask("DELETE")
        status = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"x"}}'

        async def deleted(request: Request) -> Response:
            return Response(body=status)

        sink = Kept()
        run(through(AuditStage(trail(sink, "Metadata")), request, deleted))
        assert sink.events[1]["responseStatus"] == {"metadata": {}, "status": "Success", "code": 200}
        assert recorded_response(Response(body=b'{"kind":"PodList"}'), with_body=False) is None
        assert recorded_response(Response(body=[b'{"kind":', b'"PodList"}']), with_body=True) == {"kind": "PodList"}
        assert recorded_response(Response(body=b'{"major":"1"}'), with_body=True) is None

    def test_patch_annotations_need_the_object_level(self) -> None:
        """Annotations that show a webhook's patch are omitted below the level Request."""
        for level, expected in (
            ("Metadata", {"other"}),
            ("Request", {"other", "patch.webhook.admission.orch.io/round_0_index_0"}),
        ):
            sink = Kept()
            request = ask()
            request.trace.annotations.update({"other": "1", "patch.webhook.admission.orch.io/round_0_index_0": "{}"})
            run(through(AuditStage(trail(sink, level)), request, pod))
            assert set(sink.events[1]["annotations"]) == expected

    def test_patch_bodies_are_recorded_verbatim(self) -> None:
        """The body is recorded as JSON, or as YAML in JSON; other formats are omitted."""
        for body, expected in ((b'[{"op":"test"}]', [{"op": "test"}]), (b"a: 1", {"a": 1}), (b"\xff", None)):
            sink = Kept()

            async def patched(request: Request) -> Response:
                await request.body.read(1000)
                return Response()

            run(through(AuditStage(trail(sink, "Request")), ask("PATCH", body=body), patched))
            assert sink.events[1].get("requestObject") == expected

    def test_managed_fields_can_be_omitted(self) -> None:
        """They are omitted in objects and in items of lists."""
        sink = Kept()
        run(through(AuditStage(trail(sink, omitManagedFields=True)), ask(), pod))
        assert sink.events[1]["responseObject"] == {"kind": "Pod", "metadata": {"name": "x"}}
        assert strip_managed_fields({"items": [{"metadata": {"managedFields": []}}, 1]}) == {
            "items": [{"metadata": {}}, 1]
        }

    def test_events_of_a_refusal(self) -> None:
        """The Status that is sent is the response object; its bounded parts are responseStatus."""
        sink = Kept()

        async def refused(request: Request) -> Response:
            raise errors.not_found("", "pods", "x")

        with pytest.raises(ApiError):
            run(through(AuditStage(trail(sink)), ask(), refused))
        last = sink.events[-1]
        assert last["responseStatus"] == {
            "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
        }  # fmt: skip
        assert last["responseObject"]["message"] == 'pods "x" not found'

    def test_events_of_a_failed_long_running_request(self) -> None:
        """A rejected watch or log has the stages of any long-running request, and both events have the body."""
        sink = Kept()

        async def refused(request: Request) -> Response:
            raise errors.not_found("", "pods", "x")

        with pytest.raises(ApiError):
            run(through(AuditStage(trail(sink)), ask(path=POD + "/log"), refused))
        assert sink.stages() == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
        assert sink.events[1]["responseObject"]["code"] == sink.events[2]["responseStatus"]["code"] == 404

    def test_undecoded_bodies_are_recorded_for_patches_only(self) -> None:
        """The body of a request that was not decoded is recorded for patches only."""

        async def unread(request: Request) -> Response:
            await request.body.read(100)
            return Response()

        for method, shown in (("POST", False), ("PATCH", True)):
            sink = Kept()
            run(through(AuditStage(trail(sink)), ask(method, body=b'{"a":1}'), unread))
            assert ("requestObject" in sink.events[1]) is shown

    def test_events_of_a_panic(self) -> None:
        """The event has the stage Panic, and the exception is raised."""
        sink = Kept()

        async def broken(request: Request) -> Response:
            raise KeyError("secret")

        with pytest.raises(KeyError):
            run(through(AuditStage(trail(sink)), ask(), broken))
        assert sink.stages() == ["RequestReceived", "Panic"] and "secret" not in str(sink.events)

    def test_events_of_a_disconnected_client(self) -> None:
        """The event of a disconnected client is completed, with the connection's end as its status."""
        sink = Kept()

        async def slow(request: Request) -> Response:
            return await Deferred()

        running = start(through(AuditStage(trail(sink)), ask(), slow))
        out: list[Any] = []
        running.addBoth(out.append)
        running.cancel()
        assert out[0].check(CancelledError)
        assert sink.stages() == ["RequestReceived", "ResponseComplete"]
        assert sink.events[1]["responseStatus"]["message"] == "Connection closed early"

    @pytest.mark.parametrize("end", ["finish", "abort", "stop"])
    def test_events_of_a_stream(self, end: str) -> None:
        """ResponseStarted is recorded when the head is sent, and ResponseComplete once, however the stream ends."""
        sink, stream, out = Kept(), Stream(), Sink()

        async def watch(request: Request) -> Response:
            return Response(stream=stream)

        response = run(through(AuditStage(trail(sink)), ask(path="/api/v1/pods?watch=1"), watch))
        assert response.stream is not None
        assert sink.stages() == ["RequestReceived", "ResponseStarted"]
        response.stream.start(out)
        stream.sink.write(b"event")
        assert stream.sink.buffered == 7 and out.got == ["event"]
        if end == "stop":
            response.stream.stop()
            assert stream.stopped
        else:
            getattr(stream.sink, end)()
            assert out.got[-1] == end
        response.stream.stop()
        assert sink.stages() == ["RequestReceived", "ResponseStarted", "ResponseComplete"]

    def test_stages_can_be_omitted(self) -> None:
        """A policy that omits the other stages records only ResponseComplete."""
        sink = Kept()
        run(through(AuditStage(trail(sink, omitStages=["RequestReceived"])), ask(), pod))
        assert sink.stages() == ["ResponseComplete"]

    def test_level_none_creates_no_event(self) -> None:
        """No event is created at level None."""
        sink = Kept()
        request = ask()
        run(through(AuditStage(trail(sink, "None")), request, pod))
        assert not sink.events and not request.trace.audited

    def test_impersonated_user_is_recorded(self) -> None:
        """The event has both the authenticated and the impersonated user."""
        sink = Kept()

        async def as_bob(request: Request) -> Response:
            request.impersonator, request.user = request.user, User(name="bob")
            return Response()

        run(through(AuditStage(trail(sink, "Metadata")), ask(), as_bob))
        assert sink.events[1]["user"] == {"username": "alice"} and sink.events[1]["impersonatedUser"] == {
            "username": "bob"
        }


class TestStrangers:
    def test_failed_authentication_is_recorded(self) -> None:
        """It is recorded with the response body, and without a user."""
        sink = Kept()

        async def refused(request: Request) -> Response:
            raise errors.unauthorized()

        with pytest.raises(ApiError):
            run(UnauthenticatedAuditStage(trail(sink))(ask(user=None), refused))
        (event,) = sink.events
        assert event["stage"] == "ResponseStarted" and event["user"] == {}
        assert event["responseStatus"] == {"metadata": {}, "status": "Failure", "reason": "Unauthorized", "code": 401}
        assert event["responseObject"] == errors.unauthorized().status()

    def test_other_401_responses_are_recorded_as_usual(self) -> None:
        """A 401 for an authenticated user (such as one of a webhook) is recorded as usual."""
        sink = Kept()

        async def refused(request: Request) -> Response:
            request.user = User(name="alice")
            raise errors.unauthorized()

        with pytest.raises(ApiError):
            run(UnauthenticatedAuditStage(trail(sink))(ask(user=None), refused))
        assert not sink.events


class TestSinks:
    def test_strict_sink_fails_requests_that_it_cannot_record(self) -> None:
        """A strict sink that fails makes the request fail; for others the error is only counted."""
        kept = trail(Kept(works=False))
        assert run(through(AuditStage(kept), ask(), pod)).code == 201
        strict = trail(Kept(works=False, strict=True))
        with pytest.raises(ApiError) as refused:
            run(through(AuditStage(strict), ask(), pod))
        assert refused.value.code == 500 and "failed to store audit event" in refused.value.message
        assert strict.metrics.rejected.values == {(): 1.0}

    @pytest.mark.parametrize("finished", [True, False])
    def test_stop_waits_for_streams_for_a_limited_time(self, finished: bool) -> None:
        """A stop waits for a limited time."""
        sink, stream, clock = Kept(), Stream(), Clock()
        kept = trail(sink, clock=clock)

        async def watch(request: Request) -> Response:
            return Response(stream=stream)

        response = run(through(AuditStage(kept), ask(path="/api/v1/pods?watch=1"), watch))
        assert response.stream is not None
        gate: Deferred[None] = Deferred()
        sink.gate = gate
        response.stream.stop()
        out: list[Any] = []
        start(kept.stop()).addBoth(out.append)
        assert not out
        if finished:
            gate.callback(None)
        else:
            clock.advance(11)
        assert out == [None] and not clock.getDelayedCalls()
        assert ("ResponseComplete" in sink.stages()) is finished


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, ["10.1.2.3"]),
        ({"x_forwarded_for": "1.1.1.1, 2.2.2.2"}, ["1.1.1.1", "2.2.2.2", "10.1.2.3"]),
        ({"x_forwarded_for": "1.1.1.1, nonsense, 10.1.2.3"}, ["1.1.1.1", "10.1.2.3"]),
        ({"x_real_ip": "3.3.3.3"}, ["3.3.3.3", "10.1.2.3"]),
        ({"x_forwarded_for": "3.3.3.3", "x_real_ip": "3.3.3.3"}, ["3.3.3.3", "10.1.2.3"]),
        ({"x_forwarded_for": "2001:db8::1"}, ["2001:db8::1", "10.1.2.3"]),
    ],
)
def test_source_addresses(headers: dict[str, Any], expected: list[str]) -> None:
    """Source addresses are those of the proxies in order, then the peer's."""
    assert source_addresses(ask(**headers)) == expected
