"""The settings of each process: whatever N processes do together is divided among them, or done by the owner."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchd.assembly.store_ports import socket_file
from orchd.config.sections.storage import EtcdSettings
from orchd.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The configuration of a serving process: their settings, and the address family of their port."""

    settings: Settings
    family: int


def owner_serves(settings: Settings) -> bool:
    """True if the owner is one of the processes that serve requests. With two it is: a write that it serves itself
    costs no more than in one process, and there are rarely more than two cores. With more it is not: its core limits
    the rate of writes."""
    return settings.serving.processes == 2


def count_of_started(settings: Settings) -> int:
    """How many processes the owner starts."""
    return settings.serving.processes - owner_serves(settings)


def of_owner(settings: Settings, port: int) -> Settings:
    """The settings of the owner: it has the store, and unless it serves, its limits are for its own controllers and
    scheduler alone."""
    own = _divided(settings) if owner_serves(settings) else settings
    return replace(
        own,
        serving=replace(own.serving, port=port, processes=1),
        storage=replace(settings.storage, served=settings.storage.etcd is None),
    )


def of_serving_process(settings: Settings, port: int) -> Settings:
    """The settings of each serving process: a replica on the owner's socket, or on the configured etcd, with its part
    of the limits."""
    own = _divided(settings)
    return replace(
        own,
        serving=replace(own.serving, port=port, processes=1),
        storage=settings.storage
        if settings.storage.etcd is not None
        else replace(settings.storage, etcd=_on_socket(settings)),
        # Logged once, by the owner.
        warnings=(),
    )


def _divided(settings: Settings) -> Settings:
    """The settings with the limits of one of the processes that serve."""
    count, serving = settings.serving.processes, settings.serving
    return replace(
        settings,
        serving=replace(
            serving,
            max_requests_inflight=_part(serving.max_requests_inflight, count),
            max_mutating_requests_inflight=_part(serving.max_mutating_requests_inflight, count),
        ),
        admission=replace(settings.admission, rate_share=1 / count),
    )


def _part(limit: int, count: int) -> int:
    """A limit divided among `count`, rounded up; 0, no limit, stays."""
    return -(-limit // count)


def _on_socket(settings: Settings) -> EtcdSettings:
    flags = settings.flags
    return EtcdSettings(
        servers=(f"unix://{socket_file(settings)}",),
        prefix="/",
        ca_file="",
        cert_file="",
        key_file="",
        health_timeout=flags["etcd-healthcheck-timeout"],
        lease_reuse=flags["lease-reuse-duration-seconds"],
        size_interval=0,
        own=True,
    )
