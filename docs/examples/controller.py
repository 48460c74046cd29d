"""A complete drop-in controller: copies a label of each namespace to the ConfigMaps in it.

See docs/extending/controller.md. The label is `team`; a ConfigMap that already has one keeps it.
"""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment, IController, IControllerFactory
from orchd.controllers.objects import CONFIG_MAPS, MERGE, NAMESPACES
from orchd.kinds.fields import labels, name
from orchd.kinds.jsonvalues import Object

LABEL = "team"


class TeamLabels(Controller):
    """Work is queued by namespace: a change of a namespace or of a ConfigMap in it queues the same key."""

    name = "team-labels"
    account = "team-labels"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=2)
        self._namespaces = self.follow(NAMESPACES, primary=True)
        self._maps = self.follow(CONFIG_MAPS, self._map_changed)

    def _map_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.queue.add(("", new["metadata"]["namespace"]))

    async def reconcile(self, key: Key) -> float | None:
        """Bring the ConfigMaps of one namespace to where they should be; None: nothing to do until the next change."""
        namespace = self._namespaces.get(*key)
        team = None if namespace is None else labels(namespace).get(LABEL)
        if team is None:
            return None
        for config_map in self._maps.list(key[1]):
            if LABEL not in labels(config_map):
                patch = {"metadata": {"labels": {LABEL: team}}}
                await self.client.patch(CONFIG_MAPS, key[1], name(config_map), patch, content_type=MERGE)
        return None


@implementer(IPlugin, IControllerFactory)
class _Factory:
    name = TeamLabels.name
    help = "Copies the label team of a namespace to its ConfigMaps."
    resources = (NAMESPACES, CONFIG_MAPS)

    def make(self, environment: Environment) -> IController:
        made: IController = TeamLabels(environment)
        return made


factory = _Factory()
