"""TaintNodesByCondition: new nodes are tainted until they are ready."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import spec, with_spec
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin


@implementer(IMutatingPlugin)
class TaintNodesByCondition(Plugin):
    name = "TaintNodesByCondition"
    help = "Taints new nodes as not ready, to prevent scheduling until their conditions are known."
    operations = (CREATE,)
    resources = ("nodes",)

    def setup(self) -> None:
        self._taint = {"key": self.dialect("node.{long}.io/not-ready"), "effect": "NoSchedule"}

    async def admit(self, review: Review) -> None:
        node = review.written
        taints = spec(node).get("taints") or []
        if not any(t.get("key") == self._taint["key"] and t.get("effect") == "NoSchedule" for t in taints):
            review.object = with_spec(node, taints=[*taints, self._taint])
