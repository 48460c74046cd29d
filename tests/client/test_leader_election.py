"""Leader election over an in-memory server, with every kind of lock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from orchd.client import leader_election
from orchd.client.interfaces import ResourceRef
from orchd.client.leader_election import ElectionTimes, LeaderCallbacks, LeaderElection
from orchd.client.leader_locks import LOCKS, ILeaderLock, LeaderRecord, PairLock, make_lock
from orchd.dialect import ORCH
from orchd.errors import ApiError, unavailable
from orchd.testing.doubles.server import InProcessServer, make_server, run
from orchd.txkit.coroutines import start

LEASES = ResourceRef("coordination.orch.io", "v1", "leases")
ENDPOINTS = ResourceRef("", "v1", "endpoints")
CONFIG_MAPS = ResourceRef("", "v1", "configmaps")
REFS = {"endpoints": ENDPOINTS, "configmaps": CONFIG_MAPS, "leases": LEASES}
NAMESPACE = "orch-system"
KEY = "control-plane.alpha.orch.io/leader"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    running = make_server(tmp_path)
    yield running
    running.stop()


@pytest.fixture(params=LOCKS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Link:
    """A client whose connection a test cuts: requests then fail, or are never answered."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.cut = self.silent = self.defect = False
        #: How many of the next updates conflict with another write.
        self.races = 0
        #: The next update sets `holding` and waits for this.
        self.held: Deferred[None] | None = None
        self.holding = False

    def __getattr__(self, verb: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            if self.silent:
                await Deferred()
            if self.cut:
                raise unavailable("cut")
            if self.defect:
                raise RuntimeError("defect")
            if verb == "update" and self.held is not None:
                held, self.held, self.holding = self.held, None, True
                await held
            if verb == "update" and self.races:
                self.races -= 1
                ref, namespace, name, _ = arguments
                label = {"metadata": {"labels": {"race": str(self.races)}}}
                await self._client.patch(ref, namespace, name, label, content_type="application/merge-patch+json")
            return await getattr(self._client, verb)(*arguments, **named)

        return call


class Notes:
    """A recorder of events."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def event(self, regarding: Any, type: str, reason: str, note: str, **_: Any) -> None:
        self.texts.append(f"{regarding['kind']} {type} {reason} {note}")


class Candidate:
    """A candidate for leadership."""

    def __init__(self, server: InProcessServer, kind: str, identity: str, *, once: bool = False) -> None:
        self.news: list[str] = []
        self.failures: list[Failure] = []
        self.notes = Notes()
        self.link: Any = Link(server.client())
        self.ending: Deferred[None] | None = None
        # It implements the methods that locks call.
        link: Any = self.link
        self.election = LeaderElection(
            make_lock(kind, link, server.dialect, namespace=NAMESPACE, name="work"),
            leader_election.Candidate(
                identity=identity,
                recorder=self.notes,  # type: ignore[arg-type]  # a recorder by shape
                once=once,
            ),
            LeaderCallbacks(
                lead=self._lead, cease=self._cease, lost=lambda: self.news.append("lost"), failed=self.failures.append
            ),
            clock=server.clock,
            random=Random(1),
            wall=lambda: round(server.clock.seconds()),
        )
        self.started = start(self.election.start())

    async def _lead(self) -> None:
        self.news.append("leads")

    async def _cease(self) -> None:
        if self.ending is not None:
            await self.ending
        self.news.append("ceased")

    def stop(self) -> Deferred[None]:
        return start(self.election.stop())


def pass_time(server: InProcessServer, seconds: int) -> None:
    for _ in range(seconds * 2):
        server.clock.advance(0.5)


def test_first_candidate_leads_while_it_renews(server: InProcessServer, kind: str) -> None:
    """The first candidate leads at once; as long as it renews, the second waits."""
    first = Candidate(server, kind, "one")
    assert first.started.called
    assert first.news == ["leads"]
    second = Candidate(server, kind, "two")
    assert second.started.called
    pass_time(server, 60)
    assert (first.news, second.news) == (["leads"], [])
    for each in (first, second):
        each.stop()


def test_leader_stops_before_the_next_one_begins(server: InProcessServer, kind: str) -> None:
    """A leader that cannot renew stops before another begins, which happens within the lease duration and two retry
    periods."""
    first, second = Candidate(server, kind, "one"), Candidate(server, kind, "two")
    pass_time(server, 5)
    first.link.cut = True
    begin = server.clock.seconds()
    while not second.news:
        pass_time(server, 1)
        assert not (first.election.secure and second.election.leading)
    assert server.clock.seconds() - begin <= 15 + 2 * 2.4
    assert (first.news, second.news) == (["leads", "ceased"], ["leads"])
    first.link.cut = False
    pass_time(server, 60)
    assert (first.news, second.news) == (["leads", "ceased"], ["leads"])
    second.stop()
    pass_time(server, 3)
    assert first.news == ["leads", "ceased", "leads"]
    first.stop()


def test_unanswered_renewal_ends_at_the_renew_deadline(server: InProcessServer, kind: str) -> None:
    """A leader whose renewal is never answered stops at the renew deadline."""
    first = Candidate(server, kind, "one")
    pass_time(server, 5)
    first.link.silent = True
    pass_time(server, 11)
    assert first.news == ["leads", "ceased"]
    first.stop()


@pytest.mark.parametrize(
    ("fault", "text"),
    [("cut", "lock work: cut"), ("silent", "lock work: no response within "), ("defect", "lock work")],
)
def test_election_is_logged(server: InProcessServer, fault: str, text: str) -> None:
    """Who leads and why renewals fail, also by a defect, which ends the term like any failure."""
    with capturedLogs() as events:
        first, second = Candidate(server, "leases", "one"), Candidate(server, "leases", "two")
        pass_time(server, 5)
        setattr(first.link, fault, True)
        pass_time(server, 11)
    lines = [formatEvent(event).partition("\n")[0] for event in events]
    assert lines[:2] == ["one leads work", "work is led by one"]
    assert "one no longer leads work" in lines and sum(line.startswith(text) for line in lines) >= 1
    assert first.news == ["leads", "ceased"]
    setattr(first.link, fault, False)
    pass_time(server, 20)
    assert sorted([*first.news, *second.news]) == ["ceased", "leads", "leads"]
    for each in (first, second):
        each.stop()
        pass_time(server, 3)


def test_short_outage_does_not_end_a_term(server: InProcessServer) -> None:
    """A leader whose renewals fail for less than the renew deadline goes on, and a conflict is nothing to report."""
    first = Candidate(server, "leases", "one")
    pass_time(server, 3)
    first.link.cut = True
    pass_time(server, 3)
    first.link.cut, first.link.races = False, 1
    with capturedLogs() as events:
        pass_time(server, 20)
    assert first.news == ["leads"] and not first.link.races
    assert [text for event in events if "lock work" in (text := formatEvent(event))] == []
    first.stop()


def test_lock_that_another_candidate_holds_ends_the_term(server: InProcessServer) -> None:
    """A leader that finds another holder does not wait for the renew deadline."""
    first = Candidate(server, "leases", "one")
    taken = {"spec": {"holderIdentity": "two"}}
    run(server.client().patch(LEASES, NAMESPACE, "work", taken, content_type="application/merge-patch+json"))
    pass_time(server, 5)
    assert first.news == ["leads", "ceased"]
    first.stop()


def test_cancelled_stop_is_cancelled(server: InProcessServer) -> None:
    """The release of the lock ends with the stop that waits for it."""
    first = Candidate(server, "leases", "one")
    first.link.silent = True
    ends: list[Any] = []
    stopping = first.stop()
    stopping.addErrback(lambda failure: ends.append(failure.check(CancelledError)))
    stopping.cancel()
    assert ends == [CancelledError] and first.news == ["leads", "ceased"]


def test_single_term_candidate_does_not_retry(server: InProcessServer) -> None:
    """A single-term candidate reports that it lost the lock and does not try again."""
    first = Candidate(server, "leases", "one", once=True)
    first.link.cut = True
    pass_time(server, 11)
    assert first.news == ["leads", "ceased", "lost"]
    first.link.cut = False
    pass_time(server, 60)
    assert first.news == ["leads", "ceased", "lost"]
    first.stop()


def test_stop_releases_the_lock(server: InProcessServer, kind: str) -> None:
    """A leader that stops ends its work and releases the lock, so that the next one need not wait for the expiry."""
    first, second = Candidate(server, kind, "one"), Candidate(server, kind, "two")
    pass_time(server, 5)
    first.ending = Deferred()
    stopping = first.stop()
    pass_time(server, 5)
    assert second.news == []
    first.ending.callback(None)
    assert stopping.called
    pass_time(server, 3)
    assert second.news == ["leads"]
    second.stop()


def test_release_retries_after_a_conflict(server: InProcessServer, kind: str) -> None:
    """A lock that is written between reading and releasing it is read again, and released."""
    first, second = Candidate(server, kind, "one"), Candidate(server, kind, "two")
    first.link.races = 2
    assert first.stop().called
    pass_time(server, 3)
    assert second.news == ["leads"]
    second.stop()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("cut", "cut"), ("silent", "no response within 2.0 s"), ("races", "the object has been modified")],
)
def test_failed_release_does_not_fail_the_stop(server: InProcessServer, fault: str, reason: str) -> None:
    """A lock that cannot be released neither fails nor delays the stop; one warning gives the reason and the
    consequence."""
    first = Candidate(server, "leases", "one")
    setattr(first.link, fault, 1000)
    with capturedLogs() as events:
        stopping = first.stop()
        pass_time(server, 3)
    assert stopping.called
    warnings = [text for event in events if "was not released" in (text := formatEvent(event))]
    assert len(warnings) == 1
    assert reason in warnings[0]
    assert warnings[0].endswith("it expires within 15.0 s")


def test_stop_waits_for_the_end_of_a_term(server: InProcessServer) -> None:
    """A stop while a term ends waits for the end of the term."""
    first = Candidate(server, "leases", "one")
    first.ending = Deferred()
    first.link.cut = True
    pass_time(server, 11)
    assert first.news == ["leads"]
    first.ending = None
    assert first.stop().called
    assert first.news == ["leads", "ceased"]


def test_last_writes_of_an_orderly_stop(server: InProcessServer) -> None:
    """The work may write until it has stopped, but not beyond the lease."""
    first = Candidate(server, "leases", "one")
    ending: Deferred[None] = Deferred()
    first.ending = ending
    stopped = first.stop()
    assert first.election.secure
    server.clock.advance(14)
    assert first.election.secure
    server.clock.advance(1)
    assert not first.election.secure
    ending.callback(None)
    assert stopped.called
    assert not first.election.leading


def test_no_writes_after_the_lock_was_lost(server: InProcessServer) -> None:
    """Work that stops because the lock was lost writes nothing."""
    first = Candidate(server, "leases", "one")
    ending: Deferred[None] = Deferred()
    first.ending = ending
    first.link.cut = True
    pass_time(server, 11)
    assert first.election.secure is False
    ending.callback(None)
    first.stop()


def test_candidate_with_the_holders_identity_leads_at_once(server: InProcessServer, kind: str) -> None:
    """A candidate with the holder's identity leads at once: it is the same process after a crash."""
    first = Candidate(server, kind, "one")
    first.link.silent = True
    again = Candidate(server, kind, "one")
    assert again.news == ["leads"]
    for each in (first, again):
        each.stop()
        pass_time(server, 3)


def test_error_of_lead_is_passed_to_failed(server: InProcessServer) -> None:
    """An error of `lead` is passed to `failed`."""
    failing = FailingCandidate(server, "leases", "one")
    assert [str(failure.value) for failure in failing.failures] == ["cannot begin"]
    failing.stop()


class FailingCandidate(Candidate):
    async def _lead(self) -> None:
        raise RuntimeError("cannot begin")


def test_leading_is_recorded_in_events(server: InProcessServer, kind: str) -> None:
    """Each lock object gets events when a leader starts and stops leading."""
    first = Candidate(server, kind, "one")
    first.stop()
    names = {"leases": "Lease", "endpoints": "Endpoints", "configmaps": "ConfigMap"}
    objects = [name for plural, name in names.items() if plural in kind]
    assert sorted(first.notes.texts) == sorted(
        f"{name} Normal LeaderElection one {what}" for name in objects for what in ("became leader", "stopped leading")
    )


def test_lease_fields(server: InProcessServer) -> None:
    """A Lease has the holder, its duration, times in microseconds and the number of transitions."""
    first = Candidate(server, "leases", "one")
    first.link.cut = True
    second = Candidate(server, "leases", "two")
    pass_time(server, 40)
    spec = run(server.client().get(LEASES, NAMESPACE, "work"))["spec"]
    times = [spec.pop("acquireTime"), spec.pop("renewTime")]
    assert spec == {"holderIdentity": "two", "leaseDurationSeconds": 15, "leaseTransitions": 1}
    assert all(re.fullmatch(r"2027-01-15T08:00:\d\d\.000000Z", time) for time in times)
    assert times[0] < times[1]
    second.stop()
    spec = run(server.client().get(LEASES, NAMESPACE, "work"))["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("", 1, 1)
    first.stop()


def test_transitions_count_new_holders(server: InProcessServer) -> None:
    """Renewals leave the number of transitions and the time at which the lock was acquired as they are."""
    first = Candidate(server, "leases", "one")

    def spec() -> Any:
        return run(server.client().get(LEASES, NAMESPACE, "work"))["spec"]

    begin = spec()
    pass_time(server, 30)
    assert spec()["leaseTransitions"] == 0 and spec()["acquireTime"] == begin["acquireTime"]
    assert spec()["renewTime"] > begin["renewTime"]
    first.stop()
    second = Candidate(server, "leases", "two")
    begin = spec()
    pass_time(server, 30)
    assert (begin["leaseTransitions"], spec()["leaseTransitions"]) == (1, 1)
    assert begin["acquireTime"] == begin["renewTime"] == spec()["acquireTime"]
    second.stop()


class Requests:
    """A client that records requests; those with a verb of `failures` fail."""

    def __init__(self, **failures: ApiError) -> None:
        self.objects: list[Any] = []
        self.stored: Any = {}
        self.failures = failures

    async def _take(self, verb: str, obj: Any) -> Any:
        if verb in self.failures:
            raise self.failures[verb]
        self.objects.append(obj)
        return obj

    async def get(self, ref: ResourceRef, namespace: str, name: str) -> Any:
        return await self._take("get", {"metadata": {"namespace": namespace, "name": name}, **self.stored})

    async def create(self, ref: ResourceRef, namespace: str, obj: Any) -> Any:
        return await self._take("create", obj)

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Any) -> Any:
        return await self._take("update", obj)


RECORD = LeaderRecord(holder="one", duration=15, acquired="2020-01-01T00:00:00.500000Z", renewed="", transitions=0)


@pytest.mark.parametrize(
    ("plural", "version", "kind"),
    [
        ("leases", "coordination.orch.io/v1", "Lease"),
        ("endpoints", "v1", "Endpoints"),
        ("configmaps", "v1", "ConfigMap"),
    ],
)
def test_created_lock_is_a_complete_object(plural: str, version: str, kind: str) -> None:
    """It can be sent in any form; events about it name its kind before and after it was created."""
    client: Any = Requests()
    lock = make_lock(plural, client, ORCH, namespace=NAMESPACE, name="work")
    metadata = {"namespace": NAMESPACE, "name": "work"}
    assert list(lock.objects()) == [{"apiVersion": version, "kind": kind, "metadata": metadata}]
    with pytest.raises(ApiError, match="has not been read") as raised:
        run(lock.update(RECORD))
    assert raised.value.code == 404 and not client.objects
    run(lock.create(RECORD))
    (obj,) = client.objects
    assert (obj["apiVersion"], obj["kind"]) == (version, kind)
    assert metadata.items() <= obj["metadata"].items()
    (about,) = lock.objects()
    assert (about["apiVersion"], about["kind"], about["metadata"]) == (version, kind, obj["metadata"])


class Half:
    """A lock of a pair; the methods of `failures` fail, others are recorded."""

    name = "work"

    def __init__(self, **failures: ApiError) -> None:
        self.failures = failures
        self.calls: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        async def call(*_: Any) -> Any:
            self.calls.append(verb)
            if verb in self.failures:
                raise self.failures[verb]
            return RECORD, self

        return call


MISSING, EXISTS, BROKEN = ApiError(404, "NotFound", ""), ApiError(409, "AlreadyExists", ""), unavailable("broken")


@pytest.mark.parametrize(
    ("verb", "first", "second", "calls", "error"),
    [
        ("get", {}, {"get": MISSING}, "get", None),
        ("get", {}, {"get": BROKEN}, "get", BROKEN),
        ("get", {"get": MISSING}, {}, "", MISSING),
        ("create", {"create": EXISTS}, {}, "create", None),
        ("create", {"create": BROKEN}, {}, "", BROKEN),
        ("update", {}, {}, "get update", None),
        ("update", {}, {"get": MISSING}, "get create", None),
        ("update", {}, {"get": BROKEN}, "get", BROKEN),
        ("update", {"update": BROKEN}, {}, "", BROKEN),
    ],
)
def test_pair_of_locks_needs_the_first(
    verb: str, first: dict[str, ApiError], second: dict[str, ApiError], calls: str, error: ApiError | None
) -> None:
    """A missing second lock counts as the first, and is created with the next write; other failures are those of the
    pair. `calls` are those of the second lock."""
    halves: list[Any] = [Half(**first), Half(**second)]
    pair = PairLock(halves[0], halves[1], ORCH)
    call = getattr(pair, verb)(*([] if verb == "get" else [RECORD]))
    if error is None:
        run(call)
    else:
        with pytest.raises(ApiError) as raised:
            run(call)
        assert raised.value is error
    assert halves[0].calls == [verb] and halves[1].calls == calls.split()


@pytest.mark.parametrize("plural", ["endpoints", "configmaps"])
def test_annotation_fields(server: InProcessServer, plural: str) -> None:
    """The annotation has the members of the reference's record in its order, with times in whole seconds."""
    first = Candidate(server, plural, "one")
    obj = run(server.client().get(REFS[plural], NAMESPACE, "work"))
    assert re.fullmatch(
        r'{"holderIdentity":"one","leaseDurationSeconds":15,"acquireTime":"2027-01-15T08:00:0\dZ",'
        r'"renewTime":"2027-01-15T08:00:0\dZ","leaderTransitions":0}',
        obj["metadata"]["annotations"][KEY],
    )
    first.stop()


def test_config_map_lock_keeps_its_data(server: InProcessServer) -> None:
    """A ConfigMap that is used as a lock keeps its data and annotations."""
    client = server.client()
    mine = {"metadata": {"name": "work", "annotations": {"a": "b"}}, "data": {"k": "v"}}
    run(client.create(CONFIG_MAPS, NAMESPACE, mine))
    first = Candidate(server, "configmaps", "one")
    assert first.news == ["leads"]
    config_map = run(client.get(CONFIG_MAPS, NAMESPACE, "work"))
    assert config_map["data"] == {"k": "v"}
    assert config_map["metadata"]["annotations"]["a"] == "b"
    first.stop()


@pytest.mark.parametrize("text", ["[]", "{", "5", '{"leaseDurationSeconds":"x"}', '{"leaderTransitions":[1]}'])
def test_unreadable_annotation_is_an_error(server: InProcessServer, text: str) -> None:
    """The error names the annotation and its object."""
    broken = {"metadata": {"name": "work", "annotations": {KEY: text}}}
    run(server.client().create(CONFIG_MAPS, NAMESPACE, broken))
    with pytest.raises(ApiError, match=f"annotation {KEY} of ConfigMap work: ") as raised:
        run(lock(server, "configmaps").get())
    assert raised.value.code == 500


@pytest.mark.parametrize(
    ("plural", "stored", "expected"),
    [
        ("leases", {}, LeaderRecord()),
        (
            "leases",
            {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 5, "renewTime": "t", "acquireTime": "s", "leaseTransitions": 3}},
            LeaderRecord(holder="h", duration=5, renewed="t", acquired="s", transitions=3),
        ),
        ("configmaps", {}, LeaderRecord()),
        ("configmaps", {"metadata": {"annotations": {KEY: "{}"}}}, LeaderRecord()),
        (
            "configmaps",
            {"metadata": {"annotations": {KEY: '{"holderIdentity":"h","leaseDurationSeconds":5,"leaderTransitions":3}'}}},
            LeaderRecord(holder="h", duration=5, transitions=3),
        ),
    ],
)  # fmt: skip
def test_stored_records(plural: str, stored: Any, expected: LeaderRecord) -> None:
    """What a record lacks is empty."""
    client: Any = Requests()
    client.stored = stored
    record, _ = run(make_lock(plural, client, ORCH, namespace=NAMESPACE, name="work").get())
    assert record == expected


