"""The binding cycle of one pod: the order of plugins, what each of their results leads to, and waiting for
permission."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from twisted.internet.task import Clock

from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.binding import Binder, BindError
from orchd.scheduler.interfaces import ExtenderError
from orchd.scheduler.plugins.nodename import REFUSED, NodeName
from orchd.scheduler.pods import Templates
from orchd.scheduler.values import Code, CycleState, Status, unschedulable
from orchd.scheduler.waiting_pods import WaitingPods
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start
from tests.scheduler.scheduler_support import SchedulerHarness, node
from tests.scheduler.scheduler_support import pod as pod_object

POD = Templates().pod(pod_object("p"))
STATE = CycleState()
ERROR, SKIP = Status(Code.ERROR, ("broken",)), Status(Code.SKIP, ())
BUG = RuntimeError("bug")


class Plugin:
    """Every reserve, permit and binding plugin. `result` is returned, or raised, at `point`; `calls` are shared."""

    def __init__(self, calls: list[str], name: str, point: str = "", result: Any = None) -> None:
        self.name = name
        self._calls, self._point, self._result = calls, point, result

    def _at(self, point: str, otherwise: Any = None) -> Any:
        self._calls.append(f"{point} {self.name}")
        if point != self._point:
            return otherwise
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def reserve(self, *_: Any) -> Any:
        return self._at("reserve")

    def unreserve(self, *_: Any) -> Any:
        return self._at("unreserve")

    def permit(self, *_: Any) -> Any:
        return self._at("permit", (None, 0.0))

    async def pre_bind(self, *_: Any) -> Any:
        return self._at("pre_bind")

    def works_long(self, *_: Any) -> Any:
        return self._at("works_long", False)

    async def bind(self, *_: Any) -> Any:
        return self._at("bind")

    def post_bind(self, *_: Any) -> Any:
        return self._at("post_bind")


class Extender:
    def __init__(self, calls: list[str], *, binds: bool, interested: bool, error: Exception | None = None) -> None:
        self.binds = binds
        self._calls, self._interested, self._error = calls, interested, error

    def interested(self, pod: Any) -> bool:
        return self._interested

    async def bind(self, pod: Any, node_name: str) -> None:
        self._calls.append(f"bind extender {node_name}")
        if self._error is not None:
            raise self._error


class Bench:
    """A binder of plugins a and b, of which the first returns `result` at `point`."""

    def __init__(self, point: str = "", result: Any = None, *extenders: Any, release: Release = SPECIFICATION) -> None:
        self.calls: list[str] = []
        self.clock = Clock()
        self.waiting = WaitingPods(self.clock)
        self.waits: list[str] = []
        plugins = [Plugin(self.calls, "a", point, result), Plugin(self.calls, "b")]
        names = ("reserves", "permits", "pre_binds", "binds", "post_binds")
        metrics = SimpleNamespace(
            now=self.clock.seconds,
            observe_plugin=lambda *_: None,
            observe_extension_point=lambda *_: None,
            permit_waits=SimpleNamespace(observe=lambda seconds, label: self.waits.append(f"{seconds:g} {label}")),
        )
        profile: Any = SimpleNamespace(
            name="x", handle=SimpleNamespace(metrics=metrics, release=release), slow_pre_binds=plugins,
            **dict.fromkeys(names, plugins),
        )  # fmt: skip
        self.extenders: list[Any] = []
        self.binder = Binder(profile, self.extenders, self.waiting, cast(Any, self))

    async def nominate(self, pod: Any, node_name: str) -> None:
        """In the place of the reporter."""
        self.calls.append(f"nominate {node_name}")

    def bind(self, **holders: float) -> Any:
        return self.binder.bind(STATE, POD, "n", holders)


def test_reservations_are_undone_in_reverse_order() -> None:
    """Every plugin undoes its own, also if one of them fails."""
    for result in (None, BUG):
        bench = Bench("unreserve", result)
        bench.binder.reserve(STATE, POD, "n")
        bench.binder.unreserve(STATE, POD, "n")
        assert bench.calls == ["reserve a", "reserve b", "unreserve b", "unreserve a"]


@pytest.mark.parametrize(
    ("result", "message"), [(ERROR, 'running Reserve plugin "a": broken'), (BUG, 'running Reserve plugin "a": bug')]
)
def test_failed_reservation_ends_the_cycle(result: Any, message: str) -> None:
    bench = Bench("reserve", result)
    with pytest.raises(BindError) as raised:
        bench.binder.reserve(STATE, POD, "n")
    assert (str(raised.value), raised.value.reason, raised.value.at_binding) == (message, "SchedulerError", False)
    assert bench.calls == ["reserve a"]


@pytest.mark.parametrize(
    ("result", "message", "reason"),
    [
        ((unschedulable("no"), 0.0), "no", "Unschedulable"),
        ((ERROR, 0.0), 'running Permit plugin "a": broken', "SchedulerError"),
        (BUG, 'running Permit plugin "a": bug', "SchedulerError"),
    ],
)
def test_refused_permission_ends_the_cycle(result: Any, message: str, reason: str) -> None:
    bench = Bench("permit", result)
    with pytest.raises(BindError) as raised:
        bench.binder.permit(STATE, POD, "n")
    assert (str(raised.value), raised.value.reason) == (message, reason) and bench.calls == ["permit a"]


def test_plugins_that_make_a_pod_wait_have_a_timeout() -> None:
    assert Bench().binder.permit(STATE, POD, "n") == {}
    bench = Bench("permit", (Status(Code.WAIT, ()), 7.0))
    assert bench.binder.permit(STATE, POD, "n") == {"a": 7.0}
    assert bench.calls == ["permit a", "permit b"]


def test_plugins_of_the_binding_run_in_order() -> None:
    """All pre-bind plugins, bind plugins until one does not skip the pod, all post-bind plugins, whose bugs are
    logged."""
    for point, result, binds in (
        ("", None, ["bind a"]),
        ("bind", SKIP, ["bind a", "bind b"]),
        ("post_bind", BUG, ["bind a"]),
    ):
        bench = Bench(point, result)
        run(bench.bind())
        assert bench.calls == ["pre_bind a", "pre_bind b", *binds, "post_bind a", "post_bind b"]
        assert not bench.waits


@pytest.mark.parametrize(
    ("point", "result", "message", "at_binding"),
    [
        ("pre_bind", ERROR, 'running PreBind plugin "a": broken', False),
        ("pre_bind", BUG, 'running PreBind plugin "a": bug', False),
        ("bind", ERROR, 'binding rejected: running Bind plugin "a": broken', True),
        ("bind", ApiError(409, "Conflict", "taken"), 'binding rejected: running Bind plugin "a": taken', True),
        ("bind", BUG, 'binding rejected: running Bind plugin "a": bug', True),
    ],
)
def test_failed_binding_names_the_plugin(point: str, result: Any, message: str, at_binding: bool) -> None:
    bench = Bench(point, result)
    with pytest.raises(BindError) as raised:
        run(bench.bind())
    assert (str(raised.value), raised.value.at_binding) == (message, at_binding)
    assert bench.calls[-1] == f"{point} a"


def test_pods_are_nominated_before_long_work_in_newer_releases() -> None:
    """Before a pre-bind plugin writes or waits, the pod is nominated to its node; without such work it is bound at
    once. Release 1.23 knows no such nomination."""
    for release, long, expected in (
        (NEWEST, True, ["works_long a", "nominate n", "pre_bind a"]),
        (NEWEST, False, ["works_long a", "works_long b", "pre_bind a"]),
        (SPECIFICATION, True, ["pre_bind a"]),
    ):
        bench = Bench("works_long", long, release=release)
        run(bench.bind())
        assert bench.calls[: len(expected)] == expected


def test_pod_that_all_bind_plugins_skip_is_not_bound() -> None:
    bench = Bench()
    bench.binder._profile.binds = [Plugin(bench.calls, "a", "bind", SKIP)]
    with pytest.raises(BindError, match="binding rejected: bind status: Skip") as raised:
        run(bench.bind())
    assert raised.value.at_binding


def test_extenders_bind_before_plugins() -> None:
    """The first extender that binds and is interested in the pod binds it, or fails the binding."""
    bench = Bench()
    others = [Extender(bench.calls, binds=False, interested=True), Extender(bench.calls, binds=True, interested=False)]
    bench.extenders += [*others, Extender(bench.calls, binds=True, interested=True)]
    run(bench.bind())
    assert bench.calls == ["pre_bind a", "pre_bind b", "bind extender n", "post_bind a", "post_bind b"]
    bench.extenders[2] = Extender(bench.calls, binds=True, interested=True, error=ExtenderError("down"))
    with pytest.raises(BindError, match="binding rejected: down") as raised:
        run(bench.bind())
    assert raised.value.at_binding
    bench.calls.clear()
    bench.extenders[2:] = []
    run(bench.bind())
    assert "bind a" in bench.calls


WAITS: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "allowed by all": (lambda pod: (pod.allow("a"), pod.allow("b")), "0 Success", ""),
    "allowed twice by one": (lambda pod: (pod.allow("a"), pod.allow("a")), "", ""),
    "rejected": (lambda pod: pod.reject("a", "no"), "0 Unschedulable", "rejected while waiting on permit: no"),
    "rejected after it was allowed": (
        lambda pod: (pod.allow("a"), pod.allow("b"), pod.reject("a", "x")),
        "0 Success",
        "",
    ),
    "allowed after it was rejected": (
        lambda pod: (pod.reject("a", "no"), pod.allow("a")),
        "0 Unschedulable",
        "rejected while waiting on permit: no",
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_pod_waits_until_every_plugin_allows_it(name: str) -> None:
    """Or until one rejects it. Then it does not wait any more, and no timer is left."""
    act, wait, message = WAITS[name]
    bench = Bench()
    results: list[Any] = []
    start(bench.bind(a=5, b=6)).addBoth(results.append)
    waiting = bench.waiting.get(POD.uid)
    assert waiting is not None and waiting.pod is POD and not results
    act(waiting)
    assert bench.waits == ([wait] if wait else [])
    if not wait:
        assert not results and len(bench.clock.getDelayedCalls()) == 1
        return
    assert bench.waiting.get(POD.uid) is None and not bench.clock.getDelayedCalls()
    (result,) = results
    if message:
        assert (str(result.value), result.value.reason) == (message, "Unschedulable")
    else:
        assert result is None and bench.calls[0] == "pre_bind a"


@pytest.mark.parametrize(("seconds", "late"), [(5.0, 5.0), (3600.0, 900.0)])
def test_waiting_pod_times_out(seconds: float, late: float) -> None:
    """After the timeout of a plugin, or a quarter of an hour, the pod is rejected in the name of the plugin."""
    bench = Bench()
    results: list[Any] = []
    start(bench.bind(a=seconds, b=7200)).addBoth(results.append)
    bench.clock.advance(late - 0.5)
    assert not results
    bench.clock.advance(0.5)
    assert str(results[0].value) == "rejected due to timeout after waiting on permit at plugin a"


def test_deleted_pod_does_not_wait() -> None:
    """A pod that is removed is rejected; cancelling the binding leaves no timer."""
    bench = Bench()
    assert not bench.waiting.reject(POD.uid)
    results: list[Any] = []
    start(bench.bind(a=5)).addBoth(results.append)
    assert bench.waiting.reject(POD.uid)
    assert str(results[0].value) == "rejected while waiting on permit: removed"
    binding = start(bench.bind(a=5))
    binding.addErrback(lambda failure: None)
    binding.cancel()
    assert not bench.clock.getDelayedCalls() and bench.waiting.get(POD.uid) is None


def test_node_name_allows_one_node() -> None:
    """A pod that names its node may run there only, whatever the form of the filter; others anywhere."""
    harness = SchedulerHarness()
    harness.put(node("n1"), node("n2"), node("n3"))
    snapshot = harness.scheduler.snapshot
    handle: Any = SimpleNamespace(snapshot=snapshot)
    plugin = NodeName(handle, None)
    free = Templates().pod(pod_object("free"))
    assert plugin.compile_filter(STATE, free) is None
    for name in ("n2", "gone"):
        placed = Templates().pod(pod_object("placed", on=name))
        compiled = plugin.compile_filter(STATE, placed)
        assert compiled is not None and compiled.status(1) == REFUSED
        for row in snapshot.rows().tolist():
            view = snapshot.node(row)
            expected = None if view.name == name else REFUSED
            assert plugin.filter(STATE, placed, view) == expected and plugin.filter(STATE, free, view) is None
            assert bool(compiled.codes(None)[row]) == (expected is not None)
            assert compiled.codes(snapshot.rows()[row : row + 1]).tolist() == [int(expected is not None)]
