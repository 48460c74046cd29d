"""Metrics of the allocation of cluster IPs and node ports, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final, TypeVar

from orchd.dialect import Dialect
from orchd.kinds.release import Release
from orchd.server.registry.ranges import AddressRange, AllocatedError, ExhaustedError, NumberRange, OutOfRangeError
from orchd.txkit.metrics.instruments import Counter, Distribution, Instrument, ObservedGauge

Taken = TypeVar("Taken")

#: Labels of allocations of addresses, by the release that begins them.
_LABELS: Final = (("", ("cidr",)), ("1.25", ("cidr", "scope")))
#: Bucket upper bounds in seconds of an allocation.
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
#: The first releases with metrics of node ports, and with durations of allocations.
_PORTS_SINCE: Final = "1.24"
_TIMED_SINCE: Final = "1.30"


class AllocationMetrics:
    """Allocations from ranges of addresses, which `spaces` returns, and from the range of node `ports`."""

    def __init__(
        self, dialect: Dialect, release: Release, spaces: Callable[[], Iterable[AddressRange]], ports: NumberRange
    ) -> None:
        prefix = dialect("{short}_apiserver_clusterip_allocator_")
        labels: tuple[str, ...] = release.choose(_LABELS)
        self._labels = len(labels)
        self._taken = Counter(prefix + "allocation_total", "Cluster IPs allocated, by range.", labels)
        self._failed = Counter(
            prefix + "allocation_errors_total", "Failed allocations of cluster IPs, by range.", labels
        )
        self._seconds = Distribution(
            prefix + "allocation_duration_seconds",
            "Seconds that the allocation of a cluster IP took, by range.",
            _SECONDS,
            ("cidr",),
        )
        used = ObservedGauge(
            prefix + "allocated_ips",
            "Cluster IPs that services have, by range.",
            lambda: {(str(space.network),): float(space.count()) for space in spaces()},
            ("cidr",),
        )
        free = ObservedGauge(
            prefix + "available_ips",
            "Cluster IPs that are free, by range.",
            lambda: {(str(space.network),): float(max(0, space.size - space.count())) for space in spaces()},
            ("cidr",),
        )
        prefix = dialect("{short}_apiserver_nodeport_allocator_")
        size = ports.high - ports.low + 1
        self._taken_ports = Counter(prefix + "allocation_total", "Node ports allocated.", ("scope",))
        self._failed_ports = Counter(
            prefix + "allocation_errors_total", "Failed allocations of node ports.", ("scope",)
        )
        later = (
            ObservedGauge(prefix + "allocated_ports", "Node ports that services have.", lambda: float(ports.count())),
            ObservedGauge(
                prefix + "available_ports", "Node ports that are free.", lambda: float(max(0, size - ports.count()))
            ),
            self._taken_ports,
            self._failed_ports,
        )
        self.instruments: tuple[Instrument, ...] = (
            used,
            free,
            self._taken,
            self._failed,
            *((self._seconds,) if release.includes(_TIMED_SINCE) else ()),
            *(later if release.includes(_PORTS_SINCE) else ()),
        )

    def address(self, space: AddressRange, requested: str, take: Callable[[], Taken]) -> Taken:
        """The result of `take`, which allocates an address of `space`: a `requested` one, or any ("")."""
        labels = (str(space.network), _scope(requested))[: self._labels]
        began = perf_counter()
        taken = _counted(take, self._taken, self._failed, labels)
        self._seconds.observe(perf_counter() - began, labels[0])
        return taken

    def port(self, requested: int, take: Callable[[], Taken]) -> Taken:
        """The result of `take`, which allocates a node port: a `requested` one, or any (0)."""
        return _counted(take, self._taken_ports, self._failed_ports, (_scope(requested),))


def _scope(requested: str | int) -> str:
    return "static" if requested else "dynamic"


def _counted(take: Callable[[], Taken], taken: Counter, failed: Counter, labels: tuple[str, ...]) -> Taken:
    try:
        result = take()
    except (AllocatedError, OutOfRangeError, ExhaustedError):
        failed.add(*labels)
        raise
    taken.add(*labels)
    return result
