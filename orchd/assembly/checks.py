"""The named health checks of a server, in the reference's order, with their current state."""

from __future__ import annotations

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints.health import Check, Probe
from orchd.server.state import ServerState

#: Name template -> the bootstrap step that the check reports. A completed step stays completed.
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


def checks(dialect: Dialect, state: ServerState, *, store: Probe, informers: Probe) -> list[Check]:
    """All health checks. `store` and `informers` return the reason why they are unhealthy, "" when healthy."""
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
        out.append(Check(name=name, probe=state.lenient(step), ready=False))
        out.append(Check(name=name, probe=state.probe(step), live=False))
    out.append(Check(name="shutdown", probe=lambda: "process is shutting down" if state.stopping else "", live=False))
    return out
