"""The controllers and the scheduler that run in the server's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchd.config import choices
from orchd.config.capabilities import Capabilities, check_built
from orchd.config.flag_values import FlagValues
from orchd.config.sections.leader_election import ElectionSettings, election
from orchd.kinds import gates


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """`names` are the enabled controllers, which run in the process that `election` elects. `flags` are the values that
    controllers read."""

    names: tuple[str, ...]
    election: ElectionSettings
    flags: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """`enabled` runs the scheduler in the process; `config_file` is "" for the defaults. `flags` are the values of the
    scheduler's flags; those in `explicit` override the leader election in the file."""

    enabled: bool
    config_file: str
    flags: Mapping[str, Any]
    explicit: frozenset[str]


def controllers(flags: FlagValues, can: Capabilities) -> ControllerSettings:
    """From the flags of the controllers. Raises FlagError."""
    return ControllerSettings(
        names=controller_names(flags, can),
        election=election(flags, flags["leader-elect-resource-name"]),
        flags=flags.by_name(),
    )


def scheduler(flags: FlagValues, *, enabled: bool) -> SchedulerSettings:
    """From the flags of the scheduler."""
    return SchedulerSettings(
        enabled=enabled, config_file=flags["config"], flags=flags.by_name(), explicit=flags.explicit
    )


def controller_names(flags: FlagValues, can: Capabilities) -> tuple[str, ...]:
    """The controllers to run. Raises FlagError."""
    items: tuple[str, ...] = flags["controllers"]
    since = choices.LATER_CONTROLLERS
    unknown = {name for name in since if not flags.release.includes(since[name])}
    served = tuple(name for name in choices.CONTROLLERS if name not in unknown)
    built = can.controllers - unknown
    chosen: dict[str, bool] = {}
    renamed = choices.LATER_CONTROLLER_NAMES if flags.release.includes(choices.CONTROLLERS_RENAMED) else {}
    for item in items:
        name = item.removeprefix("-")
        name = renamed.get(name, name)
        if name == "*":
            continue
        if item.startswith("-"):
            check_built(flags, "controllers", "controller", name, (), {*served, *built})
        else:
            check_built(flags, "controllers", "controller", name, served, built)
        chosen.setdefault(name, not item.startswith("-"))
    everything = "*" in items and "-*" not in items
    # Drop-ins run when they are named, like other drop-ins.
    by_default = set(served) - choices.CONTROLLERS_OFF_BY_DEFAULT if everything else set()
    if not flags["enable-garbage-collector"]:
        chosen["garbagecollector"] = False
    chosen.update(dict.fromkeys(gates.skipped(flags.features, "controllers", flags.release), False))
    return tuple(name for name in sorted(built) if chosen.get(name, name in by_default))
