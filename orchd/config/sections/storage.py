"""The store and its history."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.config.flag_values import FlagValues
from orchd.config.values import url_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdSettings:
    """Connection to etcd. Durations are seconds. Files are "" if not given. `own` is True for the store of another
    process of this server."""

    servers: tuple[str, ...]
    prefix: str
    ca_file: str
    cert_file: str
    key_file: str
    health_timeout: float
    lease_reuse: float
    size_interval: float
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The store and its history. `etcd_compaction_interval` 0 disables compaction. History is retained for
    `history_duration` seconds, in the embedded store for `history_events` changes at most. `etcd` is None for the
    embedded store. A `served` embedded store has other processes as clients, on its socket."""

    data_dir: str
    backend: str
    etcd_compaction_interval: float
    history_duration: float
    history_events: int
    event_ttl: float
    #: True to serve the number of objects of each resource as a metric.
    counted: bool
    encryption_provider_config: str
    etcd: EtcdSettings | None
    served: bool = False


def storage(flags: FlagValues) -> StorageSettings:
    """Raises FlagError."""
    if not flags["data-dir"]:
        raise flags.error("data-dir", "needs a directory")
    _check_watch_cache(flags)
    return StorageSettings(
        data_dir=flags["data-dir"],
        backend=flags["storage-backend"] or ("etcd3" if flags["etcd-servers"] else "sqlite"),
        etcd_compaction_interval=flags.at_least("etcd-compaction-interval", 0),
        history_duration=flags.at_least("history-duration", 1),
        history_events=flags.at_least("history-events", 1),
        event_ttl=flags.at_least("event-ttl", 0),
        encryption_provider_config=flags["encryption-provider-config"],
        counted=flags.at_least("etcd-count-metric-poll-period", 0) > 0,
        etcd=_etcd(flags),
    )


def _etcd(flags: FlagValues) -> EtcdSettings | None:
    servers: tuple[str, ...] = flags["etcd-servers"]
    if not servers:
        if flags["storage-backend"] == "etcd3":
            raise flags.error("etcd-servers", "is needed together with --storage-backend=etcd3")
        return None
    if flags["storage-backend"] == "sqlite":
        raise flags.error("storage-backend", "sqlite cannot be combined with --etcd-servers")
    for url in servers:
        parts = url_parts(url)
        if parts.scheme == "unix" and not parts.netloc and parts.path.strip("/"):
            continue
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
            raise flags.error("etcd-servers", f"{url!r} is not http://host:port, https://host:port or unix:///path")
    cert, key = flags.pair("etcd-certfile", "etcd-keyfile")
    if flags["etcd-healthcheck-timeout"] <= 0:
        raise flags.error("etcd-healthcheck-timeout", "must be above 0")
    return EtcdSettings(
        servers=servers,
        prefix=flags["etcd-prefix"],
        ca_file=flags["etcd-cafile"],
        cert_file=cert,
        key_file=key,
        health_timeout=flags["etcd-healthcheck-timeout"],
        lease_reuse=flags.at_least("lease-reuse-duration-seconds", 1),
        size_interval=flags.at_least("etcd-db-metric-poll-interval", 0),
    )


def _check_watch_cache(flags: FlagValues) -> None:
    """Reject values that would disable the watch cache. As in the reference, any size above 0 only enables it."""
    if not flags["watch-cache"]:
        raise flags.error("watch-cache", "cannot be disabled: reads are served from it")
    if flags["default-watch-cache-size"] < 1:
        raise flags.error("default-watch-cache-size", "must be at least 1: the cache cannot be disabled")
    for item in flags["watch-cache-sizes"]:
        resource, hash_, size = item.partition("#")
        if not resource or not hash_ or not size.isdecimal() or not int(size):
            raise flags.error("watch-cache-sizes", f"{item!r} is not resource[.group]#size with a size above 0")