def test_written_times() -> None:
    """A Lease has times with microseconds, an annotation whole seconds; missing ones are null."""
    record = LeaderRecord(holder="h", duration=5, acquired="2020-01-01T00:00:00Z", renewed="", transitions=1)
    later = replace(record, renewed="2020-01-01T00:00:01.500000Z")
    client: Any = Requests()
    for plural in ("leases", "configmaps"):
        held = make_lock(plural, client, ORCH, namespace=NAMESPACE, name="work")
        run(held.create(record))
        run(held.update(later))
    first, second, third, fourth = client.objects
    assert [each["spec"]["acquireTime"] for each in (first, second)] == ["2020-01-01T00:00:00.000000Z"] * 2
    assert [each["spec"]["renewTime"] for each in (first, second)] == [None, "2020-01-01T00:00:01.500000Z"]
    head = '{"holderIdentity":"h","leaseDurationSeconds":5,"acquireTime":"2020-01-01T00:00:00Z","renewTime":'
    assert [each["metadata"]["annotations"][KEY] for each in (third, fourth)] == [
        head + 'null,"leaderTransitions":1}',
        head + '"2020-01-01T00:00:01Z","leaderTransitions":1}',
    ]


def test_unreadable_annotation_is_not_overwritten(server: InProcessServer) -> None:
    """A lock with an invalid annotation is not acquired."""
    broken = {"metadata": {"name": "work", "annotations": {KEY: "[]"}}}
    run(server.client().create(CONFIG_MAPS, NAMESPACE, broken))
    first = Candidate(server, "configmaps", "one")
    pass_time(server, 30)
    assert first.news == []
    first.stop()


