"""Audit events in older versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchd.server.pipeline.audit.versions import in_version
from orchd.testing.doubles.server import run

EVENT = {
    "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": "a",
    "requestReceivedTimestamp": "2026-01-02T03:04:05.678901Z", "stageTimestamp": "2026-01-02T03:04:06.000001Z",
}  # fmt: skip


def sent(version: str) -> Sequence[Mapping[str, Any]]:
    out: list[Mapping[str, Any]] = []

    async def send(events: Sequence[Mapping[str, Any]]) -> None:
        out.extend(events)

    run(in_version(send, version)([EVENT]))  # type: ignore[arg-type]  # Send gives an Awaitable, a coroutine here
    return out


def test_events_are_v1() -> None:
    """Events of v1 are not converted."""
    assert sent("audit.k8s.io/v1") == [EVENT]


def test_v1beta1_events_have_whole_seconds() -> None:
    """v1beta1 has additional timestamps without fractions."""
    more = {"metadata": {"creationTimestamp": "2026-01-02T03:04:06Z"}, "timestamp": "2026-01-02T03:04:05Z"}
    assert sent("audit.k8s.io/v1beta1") == [{**EVENT, "apiVersion": "audit.k8s.io/v1beta1", **more}]
