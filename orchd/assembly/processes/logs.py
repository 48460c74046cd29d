"""The log of serving processes: events that the owner logs as its own, with the name of the process."""

from __future__ import annotations

from typing import Any, TextIO

from twisted.logger import LogLevel, eventAsJSON, eventFromJSON, globalLogPublisher


def write_events(out: TextIO) -> Any:
    """A log observer that writes events for `Relay`."""

    def observe(event: Any) -> None:
        out.write(eventAsJSON(event) + "\n")
        out.flush()

    return observe


class Relay:
    """Takes the bytes of `write_events` from the process `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""

    def received(self, data: bytes) -> None:
        """Log the events that are complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = eventFromJSON(line.decode("utf-8", "replace"))
            level = event.get("log_level") or LogLevel.info
            system = event.get("log_system") or f"{event.get('log_namespace', '-')}#{level.name}"
            globalLogPublisher({**event, "process": self._name, "log_system": f"{system} process={self._name}"})