# -- two locks at once


def test_two_lock_candidate_respects_a_holder_of_one_lock(server: InProcessServer) -> None:
    """A candidate for two locks respects a holder of the first lock, and acquires both when that lock is released."""
    old = Candidate(server, "configmaps", "old")
    new = Candidate(server, "configmapsleases", "new")
    pass_time(server, 40)
    assert (old.news, new.news) == (["leads"], [])
    old.stop()
    pass_time(server, 3)
    assert new.news == ["leads"]
    assert run(server.client().get(LEASES, NAMESPACE, "work"))["spec"]["holderIdentity"] == "new"
    # Candidates for either lock alone now have to wait.
    for kind in ("configmaps", "leases"):
        late = Candidate(server, kind, f"late {kind}")
        pass_time(server, 30)
        assert late.news == []
        late.stop()
    new.stop()


def test_no_candidate_leads_while_the_locks_have_different_holders(server: InProcessServer) -> None:
    """While the two locks have different holders, no candidate leads."""
    one = Candidate(server, "endpoints", "one")
    other = Candidate(server, "leases", "other")
    both = Candidate(server, "endpointsleases", "one")
    pass_time(server, 40)
    assert both.news == []
    for each in (one, other, both):
        each.stop()


# -- the locks themselves


def lock(server: InProcessServer, kind: str) -> ILeaderLock:
    lock: ILeaderLock = make_lock(kind, server.client(), server.dialect, namespace=NAMESPACE, name="work")
    return lock


