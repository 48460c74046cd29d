"""Drop-in controllers, found by getPlugins."""

from __future__ import annotations

from twisted.plugin import getPlugins
from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.controllers.interfaces import Factory, IControllerFactory
from orchd.controllers.table import CONTROLLERS


def drop_ins() -> dict[str, Factory]:
    """Factories found in `orchd.plugins` by name, sorted. Raises ValueError naming one that does not provide the contract
    or whose name is taken."""
    taken = {name for name, _ in CONTROLLERS}
    found: dict[str, Factory] = {}
    for factory in getPlugins(IControllerFactory, orchd.plugins):
        try:
            verifyObject(IControllerFactory, factory)
        except Exception as error:
            # Any failure of a drop-in must name it.
            raise ValueError(f"controller {factory!r} cannot be used: {error}") from error
        name = str(factory.name)
        if name in taken:
            raise ValueError(f"controller {name!r} of {factory!r} has a name that is taken")
        taken.add(name)
        found[name] = factory.make
    return dict(sorted(found.items()))
