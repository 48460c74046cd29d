"""EventRateLimit."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from tests.server.admission.conftest import World, configmap

QUOTAS = ResourceRef("", "v1", "resourcequotas")


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


def used(w: World, name: str = "q") -> Any:
    held = w.informers.informer(QUOTAS).get("ns", name)
    assert held is not None
    return held["status"]["used"]