RECORD = LeaderRecord(
    holder="one",
    duration=15,
    acquired="2027-01-15T08:00:00.000001Z",
    renewed="2027-01-15T08:00:02.000002Z",
    transitions=3,
)


def test_missing_lock_is_404(server: InProcessServer, kind: str) -> None:
    """`get` of a lock that does not exist is 404."""
    with pytest.raises(ApiError) as caught:
        run(lock(server, kind).get())
    assert caught.value.code == 404


def test_written_record_is_read_back(server: InProcessServer, kind: str) -> None:
    """A written record is read back, by others too, and changes are detected."""
    mine, other = lock(server, kind), lock(server, kind)
    run(mine.create(RECORD))
    record, raw = run(other.get())
    assert (record.holder, record.duration, record.transitions) == ("one", 15, 3)
    assert record.renewed.startswith("2027-01-15T08:00:02")
    assert run(other.get())[1] == raw
    run(mine.get())
    run(mine.update(LeaderRecord(holder="two", duration=1, renewed="2027-01-15T08:00:04.000000Z")))
    record, changed = run(other.get())
    assert record.holder == "two"
    assert changed != raw


def test_concurrent_update_is_409(server: InProcessServer, kind: str) -> None:
    """Of two updates of the same version the second fails with 409."""
    one, other = lock(server, kind), lock(server, kind)
    run(one.create(RECORD))
    run(one.get())
    run(other.get())
    run(one.update(replace(RECORD, transitions=4)))
    with pytest.raises(ApiError) as caught:
        run(other.update(replace(RECORD, holder="other")))
    assert caught.value.code == 409
    with pytest.raises(ApiError) as caught:
        run(lock(server, kind).create(RECORD))
    assert caught.value.code == 409


