"""Behavior of simulated pods and nodes, from their annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.durations import DurationError, parse_seconds
from orchd.kinds.simulated import PREFIX
from orchd.simulation.settings import SimulationSettings

START_DELAY: Final = PREFIX + "start-delay"
READY_DELAY: Final = PREFIX + "ready-delay"
RUN_DURATION: Final = PREFIX + "run-duration"
EXIT_CODE: Final = PREFIX + "exit-code"
START_FAILURE: Final = PREFIX + "start-failure"
RESTARTS: Final = PREFIX + "restarts"
TERMINATION_DELAY: Final = PREFIX + "termination-delay"
FAILING_PROBES: Final = PREFIX + "failing-probes"
#: On a node: with "true" it stops reporting, as after a crash; with a reason it reports that it is not ready.
SILENT: Final = PREFIX + "silent"
NOT_READY: Final = PREFIX + "not-ready"

#: Why the containers of a pod with an image that is missing do not start.
_UNPULLED: Final = "ImagePullBackOff"

#: The value of an unlimited duration.
NEVER: Final = "never"
_PROBES: Final = ("startup", "readiness", "liveness")


class AnnotationError(ValueError):
    """An annotation has an invalid value; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBehaviour:
    """Seconds; None means never. `start_failure` is the reason for which containers do not start, "" for none. Without
    an `exit_code` that of a container's command counts. `command_duration` is the time that commands take that end
    without a sleep, None where `run_duration` holds for all commands."""

    start_delay: float
    ready_delay: float | None
    run_duration: float | None
    exit_code: int | None
    start_failure: str
    restarts: int
    termination_delay: float
    command_duration: float | None = None
    failing_probes: frozenset[str] = frozenset()


def pod_behaviour(pod: Mapping[str, Any], settings: SimulationSettings) -> PodBehaviour:
    """The behavior of a pod. Raises AnnotationError."""
    notes: Mapping[str, str] = fields.annotations_of(pod)
    ends = fields.spec(pod).get("restartPolicy", "Always") != "Always" or EXIT_CODE in notes
    start_delay = _duration(notes, START_DELAY, settings.pod_startup_delay)
    termination = _duration(notes, TERMINATION_DELAY, 0.0)
    if start_delay is None or termination is None:
        name = START_DELAY if start_delay is None else TERMINATION_DELAY
        raise AnnotationError(f"annotation {name}: must be a duration such as 5s")
    return PodBehaviour(
        start_delay=start_delay,
        ready_delay=_duration(notes, READY_DELAY, 0.0),
        run_duration=_duration(notes, RUN_DURATION, settings.pod_run_duration if ends else None),
        exit_code=_number(notes, EXIT_CODE, 255) if EXIT_CODE in notes else None,
        start_failure=notes.get(START_FAILURE) or (_UNPULLED if _lacks_image(pod, settings.missing_images) else ""),
        restarts=_number(notes, RESTARTS, 1_000_000),
        termination_delay=termination,
        command_duration=None if RUN_DURATION in notes else settings.pod_run_duration,
        failing_probes=_probes(notes),
    )


def _probes(notes: Mapping[str, str]) -> frozenset[str]:
    names = frozenset(name.strip() for name in notes.get(FAILING_PROBES, "").split(",")) - {""}
    if not names.issubset(_PROBES):
        raise AnnotationError(f"annotation {FAILING_PROBES}: must be a list of {', '.join(_PROBES)}")
    return names


def _lacks_image(pod: Mapping[str, Any], missing: frozenset[str]) -> bool:
    spec = fields.spec(pod)
    return bool(missing) and any(
        each.get("image") in missing for member in ("initContainers", "containers") for each in spec.get(member) or ()
    )


def _duration(notes: Mapping[str, str], name: str, default: float | None) -> float | None:
    text = notes.get(name)
    if text is None:
        return default
    if text == NEVER:
        return None
    try:
        seconds = parse_seconds(text)
    except DurationError as error:
        raise AnnotationError(f"annotation {name}: {error}") from None
    if seconds < 0:
        raise AnnotationError(f"annotation {name}: must not be negative")
    return seconds


def _number(notes: Mapping[str, str], name: str, most: int) -> int:
    text = notes.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
        raise AnnotationError(f"annotation {name}: {text!r} is not a number from 0 to {most}")
    return int(text)
