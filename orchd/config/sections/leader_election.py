"""Settings of leader election."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.config.flag_values import FlagValues


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    """Durations are seconds. `lock` is the kind of the lock object, `name` and `namespace` its name and namespace."""

    enabled: bool
    lease_duration: float
    renew_deadline: float
    retry_period: float
    lock: str
    namespace: str
    name: str


def election(flags: FlagValues, name: str) -> ElectionSettings:
    """The election of a component whose lock object is called `name`. Raises FlagError for inconsistent durations."""
    enabled = flags["leader-elect"]
    lease, renew = flags["leader-elect-lease-duration"], flags["leader-elect-renew-deadline"]
    retry, namespace = flags["leader-elect-retry-period"], flags["leader-elect-resource-namespace"]
    if enabled:
        if lease < 1:
            raise flags.error("leader-elect-lease-duration", "must be at least 1s")
        if renew <= 0:
            raise flags.error("leader-elect-renew-deadline", "must be greater than zero")
        if retry <= 0:
            raise flags.error("leader-elect-retry-period", "must be greater than zero")
        if lease <= renew:
            raise flags.error("leader-elect-lease-duration", "must be greater than --leader-elect-renew-deadline")
        # The pauses between attempts have a jitter of up to a fifth.
        if renew <= 1.2 * retry:
            raise flags.error(
                "leader-elect-renew-deadline", "must be greater than 1.2 times --leader-elect-retry-period"
            )
        if not namespace:
            raise flags.error("leader-elect-resource-namespace", "needs a namespace")
        if not name:
            raise flags.error("leader-elect-resource-name", "needs a name")
    return ElectionSettings(
        enabled=enabled,
        lease_duration=lease,
        renew_deadline=renew,
        retry_period=retry,
        lock=flags["leader-elect-resource-lock"],
        namespace=namespace,
        name=name,
    )
