"""Priority and fairness: classification, queues, and the stage with responses that the test controls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError

from orchd.kinds.users import MASTERS_GROUP, UNAUTHENTICATED_GROUP, User, service_account
from orchd.server.pipeline.fairness.queues import ESTIMATED_SECONDS, Level, Queuing, RejectedError, Ticket, hand
from orchd.server.pipeline.fairness.schemas import Classifier, schema_of
from orchd.server.pipeline.interfaces import Request, Response
from tests.kinds.test_body_bounds import lines
from tests.server.pipeline.fairness_support import (
    ALICE,
    BOB,
    EVERYTHING,
    LEVELS,
    OF_ALICE,
    SCHEMAS,
    Bench,
    SilentStream,
    info,
    limited,
    schema,
    small,
    subject,
)


class TestSchemas:
    @pytest.mark.parametrize(
        ("user", "method", "path", "expected"),
        [
            (User(name="root", groups=(MASTERS_GROUP,)), "GET", "/api/v1/pods", "exempt"),
            (ALICE, "GET", "/api/v1/pods", "global-default"),
            (ALICE, "GET", "/readyz", "probes"),
            (ALICE, "GET", "/readyz/ping", "global-default"),
            (ALICE, "POST", "/readyz", "global-default"),
            (User(name="nobody", groups=(UNAUTHENTICATED_GROUP,)), "GET", "/api/v1/pods", "global-default"),
            (service_account("a", "default"), "GET", "/api/v1/pods", "service-accounts"),
            (service_account("orch-system", "x"), "GET", "/api/v1/pods", "orch-system-service-accounts"),
            (
                service_account("orch-system", "x"), "GET", "/api/v1/namespaces/a/endpoints/x",
                "workload-leader-election",
            ),
            (
                service_account("orch-system", "x"), "PUT", "/api/v1/namespaces/orch-system/configmaps/x",
                "system-leader-election",
            ),
            (User(name="n", groups=("system:nodes",)), "PATCH", "/api/v1/nodes/n/status", "system-node-high"),
            (User(name="n", groups=("system:nodes",)), "PATCH", "/api/v1/nodes/n/proxy", "system-nodes"),
            (User(name="n", groups=("system:nodes",)), "GET", "/api/v1/pods", "system-nodes"),
        ],
    )  # fmt: skip
    def test_default_schema_of_requests(self, user: User, method: str, path: str, expected: str) -> None:
        """The schema is the first by precedence and name whose subject, verb, resource and namespace all match."""
        schema = Classifier(map(schema_of, SCHEMAS)).schema(user, info(method, path))
        assert schema is not None and schema.name == expected

    @pytest.mark.parametrize(
        ("rule", "path", "expected"),
        [
            ({**EVERYTHING, "clusterScope": False}, "/api/v1/pods", False),
            ({**EVERYTHING, "clusterScope": False}, "/api/v1/namespaces/a/pods", True),
            ({**EVERYTHING, "namespaces": ["b"]}, "/api/v1/namespaces/a/pods", False),
            ({**EVERYTHING, "namespaces": []}, "/api/v1/nodes", True),
            ({**EVERYTHING, "resources": ["pods"]}, "/api/v1/namespaces/a/pods/x/log", False),
            ({**EVERYTHING, "resources": ["pods/log"]}, "/api/v1/namespaces/a/pods/x/log", True),
            ({**EVERYTHING, "apiGroups": ["apps"]}, "/api/v1/namespaces/a/pods", False),
            ({**EVERYTHING, "verbs": ["list", "watch"]}, "/api/v1/pods", True),
            ({**EVERYTHING, "verbs": ["get"]}, "/api/v1/pods", False),
        ],
    )
    def test_flow_schema_rule_matching(self, rule: dict[str, Any], path: str, expected: bool) -> None:
        """All fields of a rule must match."""
        made = schema_of(schema("s", {"subjects": [subject("User", name="*")], "resourceRules": [rule]}))
        assert made.matches(ALICE, info("GET", path)) is expected

    @pytest.mark.parametrize(
        ("urls", "path", "expected"),
        [
            (["/healthz"], "/healthz/ping", False), (["/healthz/*"], "/healthz/ping", True),
            (["/healthz/*"], "/healthz", False), (["*"], "/version", True), ([], "/version", False),
        ],
    )  # fmt: skip
    def test_non_resource_path_matching(self, urls: list[str], path: str, expected: bool) -> None:
        """A path matches as a whole, or up to the star."""
        rule = {
            "subjects": [subject("Group", name="*")],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": urls}],
        }
        assert schema_of(schema("s", rule)).matches(ALICE, info("GET", path)) is expected

    @pytest.mark.parametrize(
        ("kind", "names", "user", "expected"),
        [
            ("User", {"name": "alice"}, "alice", True),
            ("User", {"name": "g"}, "alice", False),
            ("Group", {"name": "g"}, "alice", True),
            ("Group", {"name": "alice"}, "alice", False),
            ("Group", {"name": "*"}, "bob", True),
            ("ServiceAccount", {"namespace": "n", "name": "a"}, "system:serviceaccount:n:a", True),
            ("ServiceAccount", {"namespace": "n", "name": "b"}, "system:serviceaccount:n:a", False),
            ("ServiceAccount", {"namespace": "n", "name": "*"}, "system:serviceaccount:n:a", True),
            ("ServiceAccount", {"namespace": "n", "name": "*"}, "system:serviceaccount:nn:a", False),
            ("ServiceAccount", {"namespace": "n", "name": "*"}, "system:serviceaccount:n", False),
        ],
    )
    def test_flow_schema_subject_matching(self, kind: str, names: dict[str, str], user: str, expected: bool) -> None:
        """A subject is a user, a group, a service account or all of a namespace, or everybody."""
        rule = {"subjects": [subject(kind, **names)], "resourceRules": [EVERYTHING]}
        found = schema_of(schema("s", rule)).matches(User(name=user, groups=("g",)), info("GET", "/api/v1/pods"))
        assert found is expected

    def test_rules_of_other_subjects_are_not_compared(self) -> None:
        """A schema may have thousands of rules."""
        rules = [
            {"subjects": [subject("User", name=f"u{n}")], "resourceRules": [{**EVERYTHING, "verbs": ["watch"]}]}
            for n in range(1000)
        ]
        made = schema_of(schema("s", *rules))
        assert lines(lambda: made.matches(User(name="u7"), info("GET", "/api/v1/pods"))) < 200

    @pytest.mark.parametrize(("by", "expected"), [("ByUser", "alice"), ("ByNamespace", "a"), ("", "")])
    def test_flow_distinguishers(self, by: str, expected: str) -> None:
        """The distinguisher separates flows."""
        made = schema_of(schema("s", OF_ALICE, by=by))
        assert made.flow(ALICE, info("GET", "/api/v1/namespaces/a/pods")) == expected


@given(st.integers(0, 2**64 - 1), st.integers(1, 200), st.data())
def test_shuffle_shard_hands_have_distinct_cards(flow: int, deck: int, data: st.DataObject) -> None:
    """No queue is in a hand twice, and all are in range."""
    size = data.draw(st.integers(1, deck))
    cards = hand(flow, deck, size)
    assert len(set(cards)) == size and all(0 <= card < deck for card in cards)


def test_shuffle_sharding_deals_every_hand() -> None:
    """Each order of each hand is dealt for exactly one number below their count."""
    assert len({tuple(hand(n, 5, 3)) for n in range(5 * 4 * 3)}) == 5 * 4 * 3


class TestQueues:
    def test_level_without_queues_rejects(self) -> None:
        """A level of type Reject serves requests while it has seats."""
        level = Level(1, None)
        assert level.enter("a", 1, 0).started == 0
        with pytest.raises(RejectedError, match="concurrency-limit"):
            level.enter("a", 1, 0)

    def test_full_queue_rejects(self) -> None:
        """The length of a queue limits its waiting requests."""
        level = Level(1, Queuing(queues=1, hand=1, length=2))
        places = [level.enter("a", 1, 0) for _ in range(3)]
        assert [place.started for place in places] == [0, None, None]
        with pytest.raises(RejectedError, match="queue-full"):
            level.enter("a", 1, 0)

    def test_a_wide_request_is_served_alone_rather_than_never(self) -> None:
        """A request that needs more seats than the level has is admitted when no other request is executing."""
        level = Level(2, Queuing(queues=1, hand=1, length=5))
        first, wide, small = level.enter("a", 1, 0), level.enter("a", 10, 0), level.enter("a", 1, 0)
        assert wide.started is None and level.next(0) is None
        level.leave(first, 1)
        assert level.next(1) is wide and level.next(1) is None
        level.leave(wide, 2)
        assert level.next(2) is small

    def test_cancelled_request_leaves_its_queue(self) -> None:
        """A cancelled request leaves its queue, and an idle level holds no state."""
        level = Level(1, Queuing(queues=8, hand=2, length=5))
        first, second = level.enter("a", 1, 0), level.enter("b", 1, 0)
        level.leave(second, 0)
        level.leave(first, 0)
        assert level.idle and level.next(0) is None and not level._queues

    def test_flows_are_served_fairly(self) -> None:
        """A flow with a hundred requests and one with ten alternate until the ten are done."""
        level = Level(1, Queuing(queues=64, hand=1, length=200))
        running = level.enter("x", 1, 0)
        flow: dict[Ticket, str] = {}
        for name, count in (("greedy", 100), ("modest", 10)):
            for _ in range(count):
                flow[level.enter(name, 1, 0)] = name
        now, order = 0.0, []
        while not level.idle:
            now += ESTIMATED_SECONDS
            level.leave(running, now)
            begun = level.next(now)
            if begun is None:
                break
            running = begun
            order.append(flow[begun])
        assert len(order) == 110 and order[:20].count("modest") == 10

    def test_long_requests_use_more_of_a_flows_share(self) -> None:
        """A flow whose requests take ten times as long gets a tenth as many executed."""
        level = Level(1, Queuing(queues=64, hand=1, length=500))
        running = level.enter("x", 1, 0)
        flow = {level.enter(name, 1, 0): name for name in ("slow", "fast") for _ in range(200)}
        now, order = 0.0, []
        for _ in range(110):
            now += 10 * ESTIMATED_SECONDS if flow.get(running) == "slow" else ESTIMATED_SECONDS
            level.leave(running, now)
            begun = level.next(now)
            assert begun is not None
            running = begun
            order.append(flow[running])
        assert 8 <= order.count("slow") <= 12

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.booleans()), max_size=60))
    def test_seats_never_exceed_the_limit(self, steps: list[tuple[str, int, bool]]) -> None:
        """For any sequence of requests the limit of seats holds (except for a single wide request), and every request
        is answered."""
        level = Level(5, Queuing(queues=4, hand=2, length=10))
        placed: list[Ticket] = []
        for at, (flow, seats, end) in enumerate(steps):
            now = float(at)
            if end and placed:
                level.leave(placed.pop(0), now)
            else:
                try:
                    placed.append(level.enter(flow, seats, now))
                except RejectedError:
                    continue
            while level.next(now) is not None:
                pass
            running = [place for place in placed if place.started is not None]
            assert level.seats == sum(place.seats for place in running) <= 5 and level.running == len(running)
            assert level.waiting == len(placed) - len(running)
            assert level.running or not level.waiting


class TestStage:
    def test_headers_name_schema_and_level(self) -> None:
        """The headers have the uids, as in the reference; exempt requests have none."""
        bench = Bench(small())
        bench.send()
        assert bench.headers == [
            ("X-Orch-PF-FlowSchema-UID", "uid of of-alice"), ("X-Orch-PF-PriorityLevel-UID", "uid of small")
        ]  # fmt: skip
        bench.send(User(name="root", groups=(MASTERS_GROUP,)))
        assert bench.headers == []

    def test_freed_seat_starts_a_waiting_request(self) -> None:
        """A waiting request starts when another one ends."""
        bench = Bench(small(queues=8, handSize=2, queueLengthLimit=10))
        outcomes = [bench.send() for _ in range(4)]
        assert len(bench.answers.open) == 2 and bench.stage.numbers["of-alice", "small"].waiting == 2
        bench.answers.finish()
        assert len(outcomes[0]) == 1 and len(bench.answers.open) == 2
        while bench.answers.open:
            bench.answers.finish()
        assert [out[0].code for out in outcomes] == [200] * 4
        numbers = bench.stage.numbers["of-alice", "small"]
        assert (numbers.dispatched, numbers.executing, numbers.waiting) == (4, 0, 0)
        assert not bench.clock.getDelayedCalls() and bench.stage.levels["small"].seats.idle

    def test_rejection_has_a_retry_after(self) -> None:
        """The 429 is the reference's, with Retry-After."""
        bench = Bench(small())
        bench.send(), bench.send()
        (response,) = bench.send()
        assert response.code == 429 and response.body == b"Too many requests, please try again later.\n"
        assert ("Retry-After", "1") in response.headers
        assert bench.stage.numbers["of-alice", "small"].rejected == {"concurrency-limit": 1}
        assert bench.underway.rejected == {False: 1, True: 0}

    def test_queue_wait_times_out(self) -> None:
        """A request that waits too long in a queue is rejected."""
        bench = Bench(small(queues=8, handSize=2, queueLengthLimit=10))
        bench.send(), bench.send()
        out = bench.send()
        bench.clock.advance(14.9)
        assert not out
        bench.clock.advance(0.2)
        assert out[0].code == 429 and bench.stage.numbers["of-alice", "small"].rejected == {"time-out": 1}

    def test_cancelled_request_frees_its_place(self) -> None:
        """A cancelled request leaves the queue."""
        bench = Bench(small(queues=8, handSize=2, queueLengthLimit=10))
        bench.send(), bench.send()
        out = bench.send()
        bench.last.cancel()
        assert out[0].check(CancelledError) and bench.stage.levels["small"].seats.waiting == 0
        assert not bench.clock.getDelayedCalls()

    def test_levels_are_isolated(self) -> None:
        """A level without free seats does not delay others."""
        bench = Bench(small(), limited("global-default", 1_000_000), total=2)
        bench.send()
        assert bench.send()[0].code == 429
        assert bench.send(BOB) == [] and len(bench.answers.open) == 2

    def test_watch_frees_its_seat_once_begun(self) -> None:
        """A watch frees its seat once its initial events are sent."""
        bench = Bench(small(), total=1)
        out = bench.send(path="/api/v1/pods?watch=true")
        bench.answers.finish()
        assert out[0].code == 200 and bench.send() == []

    @pytest.mark.parametrize("path", ["/apis/metrics.example/v1/nodes", "/api/v1/namespaces/a/pods"])
    def test_streamed_response_is_in_flight_until_its_end(self, path: str) -> None:
        """A response that is passed on from another server keeps its seat until it is sent or given up."""
        bench = Bench(small(), total=1)
        (out,) = [bench.send(path=path)]
        bench.answers.finish(stream=SilentStream())
        assert bench.send()[0].code == 429 and bench.underway.executing[False].current == 1
        out[0].stream.stop()
        out[0].stream.stop()
        assert bench.underway.executing[False].current == 0 and bench.send() == []

    def test_streams_to_pods_take_no_seat(self) -> None:
        """Long-running requests other than watches take no seat."""
        bench = Bench(small(), total=1)
        bench.send()
        assert bench.send(path="/api/v1/namespaces/a/pods/x/log") == [] and len(bench.answers.open) == 2

    @pytest.mark.parametrize(
        ("path", "count", "seats"),
        [
            ("/api/v1/pods", 0, 1), ("/api/v1/pods", 100, 1), ("/api/v1/pods", 101, 2), ("/api/v1/pods", 5000, 10),
            ("/api/v1/pods?limit=150", 5000, 2), ("/api/v1/pods?limit=150&labelSelector=a", 5000, 10),
            ("/api/v1/namespaces/a/pods/x", 5000, 1), ("/api/v1/pods?limit=0", 5000, 10),
            # More digits than Python converts to a number: rejected later with the verb's error.
            ("/api/v1/pods?limit=" + "9" * 5000, 5000, 10),
        ],
    )  # fmt: skip
    def test_list_width_depends_on_its_size(self, path: str, count: int, seats: int) -> None:
        """A list takes a seat per hundred objects that it reads, up to ten."""
        bench = Bench(small(), total=20, count=count)
        bench.send(path=path)
        assert bench.stage.levels["small"].seats.seats == seats

    def test_waiting_requests_are_started_iteratively(self) -> None:
        """A thousand waiting requests are started in a loop, not recursively."""
        bench = Bench(small(queues=1, handSize=1, queueLengthLimit=2000), total=1)
        blocker = bench.send()
        answers, bench.answers = bench.answers, _at_once  # type: ignore[assignment]  # a callable like the other
        outcomes = [bench.send() for _ in range(1500)]
        answers.finish()
        assert blocker[0].code == 200 and all(out[0].code == 200 for out in outcomes)

    def test_removed_level_serves_its_queue(self) -> None:
        """New requests use another level; queued ones still get seats, and then the level is dropped."""
        bench = Bench(small(queues=8, handSize=2, queueLengthLimit=10), total=1)
        first, second = bench.send(), bench.send()
        dangling = bench.stage.configure(map(schema_of, [*SCHEMAS, schema("of-alice", OF_ALICE)]), LEVELS)
        assert dangling == ["of-alice"] and "small" in bench.stage.levels
        bench.answers.finish()
        bench.answers.finish()
        assert first[0].code == second[0].code == 200
        bench.stage.configure(map(schema_of, SCHEMAS), LEVELS)
        assert "small" not in bench.stage.levels

    def test_more_seats_start_waiting_requests(self) -> None:
        """A changed configuration takes effect at once."""
        bench = Bench(small(queues=8, handSize=2, queueLengthLimit=10), limited("other", 3_000_000), total=2)
        bench.send(), bench.send()
        assert len(bench.answers.open) == 1
        bench.stage.configure(
            map(schema_of, [*SCHEMAS, schema("of-alice", OF_ALICE)]),
            [*LEVELS[:2], small(queues=8, handSize=2, queueLengthLimit=10)],
        )
        assert len(bench.answers.open) == 2

    def test_seats_are_divided_by_shares(self) -> None:
        """Each limited level has its share of all seats, rounded up."""
        stage = Bench(total=600).stage
        shares = {name: level.shares.shares for name, level in stage.levels.items()}
        assert sum(shares.values()) == 245 and "exempt" not in shares
        assert {name: level.seats.limit for name, level in stage.levels.items()} == {
            name: -(-600 * share // 245) for name, share in shares.items()
        }

    def test_mandatory_level_exists_without_objects(self) -> None:
        """The mandatory schemas and levels exist before objects are read."""
        bench = Bench()
        bench.stage.configure((), ())
        assert bench.send() == [] and list(bench.stage.levels) == ["catch-all"]


async def _at_once(request: Request) -> Response:
    return Response()
