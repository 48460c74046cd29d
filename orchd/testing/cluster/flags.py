"""The flags of the server that the arguments of a `Cluster` mean. Imports the standard library and tables only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.release import RELEASES, Release, default_release

#: Flags that a cluster sets itself.
_OWN_FLAGS = ("data-dir", "dialect", "emulated-version", "bind-address", "secure-port", "token-auth-file", "cert-dir")

#: Gates that differ from the server's defaults, and the release that made them its own: clients that ask for no field
#: validation are warned of unknown fields, and the rules of definitions are evaluated.
_GATES: Final = {"CustomResourceValidationExpressions": "1.24", "ServerSideFieldValidation": "1.24"}


def default_gates(release: Release) -> dict[str, bool]:
    """The gates of a server of this release that are on in test clusters alone."""
    return {name: True for name, until in _GATES.items() if release.includes("", until)}


def release_of(dialect: Dialect, name: str | None) -> Release:
    """The release of an argument; None is the default of the dialect. Raises ValueError."""
    if name is None:
        return default_release(dialect)
    if name not in RELEASES:
        raise ValueError(f"release: {name!r} is not one of {', '.join(RELEASES)}")
    return RELEASES[name]


def controller_names(controllers: bool | Iterable[str]) -> bool | tuple[str, ...]:
    """`controllers` of a `Cluster` as a value; names are separated. Raises ValueError."""
    if isinstance(controllers, bool):
        return controllers
    if controllers is None or not isinstance(controllers, Iterable):
        raise ValueError(f"controllers: {controllers!r} is neither True, False nor names of controllers")
    names = controllers.split(",") if isinstance(controllers, str) else controllers
    return tuple(name.strip() for name in names)


def command_line(
    release: Release,
    nodes: int,
    controllers: bool | Iterable[str],
    scheduler: bool | None,
    gates: Mapping[str, bool],
    flags: Mapping[str, object],
) -> Iterable[str]:
    """Flags as of the command line. What `flags` says takes the place of an argument's default. Raises ValueError that
    names the argument or flag: for a wrong type, for a flag that the cluster sets itself, for a flag and its argument
    at once."""
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
        raise ValueError(f"nodes: {nodes!r} is not a number of nodes")
    if scheduler not in (None, True, False):
        raise ValueError(f"scheduler: {scheduler!r} is neither True, False nor None")
    for name, mapping in (("gates", gates), ("flags", flags)):
        if not isinstance(mapping, Mapping):
            raise ValueError(f"{name}: {mapping!r} is not a dict of names and values")
    named = {name.lstrip("-"): _flag_text(name, value) for name, value in flags.items()}
    if own := [name for name in named if name in _OWN_FLAGS]:
        raise ValueError(f"flags that a cluster sets itself: {', '.join(own)}")
    both = {
        "controllers": ("controllers", controllers is not True),
        "scheduler": ("scheduler", scheduler is not None),
        "simulated-nodes": ("nodes", nodes != 0),
        "feature-gates": ("gates", bool(gates)),
    }
    for flag, (argument, is_given) in both.items():
        if flag in named and is_given:
            raise ValueError(f"flags: {flag} is the argument {argument}, which is given as well")
    chosen = {**default_gates(release), **gates}
    return [f"--emulated-version={release}", *_lines(nodes, controller_names(controllers), scheduler, chosen, named)]


def _lines(
    nodes: int,
    controllers: bool | tuple[str, ...],
    scheduler: bool | None,
    gates: Mapping[str, bool],
    named: dict[str, str],
) -> Iterator[str]:
    if controllers is False:
        yield "--controllers=-*"
    elif controllers is not True:
        yield "--controllers=" + ",".join(controllers)
    if "scheduler" not in named:
        some = nodes > 0 or named.get("simulated-nodes", "0") != "0"
        yield f"--scheduler={_text(some if scheduler is None else scheduler)}"
    if nodes:
        yield f"--simulated-nodes={nodes}"
    if gates:
        yield "--feature-gates=" + ",".join(f"{name}={_text(on)}" for name, on in sorted(gates.items()))
    for name, value in named.items():
        yield f"--{name}={value}"


def _flag_text(name: str, value: object) -> str:
    """The value of a flag as text; a list or tuple with commas. Raises ValueError that names the flag."""
    if isinstance(value, list | tuple):
        return ",".join(_flag_text(name, each) for each in value)
    if not isinstance(value, str | int | float | os.PathLike):
        raise ValueError(f"flags: {name}: {value!r} is neither text, a number, True, False nor a list of these")
    return _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
