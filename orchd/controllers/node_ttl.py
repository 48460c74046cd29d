"""Sets the annotation with the time that node agents may cache Secrets and ConfigMaps, which grows with the number of
nodes."""

from __future__ import annotations

from typing import Final

from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import MERGE, NODES
from orchd.kinds.fields import annotations_of, name
from orchd.kinds.jsonvalues import Object

#: Least and most nodes of a step, and its seconds. Steps overlap, so that a node more or less does not change all
#: others.
STEPS: Final = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 1 << 31, 300))


def step_for(step: int, nodes: int) -> int:
    """The step for a number of nodes, coming from `step`."""
    while nodes > STEPS[step][1]:
        step += 1
    while nodes < STEPS[step][0]:
        step -= 1
    return step


class NodeTtlController(Controller):
    """Writes the annotation of nodes that change."""

    name = "ttl"
    account = "ttl-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._annotation = env.dialect("node.alpha.{long}.io/ttl")
        self._count = 0
        self._step = 0
        self._nodes = self.follow(NODES, self._changed, primary=True)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if event != "MODIFIED":
            self._count += 1 if event == "ADDED" else -1
            self._step = step_for(self._step, self._count)
        if new is not None:
            self.queue.add(("", name(new)))

    async def reconcile(self, key: Key) -> float | None:
        node, seconds = self._nodes.get(*key), str(STEPS[self._step][2])
        if node is not None and annotations_of(node).get(self._annotation) != seconds:
            change = {"metadata": {"annotations": {self._annotation: seconds}}}
            await self.client.patch(NODES, "", key[1], change, content_type=MERGE)
        return None
