"""Registrations of aggregated servers, from APIServices."""

from __future__ import annotations

import base64
from typing import Any

from orchd.server.aggregation.api_services import AggregatedServices, registered_of


def registered(name: str, **spec: Any) -> dict[str, Any]:
    version, _, group = name.partition(".")
    service = {"namespace": "n", "name": "s"}
    return {"metadata": {"name": name}, "spec": {"group": group, "version": version, "service": service, **spec}}


def test_groups_are_sorted_by_priority_and_cached() -> None:
    """Groups are sorted by priority, and versions within them; the list is a new value only after a visible change."""

    class Told:
        def add_listener(self, listener: Any) -> None:
            self.tell = listener

    informer, changes = Told(), []
    registry = AggregatedServices(informer, lambda old, new: changes.append((old, new)))  # type: ignore[arg-type]  # as above
    low = registered("v1.low", groupPriorityMinimum=1)
    first, second = registered("v1.high", groupPriorityMinimum=9), registered("v2.high", groupPriorityMinimum=9)
    for each in (low, first, second):
        informer.tell("ADDED", None, each)
    groups = registry.groups()
    assert [(g["name"], [v["version"] for v in g["versions"]]) for g in groups] == [
        ("high", ["v2", "v1"]),
        ("low", ["v1"]),
    ]
    assert registry.groups() is groups and registry.find("high", "v2") == registered_of(second)
    informer.tell("DELETED", second, None)
    assert registry.groups()[0]["preferredVersion"]["version"] == "v1" and registry.find("high", "v2") is None
    informer.tell("MODIFIED", first, {**first, "spec": {"group": "high", "version": "v1"}})
    assert [g["name"] for g in registry.groups()] == ["low"] and len(changes) == 5


def test_registration_defaults() -> None:
    """The default port is 443; CA bundles are PEM; availability follows from the condition alone."""
    obj = registered("v1.g", caBundle=base64.b64encode(b"pem").decode(), insecureSkipTLSVerify=True)
    found = registered_of(obj)
    assert found is not None and (found.port, found.authority, found.unchecked, found.available) == (
        443,
        b"pem",
        True,
        False,
    )
    assert found.location.origin == "https://s.n.svc:443"
    there = registered_of({**obj, "status": {"conditions": [{"type": "Available", "status": "True"}]}})
    assert there is not None and there.available
