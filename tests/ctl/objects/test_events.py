"""Events: their times, and those of objects."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from orchd.ctl.objects.events import event_time, last_seen
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages
from tests.ctl.ctl_runner import Ctl

AGE = Ages(datetime(2026, 1, 1, 0, 10, tzinfo=UTC))


def _at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02}:00Z"


@pytest.mark.parametrize(
    ("event", "time", "text"),
    [
        ({"series": {"lastObservedTime": _at(9), "count": 1}, "eventTime": _at(1), "lastTimestamp": _at(8)}, _at(9), "60s (x1 over 9m)"),
        ({"lastTimestamp": _at(8), "firstTimestamp": _at(1), "count": 3}, _at(8), "2m (x3 over 9m)"),
        ({"lastTimestamp": _at(8), "firstTimestamp": _at(1), "count": 2}, _at(8), "2m (x2 over 9m)"),
        ({"lastTimestamp": _at(8), "firstTimestamp": _at(1), "count": 1}, _at(8), "9m"),
        ({"lastTimestamp": _at(8), "count": None}, _at(8), "2m"), ({"eventTime": _at(7)}, _at(7), "3m"),
        ({"series": {}, "lastTimestamp": None, "metadata": {"creationTimestamp": _at(5)}}, _at(5), "5m"), ({}, "", "<unknown>"),
    ],
)  # fmt: skip
def test_times(event: Object, time: str, text: str) -> None:
    """The last occurrence; and how often it has recurred since the first."""
    event = {"metadata": {}, **event}
    assert (event_time(event), last_seen(event, AGE)) == (time, text)


def test_events_of_nodes(cluster: Ctl) -> None:
    """Those of agents name the node instead of its UID; they are in any namespace."""
    uid = cluster("get", "node/n1", "-o", "jsonpath={.metadata.uid}").out
    for name, of in (("a", "n1"), ("b", uid), ("c", "gone"), ("d", "p1")):
        cluster("create", "-f", "-", send=json.dumps({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, "reason": f"R{name}", "type": "Normal",
            "involvedObject": {"kind": "Node", "name": "n1", "uid": of}, "lastTimestamp": "2027-01-15T07:59:00Z",
        }))  # fmt: skip
    cluster("create", "namespace", "other")
    shown = cluster("-n", "other", "describe", "node/n1").out
    assert [f"R{each}" in shown for each in "abcd"] == [True, True, False, False]
