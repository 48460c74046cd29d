"""The flags of the server and of the components that can run as separate processes, made from the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Final

from orchd.config.flag import Flag, FlagTable
from orchd.config.rows import apiserver, controller_manager, scheduler, server, shared

_SHARED: Final = {flag.name: flag for flag in shared.SHARED}


def _with_shared(flags: Iterable[Flag], names: Iterable[str]) -> tuple[Flag, ...]:
    """The rows of a component; its own row replaces the shared row of the same name."""
    own = tuple(flags)
    taken = {flag.name for flag in own}
    return (*own, *(_SHARED[name] for name in names if name not in taken))


#: Rows of each part of the server, by its name in help texts.
_PARTS: Final = {
    "server": server.FLAGS,
    "API server": _with_shared(apiserver.FLAGS, apiserver.FROM_SHARED),
    "controllers": _with_shared(controller_manager.FLAGS, controller_manager.FROM_SHARED),
    "scheduler": _with_shared(scheduler.FLAGS, scheduler.FROM_SHARED),
}
#: Components that can run as separate processes, and the modules of their rows.
_MODULES: Final = {"controller-manager": controller_manager, "scheduler": scheduler}
COMPONENTS: Final = tuple(_MODULES)

#: Flags that mean something else to each component: in the one process they are given in the components' flag files.
AMBIGUOUS: Final = frozenset(("leader-elect-resource-name",))


@cache
def table() -> FlagTable:
    """All flags of the server: its own, then those of the API server, the controllers and the scheduler."""
    takers: dict[str, list[str]] = {}
    first: dict[str, Flag] = {}
    for part, flags in _PARTS.items():
        for flag in flags:
            takers.setdefault(flag.name, []).append(part)
            first.setdefault(flag.name, flag)
    return FlagTable(replace(flag, components=tuple(takers[name])) for name, flag in first.items())


@cache
def component_table(component: str) -> FlagTable:
    """The flags of one of `COMPONENTS` as a separate process, in which those for a separate process have an effect."""
    module = _MODULES[component]
    flags = [flag for flag in server.FLAGS if flag.name in ("dialect", "emulated-version", "flagfile")]
    flags += _with_shared(module.FLAGS, module.FROM_SHARED)
    return FlagTable(replace(flag, separate=False, components=(component.replace("-", " "),)) for flag in flags)


@cache
def private_flags(component: str) -> frozenset[str]:
    """Flags of a component that its flag file may set when it runs in the server's process: those that are not the
    server's."""
    module = _MODULES[component]
    own = {flag.name for flag in module.FLAGS if not flag.separate}
    election = {name for name in module.FROM_SHARED if name.startswith("leader-elect")}
    served = {"secure-port", "cert-dir", "profiling", "contention-profiling"}
    return frozenset((own | election) - served)
