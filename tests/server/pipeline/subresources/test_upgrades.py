"""Joined connections: forwarding, idle timeout and rate limit; ports of port-forward."""

from __future__ import annotations

import pytest
from twisted.internet.protocol import connectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from orchd.errors import ApiError
from orchd.server.pipeline.verbs.subresources.connect import _forward_options
from orchd.server.pipeline.verbs.subresources.locations import service_port
from orchd.server.pipeline.verbs.subresources.upgrade import BackendSide, Side


def _joined(clock: Clock, seconds: float) -> tuple[Side, BackendSide]:
    near, far = Side(), BackendSide()
    near.transport, far.transport = StringTransport(), StringTransport()
    far.join_client(near)
    near.registered()
    far.registered()
    near.limit(clock, seconds)
    return near, far


def test_idle_connections_are_cut() -> None:
    """Both connections are aborted when neither side has sent anything for the timeout; data from either side restarts
    it."""
    clock = Clock()
    near, far = _joined(clock, 100)
    clock.advance(60)
    near.dataReceived(b"a")
    clock.advance(60)
    far.dataReceived(b"b")
    clock.advance(99)
    assert not near.transport.disconnected and far.transport.value() == b"a" and near.transport.value() == b"b"
    clock.advance(1)
    assert near.transport.disconnected and far.transport.disconnected
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize("first", [0, 1])
def test_ended_connections_leave_no_timer(first: int) -> None:
    """When either connection ends, the other one is closed, and the timer is cancelled when it has ended too."""
    clock = Clock()
    sides = _joined(clock, 100)
    sides[first].connectionLost(Failure(connectionDone))
    assert sides[1 - first].transport.disconnecting
    sides[1 - first].connectionLost(Failure(connectionDone))
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize("first", [0, 1])
def test_connections_whose_far_side_does_not_read_the_rest_are_cut(first: int) -> None:
    """A connection that is left when the other one has ended is aborted after the timeout, if its far side does not
    read what remains."""
    clock = Clock()
    sides = _joined(clock, 100)
    sides[first].connectionLost(Failure(connectionDone))
    left = sides[1 - first].transport
    clock.advance(99)
    assert not left.disconnected
    clock.advance(1)
    assert left.disconnected and not clock.getDelayedCalls()


def test_connection_is_read_at_the_limited_rate() -> None:
    """Reading pauses for as long as the data that was read takes at the rate."""
    clock = Clock()
    near, far = _joined(clock, 1000)
    near.slow_down(clock, 100)
    near.dataReceived(b"x" * 200)
    assert far.transport.value() == b"x" * 200
    assert near.transport.producerState == "paused" and far.transport.producerState == "producing"
    clock.advance(1.9)
    assert near.transport.producerState == "paused"
    clock.advance(0.1)
    assert near.transport.producerState == "producing"
    near.dataReceived(b"x")
    assert near.transport.producerState == "producing", "a pause of 10 ms is not worth a timer"


def test_a_full_consumer_and_the_rate_both_pause() -> None:
    """Reading resumes when the other side accepts data and the pause of the rate has ended, in either order."""
    for first, second in (("rate", "consumer"), ("consumer", "rate")):
        clock = Clock()
        near, far = _joined(clock, 1000)
        near.slow_down(clock, 100)
        near.dataReceived(b"x" * 100)
        far.transport.producer.pauseProducing()
        for what in (first, second):
            assert near.transport.producerState == "paused"
            clock.advance(1) if what == "rate" else far.transport.producer.resumeProducing()
        assert near.transport.producerState == "producing"


def test_paced_connections_leave_no_timer() -> None:
    """When a rate-limited connection ends, its timer is cancelled."""
    clock = Clock()
    near, far = _joined(clock, 1000)
    near.slow_down(clock, 10)
    near.dataReceived(b"x" * 100)
    near.connectionLost(Failure(connectionDone))
    far.connectionLost(Failure(connectionDone))
    assert not clock.getDelayedCalls()


class _Request:
    """A request with ports in its query."""

    def __init__(self, *ports: str) -> None:
        self.query = {"ports": ports}


@pytest.mark.parametrize("text", ["\u00b2", "\u0663", "x", "9" * 5000, "-1"])
def test_invalid_ports_are_400(text: str) -> None:
    """A port that is not a number or out of range is 400."""
    with pytest.raises(ApiError) as caught:
        _forward_options(_Request(text))  # type: ignore[arg-type]  # as far as it is asked
    assert caught.value.code == 400


@pytest.mark.parametrize("text", ["\u00b2", "web"])
def test_non_numeric_service_ports_are_names(text: str) -> None:
    """A port that is not an ASCII number is looked up as a name."""
    assert service_port({"metadata": {"name": "a"}}, text) == text


def test_huge_service_port_is_not_found() -> None:
    """A number of any length is looked up and not found."""
    with pytest.raises(ApiError) as caught:
        service_port({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}, "9" * 5000)
    assert caught.value.code == 503
