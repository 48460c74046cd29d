"""The values that flags accept: built-in plugins, controllers and the drop-ins found."""

from __future__ import annotations

from orchd.config.capabilities import Capabilities
from orchd.controllers.dropins import drop_ins
from orchd.controllers.table import CONTROLLERS
from orchd.server.admission import builtin
from orchd.server.authz import modes


def capabilities() -> Capabilities:
    """Names of all built-in and drop-in components."""
    return Capabilities(
        admission_plugins=frozenset((*builtin.NAMES, *(str(f.name) for f in builtin.drop_ins()))),
        authorizers=frozenset((*modes.MODES, *modes.drop_ins())),
        controllers=frozenset(row.name for row in (*CONTROLLERS, *drop_ins())),
    )
