"""The named health checks of a server, in the reference's order, with their current state."""

from __future__ import annotations

from typing import Final

from orchd.kinds.objects.settings import ObjectSettings
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


#: The hooks of later releases.
_LATER_HOOKS: tuple[tuple[str, str], ...] = (
    ("start-apiserver-admission-initializer", "informers"),
    ("generic-apiserver-start-informers", "informers"),
    ("priority-and-fairness-config-consumer", "flow control"),
    ("priority-and-fairness-filter", "flow control"),
    ("storage-object-count-tracker-hook", "informers"),
    ("start-apiextensions-informers", "informers"),
    ("start-apiextensions-controllers", "custom kinds"),
    ("crd-informer-synced", "custom kinds"),
    ("start-system-namespaces-controller", "own service"),
    ("start-cluster-authentication-info-controller", "authentication info"),
    ("start-{short}-apiserver-identity-lease-controller", "own service"),
    ("start-{short}-apiserver-identity-lease-garbage-collector", "own service"),
    ("start-legacy-token-tracking-controller", "own service"),
    ("start-service-ip-repair-controllers", "own service"),
    ("rbac/bootstrap-roles", "roles"),
    ("scheduling/bootstrap-system-priority-classes", "priority classes"),
    ("priority-and-fairness-config-producer", "flow control"),
    ("bootstrap-controller", "own service"),
    ("start-{long}-service-cidr-controller", "own service"),
    ("start-{short}-aggregator-informers", "informers"),
    ("apiservice-status-local-available-controller", "api services"),
    ("apiservice-status-remote-available-controller", "api services"),
    ("apiservice-registration-controller", "api services"),
    ("apiservice-discovery-controller", "api services"),
    ("{short}-apiserver-autoregistration", "api services"),
)
#: The hooks, the names of those about OpenAPI, and whether a server that cannot reach its store is not ready, from a
#: release on.
_BY_RELEASE: Final = (
    ("", (_HOOKS, ("apiservice-openapi-controller",), True)),
    ("1.33", (_LATER_HOOKS, ("apiservice-openapi-controller", "apiservice-openapiv3-controller"), False)),
)


def checks(settings: ObjectSettings, state: ServerState, *, store: Probe, informers: Probe) -> list[Check]:
    """All health checks. `store` and `informers` return the reason why they are unhealthy, "" when healthy."""
    hooks, documents, store_ready = settings.release.choose(_BY_RELEASE)
    fine: Probe = lambda: ""  # noqa: E731  # a probe like the others, not worth a name of its own
    out = [
        Check(name="ping", probe=fine),
        Check(name="log", probe=fine),
        Check(name="etcd", probe=store, ready=store_ready),
        Check(name="informer-sync", probe=informers, live=False),
    ]
    steps = [(f"poststarthook/{settings.dialect(name)}", step) for name, step in hooks]
    steps.append(("autoregister-completion", "api services"))
    steps += [(f"poststarthook/{name}", "informers") for name in documents]
    for name, step in steps:
        out.append(Check(name=name, probe=state.lenient(step), ready=False))
        out.append(Check(name=name, probe=state.probe(step), live=False))
    out.append(Check(name="shutdown", probe=lambda: "process is shutting down" if state.stopping else "", live=False))
    return out
