"""One controller without a server: informers that a test fills, and a client that records its writes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.task import Clock

from orchd.controllers.interfaces import Environment
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.lagging_support import RecordedEvents
from tests.controllers.recording_support import recording_client


class ControllerBench:
    """`client` is a RecordingClient by default; `changes` are members of the environment."""

    def __init__(self, factory: Callable[[Environment], Any], client: Any = None, **changes: Any) -> None:
        self.informers, self.clock, self.events = MemoryInformers(), Clock(), RecordedEvents()
        self.client: Any = recording_client() if client is None else client
        catalog = builtin_catalog(ORCH)
        members: dict[str, Any] = {
            "dialect": ORCH,
            "client": lambda account: self.client,
            "reader": self.client,
            "recorder": lambda component: self.events,
            "informers": self.informers,
            "clock": self.clock,
            "wall": lambda: NOW + self.clock.seconds(),
            "random": Random(1),
            "catalog": lambda: catalog,
            "authority": "",
            "issue_token": lambda account, name: "",
            "signing_authority": lambda signer: None,
            "settings": ControllerSettings(),
            "several_servers": False,
        }
        self.controller = factory(Environment(**{**members, **changes}))

    def queued(self) -> list[Any]:
        """The keys that are queued now, in order; they are taken from the queue."""
        keys = []
        while len(self.controller.queue):
            key = result_of(self.controller.queue.get())
            self.controller.queue.done(key)
            keys.append(key)
        return sorted(keys)

    def values(self) -> dict[str, Any]:
        """The values of the controller's metrics by name, of distributions the numbers of observations."""
        return {each.name: each.values for each in self.controller.instruments if hasattr(each, "values")}

    def delays(self, *times: float) -> dict[float, list[Any]]:
        """The keys that are queued at each of these times, in seconds from now; no others are."""
        due: dict[float, list[Any]] = {}
        passed = 0.0
        for at in times:
            self.clock.advance(at - passed - 0.001)
            assert not self.queued()
            self.clock.advance(0.001)
            passed = at
            keys = self.queued()
            if keys:
                due[at] = keys
        return due
