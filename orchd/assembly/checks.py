"""The named health checks of a server, in the reference's order, and what each of them really looks at."""

from __future__ import annotations

from collections.abc import Callable

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints.health import Check, Probe

#: Name template -> the step of the start that it reports. A step is done once and for all.
_HOOKS: tuple[tuple[str, str], ...] = (
    ("start-{short}-apiserver-admission-initializer", "informers"),
    ("generic-apiserver-start-informers", "informers"),
    ("priority-and-fairness-config-consumer", "flow control"),
    ("priority-and-fairness-filter", "flow control"),
    ("start-apiextensions-informers", "informers"),
    ("start-apiextensions-controllers", "custom kinds"),
    ("crd-informer-synced", "custom kinds"),
    ("bootstrap-controller", "own service"),
    ("rbac/bootstrap-roles", "roles"),
    ("scheduling/bootstrap-system-priority-classes", "priority classes"),
    ("priority-and-fairness-config-producer", "flow control"),
    ("start-cluster-authentication-info-controller", "authentication info"),
    ("start-{short}-aggregator-informers", "informers"),
    ("apiservice-registration-controller", "api services"),
    ("apiservice-status-available-controller", "api services"),
    ("{short}-apiserver-autoregistration", "api services"),
)


class Progress:
    """Which steps of a start are done. `clock` gives seconds; before `grace` seconds have passed, /livez takes
    steps that are still to come for granted (--livez-grace-period)."""

    def __init__(self, clock: Callable[[], float], grace: float) -> None:
        self._clock = clock
        self._begin = clock()
        self._grace = grace
        self._done: set[str] = set()
        self.stopping = False

    def done(self, step: str) -> None:
        self._done.add(step)

    def probe(self, step: str) -> Probe:
        """Ready only once the step is done."""
        return lambda: "" if step in self._done else f"{step}: not finished"

    def lenient(self, step: str) -> Probe:
        """As `probe`, but good for as long as the grace period lasts."""
        strict = self.probe(step)
        return lambda: "" if self._clock() < self._begin + self._grace else strict()


def checks(dialect: Dialect, progress: Progress, *, store: Probe, informers: Probe) -> list[Check]:
    """All checks. `store` and `informers` say what is wrong with them, "" when nothing is."""
    fine: Probe = lambda: ""  # noqa: E731  # a probe like the others, not worth a name of its own
    out = [
        Check(name="ping", probe=fine),
        Check(name="log", probe=fine),
        Check(name="etcd", probe=store),
        Check(name="informer-sync", probe=informers, live=False),
    ]
    steps = [(f"poststarthook/{dialect(name)}", step) for name, step in _HOOKS]
    steps += [("autoregister-completion", "api services"), ("poststarthook/apiservice-openapi-controller", "informers")]
    for name, step in steps:
        out.append(Check(name=name, probe=progress.lenient(step), ready=False))
        out.append(Check(name=name, probe=progress.probe(step), live=False))
    out.append(
        Check(name="shutdown", probe=lambda: "process is shutting down" if progress.stopping else "", live=False)
    )
    return out
