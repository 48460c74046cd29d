"""Limits of priority levels that lend and borrow seats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.bootstrap import objects
from orchd.server.pipeline.fairness.allocation import Claim, allocate
from orchd.server.pipeline.fairness.demand import Demand
from orchd.server.pipeline.fairness.limits import PERIOD
from orchd.server.pipeline.fairness.schemas import schema_of
from tests.server.pipeline.fairness_support import BOB, OF_ALICE, SCHEMAS, Bench, schema

ROOT = User(name="root", groups=(MASTERS_GROUP,))
QUEUED = {"queues": 4, "handSize": 2, "queueLengthLimit": 20}


def level(name: str, shares: int, lendable: int = 0, borrowing: int | None = None, **queuing: int) -> dict[str, Any]:
    limited: dict[str, Any] = {"nominalConcurrencyShares": shares, "lendablePercent": lendable}
    limited["limitResponse"] = {"type": "Queue", "queuing": queuing} if queuing else {"type": "Reject"}
    if borrowing is not None:
        limited["borrowingLimitPercent"] = borrowing
    return {"metadata": {"name": name, "uid": name}, "spec": {"type": "Limited", "limited": limited}}


def bench(*levels: dict[str, Any], total: int = 100, count: int = 0) -> Bench:
    return Bench(level("catch-all", 0), *levels, total=total, count=count, release=NEWEST)


def limits(made: Bench) -> dict[str, int]:
    return {name: each.seats.limit for name, each in made.stage.levels.items() if name not in ("catch-all", "exempt")}


def adjust(made: Bench, seconds: float = PERIOD) -> dict[str, int]:
    made.clock.advance(seconds)
    made.stage.adjust()
    return limits(made)


CLAIMS = st.tuples(st.integers(0, 100), st.integers(0, 200), st.integers(0, 100)).map(
    lambda numbers: Claim(target=numbers[0] + numbers[1], lower=numbers[0], upper=numbers[0] + numbers[2])
)


class TestAllocation:
    @pytest.mark.parametrize(
        ("total", "claims", "seats", "fraction"),
        [
            (30, [(10, 0, 100), (20, 0, 100)], [10, 20], 1),
            (15, [(10, 0, 100), (20, 0, 100)], [5, 10], 0.5),
            (60, [(10, 0, 100), (20, 0, 25)], [35, 25], 3.5),
            (12, [(10, 8, 100), (20, 0, 100)], [8, 4], 0.2),
            (8, [(10, 8, 100), (20, 0, 100)], [8, 0], 0),
            (130, [(10, 0, 100), (20, 0, 30)], [100, 30], 10),
            (0, [(10, 0, 100)], [0], 0),
            # A claim without a target gets what nobody else may have.
            (100, [(0, 0, 100), (20, 0, 40)], [60, 40], 60_000),
        ],
    )
    def test_claims_get_the_same_fraction_within_bounds(
        self, total: int, claims: list[tuple[int, int, int]], seats: list[float], fraction: float
    ) -> None:
        shares = allocate(total, [Claim(target=target, lower=low, upper=high) for target, low, high in claims])
        assert shares is not None
        assert shares[0] == pytest.approx(seats) and shares[1] == pytest.approx(fraction)

    @pytest.mark.parametrize("total", [7, 131])
    def test_impossible_totals_have_no_allocation(self, total: int) -> None:
        claims = [Claim(target=10, lower=8, upper=100), Claim(target=20, lower=0, upper=30)]
        assert allocate(total, claims) is None

    @given(st.lists(CLAIMS, min_size=1, max_size=8), st.floats(0, 1))
    def test_allocations_use_all_seats_within_the_bounds(self, claims: list[Claim], part: float) -> None:
        """Whoever gets more than the fraction has its lower bound, whoever gets less its upper one."""
        lowest, highest = sum(claim.lower for claim in claims), sum(claim.upper for claim in claims)
        total = round(lowest + part * (highest - lowest))
        shares = allocate(total, claims)
        assert shares is not None
        assert sum(shares[0]) == pytest.approx(total, abs=1e-4)
        for claim, seats in zip(claims, shares[0], strict=True):
            even = shares[1] * max(claim.target, 0.001)
            assert claim.lower - 1e-6 <= seats <= claim.upper + 1e-6
            if lowest < total < highest:
                assert seats == pytest.approx(max(claim.lower, min(claim.upper, even)))


def test_demand_over_a_period() -> None:
    """Average and deviation are weighted with time; the smoothed demand rises at once and falls slowly."""
    demand = Demand(100.0)
    demand.change(4, 105.0)
    demand.change(2, 107.5)
    demand.change(-6, 110.0)
    demand.end_period(110.0)
    assert (demand.peak, demand.average) == (6, 2.5)
    assert demand.deviation == pytest.approx(6.75**0.5)
    first = demand.smoothed
    assert first == pytest.approx(demand.average + demand.deviation)
    demand.end_period(120.0)
    assert (demand.peak, demand.average) == (0, 0) and demand.smoothed == pytest.approx(0.977 * first)
    demand.end_period(120.0)
    assert demand.smoothed == pytest.approx(0.977 * first)


class TestLimits:
    def test_bounds_follow_the_configuration(self) -> None:
        """Of its share of all seats a level lends a part, and it borrows up to a part or without a limit."""
        stage = bench(level("small", 1, 50, 20), level("other", 3, 33)).stage
        bounds = {
            name: (each.nominal, each.lower, each.upper) for name, made in stage.levels.items() if (each := made.bounds)
        }
        assert bounds == {
            "catch-all": (0, 0, 100),
            "exempt": (0, 0, 100),
            "small": (25, 12, 30),
            "other": (75, 50, 175),
        }

    def test_busy_levels_borrow_what_others_lend(self) -> None:
        """The limit of a level with demand grows at the cost of idle ones, to its upper bound, until they have demand
        themselves."""
        stage = bench(level("small", 50, 50, 60), level("global-default", 50, 80, **QUEUED))
        assert sum(not stage.send() for _ in range(90)) == 71
        assert adjust(stage) == {"small": 80, "global-default": 20}
        assert not any(stage.send(BOB) for _ in range(40))
        assert stage.stage.levels["global-default"].seats.running == 20
        assert adjust(stage) == {"small": 60, "global-default": 40}

    def test_seats_of_exempt_requests_are_taken_from_others(self) -> None:
        """While exempt requests occupy seats, what others lend goes to nobody."""
        stage = bench(level("small", 50, 50), level("global-default", 50, 40))
        for _ in range(60):
            stage.send(ROOT)
        assert adjust(stage) == {"small": 25, "global-default": 30}
        assert stage.stage.levels["exempt"].seats.limit == 60

    def test_built_in_levels_have_the_limits_of_the_reference(self) -> None:
        """Of 600 seats, while one exempt request executes: what idle levels lend is divided by what they keep."""
        built_in = [each.object for each in objects.flow_control(ORCH, NEWEST)]
        stage = bench(*[each for each in built_in if each["kind"] != "FlowSchema"], total=600)
        stage.send(ROOT)
        stage.clock.advance(PERIOD)
        stage.stage.adjust()
        assert {name: each.seats.limit for name, each in stage.stage.levels.items()} == {
            "catch-all": 30, "exempt": 1, "global-default": 56, "leader-election": 58, "node-high": 170, "system": 117,
            "workload-high": 114, "workload-low": 56,
        }  # fmt: skip

    def test_more_seats_begin_waiting_requests(self) -> None:
        """An adjustment begins requests that wait."""
        stage = bench(level("small", 10, **QUEUED), level("global-default", 90, 90))
        out = [stage.send() for _ in range(60)]
        before = len(stage.answers.open)
        assert before < 60 and not any(out)
        adjust(stage)
        assert len(stage.answers.open) == 60

    def test_levels_without_seats_queue_everything(self) -> None:
        """Requests of a level without seats that may not borrow wait until they are rejected."""
        stage = bench(level("small", 0, 0, 0, **QUEUED), level("global-default", 100))
        out = stage.send()
        assert limits(stage)["small"] == 0 and not stage.answers.open
        stage.clock.advance(15.1)
        assert out[0].code == 429

    def test_impossible_allocations_change_nothing(self) -> None:
        """An exempt level has nominal seats that nobody may borrow: limits stay."""
        exempt = {
            "metadata": {"name": "exempt"},
            "spec": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 50, "lendablePercent": 0}},
        }
        stage = bench(level("small", 50, 0, 0), exempt)
        stage.stage.configure(
            map(schema_of, [*SCHEMAS, schema("of-alice", OF_ALICE)]),
            [level("catch-all", 0, 0, 0), level("small", 50, 0, 0), exempt],
        )
        assert adjust(stage) == {"small": 50}


class TestRequests:
    def test_exempt_requests_are_counted(self) -> None:
        """Exempt requests have the headers of their level, and occupy its seats without a limit."""
        stage = bench(level("small", 1), total=1)
        for _ in range(3):
            stage.send(ROOT)
        numbers = stage.stage.numbers["exempt", "exempt"]
        assert (numbers.executing, numbers.seats, numbers.dispatched, numbers.waited.count) == (3, 3, 3, 0)
        assert [name for name, _ in stage.headers] == ["X-Orch-PF-FlowSchema-UID", "X-Orch-PF-PriorityLevel-UID"]
        stage.answers.finish()
        assert (numbers.executing, numbers.execution.count) == (2, 1)

    @pytest.mark.parametrize(
        ("path", "count", "seats"),
        [
            ("/api/v1/pods", 0, 1), ("/api/v1/pods", 100, 1), ("/api/v1/pods", 101, 2), ("/api/v1/pods", 100_000, 10),
            ("/api/v1/pods?limit=150", 5000, 2), ("/api/v1/pods?limit=150&labelSelector=a", 5000, 2),
            ("/api/v1/pods?fieldSelector=metadata.name%3Dx", 5000, 10), ("/api/v1/namespaces/a/pods/x", 5000, 1),
            ("/api/v1/pods?watch=true", 5000, 10), ("/api/v1/pods?watch=true&resourceVersion=5", 5000, 1),
            ("/api/v1/pods?watch=true&resourceVersion=5&sendInitialEvents=true", 300, 3),
        ],
    )  # fmt: skip
    def test_seats_depend_on_bytes(self, path: str, count: int, seats: int) -> None:
        """A list, and a watch that begins with the objects, takes a seat per 100 KB, up to those held at a time."""
        stage = bench(level("small", 100), total=200, count=count)
        stage.send(path=path)
        assert stage.stage.levels["small"].seats.seats == seats
        assert stage.stage.numbers["of-alice", "small"].widths.sum == seats

    def test_requests_are_at_most_as_wide_as_their_level_allows(self) -> None:
        """15% of the nominal seats, and few enough for the queues of a flow."""
        stage = bench(level("small", 100, **QUEUED), total=20, count=5000)
        stage.send(path="/api/v1/pods")
        assert stage.stage.levels["small"].seats.seats == 3

    def test_executions_of_watches_are_counted_apart(self) -> None:
        stage = bench(level("small", 100))
        stage.send(path="/api/v1/pods?watch=true")
        stage.answers.finish()
        numbers = stage.stage.numbers["of-alice", "small"]
        assert (numbers.execution.count, numbers.watches.count) == (0, 1)

    def test_waiting_seats_and_blocked_requests_are_counted(self) -> None:
        """A request that is next and needs more seats than are free is counted when it leaves the queue."""
        stage = bench(level("small", 100, 0, 0, **QUEUED), total=20, count=5000)
        for _ in range(18):
            stage.send()
        stage.send(path="/api/v1/pods")
        numbers = stage.stage.numbers["of-alice", "small"]
        assert (numbers.seats_waiting, numbers.blocked) == (3, 0)
        stage.answers.finish()
        assert (numbers.seats_waiting, numbers.blocked) == (0, 1)
