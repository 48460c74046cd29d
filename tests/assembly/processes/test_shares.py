"""The settings of each process of a server with several."""

from __future__ import annotations

import pickle

import pytest

from orchd.assembly.processes.shares import count_of_started, of_owner, of_serving_process
from orchd.config.options import Options, from_options
from orchd.config.settings import Settings


def settings(*flags: str) -> Settings:
    options = Options()
    options.parseOptions(["--data-dir=/d", *flags])
    return from_options(options)


@pytest.mark.parametrize(
    ("count", "reading", "changing"), [(1, 400, 200), (2, 200, 100), (3, 134, 67)], ids=["one", "two", "rounded up"]
)
def test_limits_are_divided(count: int, reading: int, changing: int) -> None:
    """Each process has its part of the limits of requests and of rates, and all of them together not less than is
    configured."""
    own = of_serving_process(settings(f"--processes={count}"), 7)
    assert (own.serving.max_requests_inflight, own.serving.max_mutating_requests_inflight) == (reading, changing)
    assert own.admission.rate_share == 1 / count
    assert (own.serving.port, own.serving.processes) == (7, 1)


def test_owner_serves_if_there_is_one_other() -> None:
    """With two processes the owner has the limits of one that serves; with more it has all of them for its own
    controllers, and so many others serve."""
    two, three = settings("--processes=2"), settings("--processes=3")
    assert (count_of_started(two), count_of_started(three)) == (1, 3)
    assert [of_owner(each, 7).serving.max_requests_inflight for each in (two, three)] == [200, 400]
    assert [of_owner(each, 7).serving.max_mutating_requests_inflight for each in (two, three)] == [100, 200]
    assert [of_owner(each, 7).admission.rate_share for each in (two, three)] == [0.5, 1.0]
    assert (of_owner(two, 7).serving.port, of_owner(two, 7).serving.processes) == (7, 1)


def test_no_limit_stays_none() -> None:
    """0, which means no limit, is not divided."""
    flags = ("--max-requests-inflight=0", "--enable-priority-and-fairness=false", "--processes=2")
    assert of_serving_process(settings(*flags), 1).serving.max_requests_inflight == 0


def test_store_of_the_processes_is_the_owners() -> None:
    """The owner serves the embedded store, and the others use its socket as an etcd."""
    chosen = settings("--processes=2")
    owner, own = of_owner(chosen, 1).storage, of_serving_process(chosen, 1).storage
    assert (owner.served, owner.etcd) == (True, None)
    assert own.etcd is not None
    assert own.etcd.servers == ("unix:///d/store.sock",)


def test_foreign_store_is_used_by_all() -> None:
    """With etcd, all processes have the configured servers, and nobody serves a store."""
    chosen = settings("--processes=2", "--etcd-servers=http://127.0.0.1:1")
    owner, own = of_owner(chosen, 1).storage, of_serving_process(chosen, 1).storage
    assert not owner.served
    assert owner.etcd == own.etcd == chosen.storage.etcd


def test_settings_reach_the_process_unchanged() -> None:
    """What a process is told is equal to what its owner has read."""
    own = of_serving_process(settings("--processes=2", "--cors-allowed-origins=a.*", "--v=3"), 1)
    assert pickle.loads(pickle.dumps(own)) == own
