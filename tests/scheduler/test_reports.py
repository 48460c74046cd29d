"""Events and conditions of pods that the scheduler writes."""

from __future__ import annotations

from typing import Any, cast

from orchd.client.interfaces import IInformer
from orchd.scheduler.pod_conditions import PODS, UNSCHEDULABLE, Reporter
from orchd.scheduler.pods import Templates
from orchd.testing.doubles.informers import MemoryInformers
from tests.controllers.lagging_support import RecordedEvents
from tests.scheduler.scheduler_support import pod


def test_long_reasons_are_cut() -> None:
    """Events have at most 1024 characters, and conditions 32768: extenders decide about the length of their reasons."""
    events, informers = RecordedEvents(), MemoryInformers()
    informers.put(PODS, pod("p"))
    client: Any = None
    reporter = Reporter(client, events, cast(IInformer, informers.informer(PODS)), lambda: 0.0)
    waiting = Templates().pod(pod("p"))
    for length, note in ((1024, "x" * 1024), (1025, "x" * 1020 + " ...")):
        reporter.failed(waiting, "x" * length)
        assert events.notes[-1] == ("FailedScheduling", note)
    for length, message in ((32768, "x" * 32768), (32769, "x" * 32764 + " ...")):
        patch = reporter.condition_patch(waiting, UNSCHEDULABLE, "x" * length, None)
        assert patch is not None and patch["status"]["conditions"][0]["message"] == message
