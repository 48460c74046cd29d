"""The names that flags may select of plugins, authorizers and controllers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from orchd.config import choices
from orchd.config.flag_values import FlagValues
from orchd.config.nearest import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Names that flags may select: implemented built-ins and installed drop-ins. Names that are in the tables but not
    here are rejected as not built yet."""

    admission_plugins: frozenset[str] = frozenset(choices.ADMISSION_PLUGINS)
    authorizers: frozenset[str] = frozenset(choices.AUTHORIZERS)
    controllers: frozenset[str] = frozenset(choices.CONTROLLERS_BUILT)


def check_built(
    flags: FlagValues, flag: str, what: str, name: str, declared: Collection[str], built: Collection[str]
) -> None:
    """Check a name that the value of a flag contains. Raises FlagError if it is not in `built`."""
    if name in built:
        return
    if name in declared:
        raise flags.error(flag, f"{what} {name}: not built yet")
    raise flags.error(flag, unknown(what, name, sorted({*declared, *built})))
