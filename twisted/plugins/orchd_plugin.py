"""Registers `twistd orchd` and the separate components, by their names in either dialect."""

from functools import partial
from typing import Any

from twisted.application.service import IServiceMaker, ServiceMaker
from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.dialect import DIALECTS, Dialect

orchd = ServiceMaker("orchd", "orchd.tap", "The control plane of a cluster.", "orchd")


@implementer(IServiceMaker, IPlugin)
class ComponentMaker:
    """One component under its name in one dialect, which is then the default of --dialect."""

    def __init__(self, component: str, dialect: Dialect, description: str) -> None:
        self.tapname = f"{dialect.short}-{component}"
        self.description = description
        self._component = component
        self._dialect = dialect

    @property
    def options(self) -> Any:
        """A function that creates the options; imported at the first access."""
        from orchd import component_tap

        return partial(component_tap.options, self._component, self._dialect)

    @property
    def makeService(self) -> Any:
        """A function that creates the service from parsed options."""
        from orchd import component_tap

        return partial(component_tap.make_service, self._component)


for _dialect in DIALECTS.values():
    globals()[f"{_dialect.name}_controller_manager"] = ComponentMaker(
        "controller-manager", _dialect, "The controllers of a cluster, as a separate process."
    )
    globals()[f"{_dialect.name}_scheduler"] = ComponentMaker(
        "scheduler", _dialect, "The scheduler of a cluster, as a separate process."
    )