def test_unknown_lock_kind_is_refused(server: InProcessServer) -> None:
    """The error for an unknown kind of lock lists the valid kinds."""
    with pytest.raises(ValueError, match="unknown lock 'secrets': one of leases, endpoints"):
        lock(server, "secrets")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"lease": 0.5, "renew": 0.3, "retry": 0.1}, "at least 1s"),
        ({"retry": 0}, "above 0"),
        ({"lease": 10}, "greater than the renew deadline"),
        ({"renew": 2.4}, "1.2 times the retry period"),
    ],
)
def test_inconsistent_durations_are_refused(times: dict[str, float], message: str) -> None:
    """Durations with which two candidates could lead at once, or no leader could renew in time, are rejected."""
    with pytest.raises(ValueError, match=message):
        ElectionTimes(**times)


def test_leader_is_unhealthy_after_its_lease_is_long_over(server: InProcessServer) -> None:
    """A leader that is still stopping long after its lease expired is unhealthy."""
    first = Candidate(server, "leases", "one")
    pass_time(server, 30)
    assert first.election.check() == ""
    server.clock.rightNow += 40
    assert first.election.check() == "failed election to renew leadership on lease work"
    assert not first.election.secure
    server.clock.rightNow -= 40
    first.stop()


def test_renewal_counts_from_its_request(server: InProcessServer) -> None:
    """A late response to a renewal extends the lease from the time of its request."""
    first = Candidate(server, "leases", "one")
    held: Deferred[None] = Deferred()
    first.link.held = held
    while not first.link.holding:
        server.clock.advance(0.5)
    pass_time(server, 4)
    first.link.cut = True
    held.callback(None)
    assert first.news == ["leads"]
    pass_time(server, 7)
    assert first.news == ["leads", "ceased"]
    first.stop()


def test_lock_of_another_holder_is_not_released(server: InProcessServer) -> None:
    """A leader that stops does not release a lock that another candidate holds."""
    first = Candidate(server, "leases", "one")
    taken = {"spec": {"holderIdentity": "two"}}
    run(server.client().patch(LEASES, NAMESPACE, "work", taken, content_type="application/merge-patch+json"))
    assert first.stop().called
    assert run(server.client().get(LEASES, NAMESPACE, "work"))["spec"]["holderIdentity"] == "two"
