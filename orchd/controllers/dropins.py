"""Drop-in controllers."""

from __future__ import annotations

from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.controllers.interfaces import ControllerRow, IControllerFactory
from orchd.controllers.table import CONTROLLERS
from orchd.txkit import dropins


def drop_ins() -> list[ControllerRow]:
    """Rows of the factories found in `orchd.plugins`, by name. Raises ValueError naming one that does not provide the
    contract or whose name is taken."""
    taken = {row.name for row in CONTROLLERS}
    rows: list[ControllerRow] = []
    for factory in dropins.drop_ins(IControllerFactory, orchd.plugins):
        try:
            verifyObject(IControllerFactory, factory)
        except Exception as error:
            # Any failure of a drop-in must name it.
            raise ValueError(f"controller {factory!r} cannot be used: {error}") from error
        name = str(factory.name)
        if name in taken:
            raise ValueError(f"controller {name!r} of {factory!r} has a name that is taken")
        taken.add(name)
        rows.append(ControllerRow(name, factory.make, tuple(factory.resources)))
    return sorted(rows, key=lambda row: row.name)
