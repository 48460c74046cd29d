"""Admission plugins and their configuration."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.config import choices
from orchd.config.capabilities import Capabilities, check_built
from orchd.config.flag_values import FlagValues
from orchd.kinds import gates


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """Enabled admission plugins, in the reference's order, then drop-ins by name; and their configuration. `rate_share`
    is the part of configured rates that this server grants: less than 1 if others serve the same clients."""

    plugins: tuple[str, ...]
    config_file: str
    default_not_ready_toleration_seconds: int
    default_unreachable_toleration_seconds: int
    rate_share: float = 1.0


def admission(flags: FlagValues, can: Capabilities) -> AdmissionSettings:
    """Raises FlagError."""
    chosen = _chosen(flags, can) - gates.skipped(flags.features, "plugins", flags.release)
    flags.warnings += [
        f"the admission plugin {name} is deprecated" for name in sorted(chosen & choices.DEPRECATED_ADMISSION_PLUGINS)
    ]
    ordered = [name for name in choices.ADMISSION_PLUGINS if name in chosen]
    return AdmissionSettings(
        plugins=(*ordered, *sorted(chosen.difference(ordered))),
        config_file=flags["admission-control-config-file"],
        default_not_ready_toleration_seconds=flags.at_least("default-not-ready-toleration-seconds", 0),
        default_unreachable_toleration_seconds=flags.at_least("default-unreachable-toleration-seconds", 0),
    )


def _chosen(flags: FlagValues, can: Capabilities) -> frozenset[str]:
    since = choices.LATER_ADMISSION_PLUGINS
    names = (*since, *choices.FORMER_ADMISSION_PLUGINS)
    unknown = {
        name
        for name in names
        if not flags.release.includes(since.get(name, ""), choices.FORMER_ADMISSION_PLUGINS.get(name, ""))
    }
    served = tuple(name for name in choices.ADMISSION_PLUGINS if name not in unknown)
    built = can.admission_plugins - unknown
    on: tuple[str, ...] = flags["enable-admission-plugins"]
    off: tuple[str, ...] = flags["disable-admission-plugins"]
    alone: tuple[str, ...] = flags["admission-control"]
    if alone and (on or off):
        raise flags.error("admission-control", "excludes --enable-admission-plugins and --disable-admission-plugins")
    for flag, names in (("admission-control", alone), ("enable-admission-plugins", on)):
        for name in names:
            check_built(flags, flag, "plugin", name, served, built)
    for name in off:
        if name in on:
            raise flags.error("disable-admission-plugins", f"plugin {name} is also in --enable-admission-plugins")
        check_built(flags, "disable-admission-plugins", "plugin", name, (), {*served, *built})
    if alone:
        return frozenset(alone)
    return (((choices.DEFAULT_ADMISSION_PLUGINS | since.keys()) & built) | set(on)) - set(off)
