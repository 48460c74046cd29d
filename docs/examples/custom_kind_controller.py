"""A complete drop-in controller of a custom kind: counts the ConfigMaps of a Report, in its status.

See docs/extending/controller.md, which has the definition of the kind and the rights. A ConfigMap belongs to the Report
that its label `report` names.
"""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment, IController, IControllerFactory
from orchd.controllers.objects import CONFIG_MAPS
from orchd.kinds.fields import labels
from orchd.kinds.jsonvalues import Object

REPORTS = ResourceRef("example.com", "v1", "reports")
LABEL = "report"


class Reports(Controller):
    """Keys are Reports; a change of a ConfigMap queues the Reports that it belongs or belonged to."""

    name = "reports"
    account = "reports"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._reports = self.follow(REPORTS, primary=True)
        self._maps = self.follow(CONFIG_MAPS, self._map_changed)

    def _map_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        for obj in (old, new):
            if obj is not None and LABEL in labels(obj):
                self.queue.add((obj["metadata"]["namespace"], labels(obj)[LABEL]))

    async def reconcile(self, key: Key) -> float | None:
        """Write the count if it has changed."""
        namespace, name = key
        report = self._reports.get(namespace, name)
        if report is None:
            return None
        count = sum(labels(config_map).get(LABEL) == name for config_map in self._maps.list(namespace))
        if (report.get("status") or {}).get("count") == count:
            return None
        await self.client.update(REPORTS, namespace, name, {**report, "status": {"count": count}}, subresource="status")
        self.recorder.event(report, "Normal", "Counted", f"{count} config maps")
        return None


@implementer(IPlugin, IControllerFactory)
class _Factory:
    name = Reports.name
    help = "Counts the ConfigMaps of each Report."
    resources = (REPORTS, CONFIG_MAPS)

    def make(self, environment: Environment) -> IController:
        made: IController = Reports(environment)
        return made


factory = _Factory()
