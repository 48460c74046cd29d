"""Cells of pods in each state, without and with restartable init containers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.tabulate import devices
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.kinds.objects.tabulate.pods import cells, cells_with_sidecars
from orchd.kinds.objects.tabulate.text import Printing

Object = dict[str, Any]
PRINTING = Printing(age=Ages(datetime(2026, 1, 1, 12, tzinfo=UTC)), dialect=ORCH)
#: The printers of the specification and of later releases.
BOTH = (cells, cells_with_sidecars)
EARLY, LATER = (cells,), (cells_with_sidecars,)


def row(printer: Callable[..., Any], spec: Object, status: Object, *, deleted: bool = False) -> list[Any]:
    """Ready, status, restarts."""
    metadata = {"name": "a", "creationTimestamp": "2026-01-01T10:00:00Z"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T11:00:00Z"
    printed: list[Any] = printer({"metadata": metadata, "spec": spec, "status": status}, PRINTING)
    return printed[1:4]


def ended(hour: int) -> Object:
    return {"lastState": {"terminated": {"finishedAt": f"2026-01-01T{hour:02}:00:00Z"}}}


def running(name: str = "c", *, ready: bool = True, restarts: int = 0, **members: Any) -> Object:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": {"running": {}}, **members}


def terminated(code: int = 0, name: str = "c", restarts: int = 0, **members: Any) -> Object:
    return {"name": name, "restartCount": restarts, "state": {"terminated": {"exitCode": code, **members}}}


def waiting(reason: str = "", name: str = "c", **members: Any) -> Object:
    return {"name": name, "state": {"waiting": {"reason": reason} if reason else {}}, **members}


READY = [{"type": "Ready", "status": "True"}]
ONE: Object = {"containers": [{"name": "c"}]}
TWO: Object = {"containers": [{"name": "c"}, {"name": "d"}]}
INIT: Object = {"initContainers": [{"name": "i"}, {"name": "j"}], **ONE}
SIDECAR: Object = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "j"}], **ONE}


@pytest.mark.parametrize(
    "printers, spec, status, expected",
    [
        (BOTH, ONE, {}, ["0/1", "", "0"]),
        (BOTH, ONE, {"phase": "Pending"}, ["0/1", "Pending", "0"]),
        (BOTH, ONE, {"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"]),
        (BOTH, ONE, {"phase": "Pending", "containerStatuses": [waiting("ErrImagePull")]}, ["0/1", "ErrImagePull", "0"]),
        (BOTH, ONE, {"phase": "Pending", "containerStatuses": [waiting()]}, ["0/1", "Pending", "0"]),
        (BOTH, ONE, {"phase": "Running", "containerStatuses": [running()]}, ["1/1", "Running", "0"]),
        (BOTH, ONE, {"phase": "Running", "containerStatuses": [running(ready=False)]}, ["0/1", "Running", "0"]),
        (
            BOTH,
            TWO,
            {
                "phase": "Running",
                "containerStatuses": [running(restarts=2, **ended(11)), running("d", restarts=1, **ended(9))],
            },
            ["2/2", "Running", "3 (60m ago)"],
        ),
        # The first container decides.
        (
            BOTH,
            TWO,
            {"phase": "Running", "containerStatuses": [waiting("First"), waiting("Second", "d")]},
            ["0/2", "First", "0"],
        ),
        (BOTH, ONE, {"phase": "Failed", "containerStatuses": [terminated(2)]}, ["0/1", "ExitCode:2", "0"]),
        (BOTH, ONE, {"phase": "Failed", "containerStatuses": [terminated(137, signal=9)]}, ["0/1", "Signal:9", "0"]),
        (BOTH, ONE, {"phase": "Failed", "containerStatuses": [terminated(1, reason="Error")]}, ["0/1", "Error", "0"]),
        (
            BOTH,
            TWO,
            {"containerStatuses": [terminated(reason="Completed"), running("d")], "conditions": READY},
            ["1/2", "Running", "0"],
        ),
        (BOTH, TWO, {"containerStatuses": [terminated(reason="Completed"), running("d")]}, ["1/2", "NotReady", "0"]),
        (
            BOTH,
            TWO,
            {"containerStatuses": [terminated(reason="Completed"), terminated(name="d", reason="Completed")]},
            ["0/2", "Completed", "0"],
        ),
        # Later releases show that another container failed.
        (
            EARLY,
            TWO,
            {"containerStatuses": [terminated(reason="Completed"), terminated(1, "d", reason="Error")]},
            ["0/2", "Completed", "0"],
        ),
        (
            LATER,
            TWO,
            {"containerStatuses": [terminated(reason="Completed"), terminated(1, "d", reason="Error")]},
            ["0/2", "Error", "0"],
        ),
        (LATER, ONE, {"phase": "Running", "containerStatuses": [terminated()]}, ["0/1", "ExitCode:0", "0"]),
        # Initialization.
        (BOTH, INIT, {"initContainerStatuses": [waiting("PodInitializing", "i")]}, ["0/1", "Init:0/2", "0"]),
        (BOTH, INIT, {"initContainerStatuses": [waiting("", "i")]}, ["0/1", "Init:0/2", "0"]),
        (BOTH, INIT, {"initContainerStatuses": [waiting("ErrImagePull", "i")]}, ["0/1", "Init:ErrImagePull", "0"]),
        (
            BOTH,
            INIT,
            {"initContainerStatuses": [terminated(name="i", restarts=2), running("j", restarts=1, **ended(11))]},
            ["0/1", "Init:1/2", "3 (60m ago)"],
        ),
        (BOTH, INIT, {"initContainerStatuses": [terminated(3, "i")]}, ["0/1", "Init:ExitCode:3", "0"]),
        (BOTH, INIT, {"initContainerStatuses": [terminated(3, "i", signal=9)]}, ["0/1", "Init:Signal:9", "0"]),
        (BOTH, INIT, {"initContainerStatuses": [terminated(3, "i", reason="Error")]}, ["0/1", "Init:Error", "0"]),
        # Restarts of init containers do not count any more once they have ended.
        (
            BOTH,
            INIT,
            {
                "phase": "Running",
                "initContainerStatuses": [terminated(name="i", restarts=2), terminated(name="j")],
                "containerStatuses": [running(restarts=1)],
            },
            ["1/1", "Running", "1"],
        ),
        (
            LATER,
            INIT,
            {
                "conditions": [{"type": "Initialized", "status": "True"}],
                "initContainerStatuses": [running("i", restarts=5)],
                "containerStatuses": [running()],
            },
            ["1/1", "Init:0/2", "0"],
        ),
        # Sidecars count as containers, and their restarts too.
        (
            LATER,
            SIDECAR,
            {
                "phase": "Running",
                "initContainerStatuses": [
                    running("s", restarts=2, started=True, **ended(11)),
                    terminated(name="j", restarts=4),
                ],
                "containerStatuses": [running(restarts=1, **ended(10))],
            },
            ["2/2", "Running", "3 (60m ago)"],
        ),
        (
            LATER,
            SIDECAR,
            {"initContainerStatuses": [running("s", ready=False, started=True), running("j")]},
            ["0/2", "Init:1/2", "0"],
        ),
        (
            LATER,
            SIDECAR,
            {"initContainerStatuses": [running("s", started=True), running("j", restarts=1)]},
            ["1/2", "Init:1/2", "1"],
        ),
        (LATER, SIDECAR, {"initContainerStatuses": [running("s", started=False)]}, ["0/2", "Init:0/2", "0"]),
        (
            LATER,
            ONE,
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            ["0/1", "SchedulingGated", "0"],
        ),
        (
            LATER,
            ONE,
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]},
            ["0/1", "Pending", "0"],
        ),
    ],
)
def test_states(printers: Any, spec: Object, status: Object, expected: list[str]) -> None:
    for printer in printers:
        assert row(printer, spec, status) == expected


@pytest.mark.parametrize(
    "status, early, later",
    [
        ({"phase": "Running"}, "Terminating", "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown", "Unknown"),
        ({"phase": "Succeeded"}, "Terminating", "Succeeded"),
    ],
)
def test_deleted_pods(status: Object, early: str, later: str) -> None:
    """A pod that is being deleted; later releases show how it ended."""
    assert [row(printer, ONE, status, deleted=True)[1] for printer in BOTH] == [early, later]


@pytest.mark.parametrize("printer", BOTH)
def test_wide_columns(printer: Callable[..., Any]) -> None:
    """Address, node, nominated node and readiness gates; the first of several addresses."""
    metadata = {"name": "a", "creationTimestamp": "2026-01-01T10:00:00Z"}
    spec = {"nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    status = {"podIP": "1.1.1.1", "nominatedNodeName": "m", "conditions": conditions}
    pod: Object = {"metadata": metadata, "spec": spec, "status": status}
    assert printer(pod, PRINTING)[4:] == ["120m", "1.1.1.1", "n", "m", "1/2"]
    status["podIPs"] = [{"ip": "2.2.2.2"}, {"ip": "::1"}]
    assert printer(pod, PRINTING)[5] == "2.2.2.2"
    assert printer({"metadata": metadata, "spec": {}}, PRINTING)[5:] == ["<none>"] * 4


@pytest.mark.parametrize(
    "status, deleted, state",
    [
        ({}, False, "pending"),
        ({"reservedFor": [{}]}, False, "pending"),
        ({"allocation": {"x": 1}}, False, "allocated"),
        ({"allocation": {"x": 1}, "reservedFor": [{}]}, False, "allocated,reserved"),
        ({"allocation": {"x": 1}}, True, "deleted,allocated"),
        ({}, True, "deleted"),
    ],
)
def test_device_claims(status: Object, deleted: bool, state: str) -> None:
    metadata: Object = {"name": "a", "creationTimestamp": "2026-01-01T10:00:00Z"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T11:00:00Z"
    assert devices.claim({"metadata": metadata, "status": status}, PRINTING) == ["a", state, "120m"]


def test_device_slices() -> None:
    metadata = {"name": "a", "creationTimestamp": "2026-01-01T10:00:00Z"}
    spec = {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}
    assert devices.resource_slice({"metadata": metadata, "spec": spec}, PRINTING) == ["a", "n", "d", "p", "120m"]
    assert devices.resource_slice({"metadata": metadata}, PRINTING) == ["a", "", "", "", "120m"]
