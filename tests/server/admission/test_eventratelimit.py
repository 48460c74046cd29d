"""EventRateLimit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from tests.server.admission.conftest import World, configmap


def test_event_rate_limit(world: type[World]) -> None:
    """Each namespace has a token bucket that refills with time."""
    limits = {"limits": [{"type": "Namespace", "qps": 1, "burst": 2}]}
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": limits})
    w.run("events", configmap())
    w.run("events", configmap())
    error = w.refusal("events", configmap())
    assert (error.code, error.message) == (429, "Too many requests: limit reached on type Namespace for key ns")
    w.now += 1
    w.run("events", configmap())


def test_event_rate_limit_of_each_namespace(world: type[World]) -> None:
    """Namespaces have buckets of their own, and `cacheSize` is the number of buckets that are kept."""
    limits = {"limits": [{"type": "Namespace", "qps": 1, "burst": 1, "cacheSize": 2}]}
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": limits})
    for name in ("ns", "b"):
        w.namespace(name)
        w.run("events", configmap(), namespace=name)
    assert w.refusal("events", configmap()).code == 429
    w.namespace("c")
    w.run("events", configmap(), namespace="c")
    # The least recently used bucket was dropped.
    w.run("events", configmap(), namespace="b")


def _event(**more: Any) -> Object:
    target = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "u", "apiVersion": "v1"}
    source = {"component": "c", "host": "h"}
    for place, part in more.items():
        (source if place in source else target)[place] = part
    return {"metadata": {"name": "e"}, "source": source, "involvedObject": target}


@pytest.mark.parametrize(
    ("kind", "event", "more", "counted"),
    [
        ("Server", _event(component="x"), {"namespace": "b", "user": User(name="other")}, True),
        ("Namespace", _event(component="x"), {"user": User(name="other")}, True),
        ("Namespace", _event(), {"namespace": "b"}, False),
        ("User", _event(component="x"), {"namespace": "b"}, True),
        ("User", _event(), {"user": User(name="other")}, False),
        ("SourceAndObject", _event(), {"namespace": "b", "user": User(name="other")}, True),
        *(
            ("SourceAndObject", _event(**{part: "x"}), {}, False)
            for part in ("component", "host", "kind", "namespace", "name", "uid", "apiVersion")
        ),
    ],
)
def test_what_a_limit_counts_together(world: type[World], kind: str, event: Object, more: Any, counted: bool) -> None:
    """Events of a server, a namespace, a user, or those of a source about an object."""
    row = {"type": kind, "qps": 1, "burst": 1}
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": {"limits": [row]}})
    w.namespace("b")
    w.run("events", _event())
    if counted:
        assert w.refusal("events", event, **more).code == 429
    else:
        w.run("events", event, **more)


def test_every_limit_counts_each_event(world: type[World]) -> None:
    """All limits that are exceeded are named, an event that one refuses is counted by the others too, and a dry run is
    counted by none."""
    rows = [{"type": "Server", "qps": 1, "burst": 2}, {"type": "User", "qps": 1, "burst": 1}]
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": {"limits": rows}})
    w.run("events", _event(), dry_run=True)
    w.run("events", _event())
    user = "Too many requests: limit reached on type User for key admin"
    assert w.refusal("events", _event()).message == user
    assert w.refusal("events", _event()).message == (
        "Too many requests: [limit reached on type Server for key , limit reached on type User for key admin]"
    )
    w.run("events", _event(), dry_run=True)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ([], "limits: Required value: must not be empty"),
        (
            [{"type": "Node", "qps": 1, "burst": 1}],
            'limits[0].type: Unsupported value: "Node": supported values: "Server", "Namespace", "User", "SourceAndObject"',
        ),
        ([{"type": "User", "qps": 0, "burst": 1}], "limits[0].qps: Invalid value: 0: must be positive"),
        ([{"type": "User", "qps": 1, "burst": -1}], "limits[0].burst: Invalid value: -1: must be positive"),
        (
            [{"type": "User", "qps": 1, "burst": 1, "cacheSize": -1}],
            "limits[0].cacheSize: Invalid value: -1: must not be negative",
        ),
        ([{"type": "Server", "qps": 1, "burst": 1, "cacheSize": -1}], ""),
        ([{"type": "User", "qps": 1, "burst": 1, "cacheSize": 0}], ""),
    ],
)
def test_invalid_limits_are_named(world: type[World], limits: Any, problem: str) -> None:
    """The start fails with the path of a wrong limit; a server's only bucket has no size."""
    if not problem:
        world(only=["EventRateLimit"], configurations={"EventRateLimit": {"limits": limits}})
        return
    with pytest.raises(ValueError) as caught:
        world(only=["EventRateLimit"], configurations={"EventRateLimit": {"limits": limits}})
    assert str(caught.value) == f"EventRateLimit: {problem}"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"type": "Server", "qps": 1, "burst": 1}, ""), ({"type": "User", "qps": 1, "burst": 1, "cacheSize": 0}, ""),
        ({"type": "Server", "qps": 1, "burst": 1, "cacheSize": -1}, ""), ({"type": "Odd", "qps": 1, "burst": 1}, "limits[0].type: Unsupported value"),
        ({"type": "Server", "qps": 0, "burst": 1}, "limits[0].qps: Invalid value: 0: must be positive"),
        ({"type": "Server", "qps": 1, "burst": 0}, "limits[0].burst: Invalid value: 0: must be positive"),
        ({"type": "User", "qps": 1, "burst": 1, "cacheSize": -1}, "limits[0].cacheSize: Invalid value: -1: must not be negative"),
    ],
)  # fmt: skip
def test_limits_of_the_configuration(world: type[World], row: Any, problem: str) -> None:
    """The start fails with the path of a wrong limit; a server has one bucket, whatever the size of its cache."""
    configurations = {"EventRateLimit": {"limits": [row]}}
    if problem:
        with pytest.raises(ValueError, match=re.escape(problem)):
            world(only=["EventRateLimit"], configurations=configurations)
    else:
        world(only=["EventRateLimit"], configurations=configurations)
