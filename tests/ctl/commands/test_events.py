"""``events``: rows, selection and order."""

from __future__ import annotations

import json

import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl

EVENT = """---
apiVersion: v1
kind: Event
metadata: {{name: {name}, namespace: {namespace}}}
involvedObject: {{kind: {kind}, name: {about}, namespace: {namespace}}}
type: {type}
reason: R{name}
message: "the {name}\\n  "
lastTimestamp: "{time}"
"""


@pytest.fixture
def events(ctl: Ctl) -> Ctl:
    """Three events of two objects, and one of another namespace."""
    ctl("create", "namespace", "other")
    rows = (
        ("c", "default", "Pod", "p", "Warning", "2027-01-15T07:59:00Z"),
        ("a", "default", "Pod", "p", "Normal", "2027-01-15T07:58:00Z"),
        ("b", "default", "Service", "p", "Normal", "2027-01-15T07:50:00Z"),
        ("d", "other", "Pod", "q", "Normal", "2027-01-15T07:40:00Z"),
    )
    names = ("name", "namespace", "kind", "about", "type", "time")
    ctl("create", "-f", "-", send="".join(EVENT.format(**dict(zip(names, row, strict=True))) for row in rows))
    return ctl


def shown(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_rows(events: Ctl) -> None:
    """Oldest first, with the age of the last occurrence."""
    heading, *rows = shown(events("events").lines)
    assert heading == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [row[1:] for row in rows] == [
        ["Normal", "Rb", "Service/p", "the", "b"],
        ["Normal", "Ra", "Pod/p", "the", "a"],
        ["Warning", "Rc", "Pod/p", "the", "c"],
    ]
    heading, *rows = shown(events("events", "-A").lines)
    assert heading[0] == "NAMESPACE"
    assert [(row[0], row[3]) for row in rows] == [("other", "Rd"), *(("default", f"R{name}") for name in "bac")]


@pytest.mark.parametrize(
    "flags, names",
    [
        (("--types=Warning",), "c"),
        (("--types=normal,warning",), "bac"),
        (("--for=pod/p",), "ac"),
        (("--for", "svc/p"), "b"),
        (("--for=pod/p", "--types=Normal"), "a"),
    ],
)
def test_selection(events: Ctl, flags: tuple[str, ...], names: str) -> None:
    assert [row[2] for row in shown(events("events", "--no-headers", *flags).lines)] == [f"R{name}" for name in names]
    found = json.loads(events("events", "-o", "json", *flags).out)
    items = found["items"] if found["kind"].endswith("List") else [found]
    assert [each["metadata"]["name"] for each in items] == list(names)
    assert {(each["kind"], each["apiVersion"]) for each in items} == {("Event", "v1")}


def test_no_events(events: Ctl) -> None:
    events("create", "namespace", "empty")
    ran = events("events", "-n", "empty")
    assert ran.error == "No events found in empty namespace.\n"
    assert events("events", "--for=pod/absent", "-A").error == "No events found.\n"
    assert "types of events are Normal and Warning" in events("events", "--types=Odd", status=1).error


@pytest.mark.parametrize(
    "flags, names",
    [
        ((), "abc"),
        (("--types=Warning",), "c"),
        (("--types=normal,warning",), "abc"),
        (("--for=svc/p",), "b"),
        (("--for=svc/p", "--types=warning"), ""),
    ],
)
def test_watches(events: Ctl, flags: tuple[str, ...], names: str) -> None:
    """Until interrupted, new events of the selection are printed."""
    events.patience = 3
    ran = events("events", "--watch", "--no-headers", *flags)
    assert sorted(word for line in ran.lines for word in line.split() if word in ("Ra", "Rb", "Rc", "Rd")) == [
        f"R{name}" for name in names
    ]


def test_events_that_come_later(events: Ctl) -> None:
    """They are printed below the headings and the events that are there."""
    event = EVENT.format(
        name="e", namespace="default", kind="Pod", about="p", type="Normal", time="2027-01-15T08:00:00Z"
    )

    def happen(second: int) -> None:
        if second == 1:
            # Not with a second command, whose output would be mixed with the first one's.
            run(events.server.client().create(ResourceRef("", "v1", "events"), "default", yaml.safe_load(event)))

    events.patience, events.while_waiting = 4, happen
    lines = events("events", "--watch").lines
    assert lines[0].split()[:4] == ["LAST", "SEEN", "TYPE", "REASON"] and [line.split()[2] for line in lines[1:]] == [
        "Ra",
        "Rb",
        "Rc",
        "Re",
    ]


def test_one_event_is_a_list(events: Ctl) -> None:
    found = json.loads(events("events", "-o", "json", "--types=Warning").out)
    assert found["kind"] == "List" and [each["reason"] for each in found["items"]] == ["Rc"]
    assert events("events", "-o", "custom-columns=A:.reason").lines == ["A", "Rb", "Ra", "Rc"]
    assert events("events", "-o", "custom-columns=A:.reason", "--no-headers").lines == ["Rb", "Ra", "Rc"]
    assert events("events").lines[0].split()[0] == "LAST"
