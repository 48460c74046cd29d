"""The listener of the API server and the limits of requests."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from orchd.config.flag_values import FlagValues
from orchd.config.sections.listener import ListenerSettings, check_metrics, listener_members

#: Most processes of a server.
_PROCESSES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings(ListenerSettings):
    """Fields have the names of their flags. Durations are seconds. `ui` selects the clients that get the web page:
    auto, true or false. `processes` serve requests; 1 means the process of the server itself."""

    advertise_address: IPv4Address | IPv6Address | None
    external_hostname: str
    cors_allowed_origins: tuple[re.Pattern[str], ...]
    strict_transport_security_directives: tuple[str, ...]
    max_requests_inflight: int
    max_mutating_requests_inflight: int
    enable_priority_and_fairness: bool
    request_timeout: float
    min_request_timeout: int
    livez_grace_period: float
    shutdown_delay_duration: float
    shutdown_send_retry_after: bool
    ui: str
    processes: int
    #: Probability that a request over HTTP/2 has its client told to connect anew.
    goaway_chance: float


def serving(flags: FlagValues) -> ServingSettings:
    """Raises FlagError."""
    check_metrics(flags)
    data_dir = flags["data-dir"].rstrip("/") or "/"
    members = listener_members(flags, flags["cert-dir"] or f"{data_dir}/pki", zero="a free port")
    if (
        flags["enable-priority-and-fairness"]
        and not flags["max-requests-inflight"] + flags["max-mutating-requests-inflight"]
    ):
        raise flags.error(
            "max-requests-inflight", "the total concurrency is 0: needs --enable-priority-and-fairness=false"
        )
    if flags["request-timeout"] <= 0:
        raise flags.error("request-timeout", "must be above 0")
    return ServingSettings(
        **members,
        advertise_address=_advertise_address(flags),
        external_hostname=flags["external-hostname"],
        cors_allowed_origins=_origins(flags),
        strict_transport_security_directives=_transport_security(flags),
        max_requests_inflight=flags.at_least("max-requests-inflight", 0),
        max_mutating_requests_inflight=flags.at_least("max-mutating-requests-inflight", 0),
        enable_priority_and_fairness=flags["enable-priority-and-fairness"],
        request_timeout=flags["request-timeout"],
        min_request_timeout=flags.at_least("min-request-timeout", 0),
        livez_grace_period=flags.at_least("livez-grace-period", 0),
        shutdown_delay_duration=flags.at_least("shutdown-delay-duration", 0),
        shutdown_send_retry_after=flags["shutdown-send-retry-after"],
        ui=flags["ui"],
        processes=_processes(flags),
        goaway_chance=_goaway_chance(flags),
    )


def _processes(flags: FlagValues) -> int:
    text: str = flags["processes"]
    if text == "auto":
        # Those that this process may use.
        return min(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, _PROCESSES
        )
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or not 1 <= int(text) <= _PROCESSES:
        raise flags.error("processes", f"{text!r} is not a number from 1 to {_PROCESSES}, or auto")
    return int(text)


def _goaway_chance(flags: FlagValues) -> float:
    chance: float = flags["goaway-chance"]
    if not 0 <= chance <= 0.02:
        raise flags.error("goaway-chance", "must be between 0 and 0.02")
    return chance


def _advertise_address(flags: FlagValues) -> IPv4Address | IPv6Address | None:
    address: IPv4Address | IPv6Address | None = flags["advertise-address"]
    if address is not None and (address.is_unspecified or address.is_multicast):
        raise flags.error("advertise-address", f"{address} is not reachable by other hosts")
    return address


def _origins(flags: FlagValues) -> tuple[re.Pattern[str], ...]:
    out = []
    for text in flags["cors-allowed-origins"]:
        try:
            out.append(re.compile(text))
        except re.error as error:
            raise flags.error("cors-allowed-origins", f"{text!r} is not a regular expression: {error}") from None
    return tuple(out)


def _transport_security(flags: FlagValues) -> tuple[str, ...]:
    name = "strict-transport-security-directives"
    directives: tuple[str, ...] = flags[name]
    for directive in directives:
        if not re.fullmatch(r"max-age=\d+|includeSubDomains|preload", directive):
            raise flags.error(name, f"unknown directive {directive!r}: max-age=seconds, includeSubDomains, preload")
    if directives and not any(d.startswith("max-age=") for d in directives):
        raise flags.error(name, "max-age=seconds is required")
    return directives
