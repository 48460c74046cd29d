"""PodTopologyLabels: pods get the zone and region of their node as labels."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import labels, mapping, spec, with_metadata
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin


@implementer(IMutatingPlugin)
class PodTopologyLabels(Plugin):
    name = "PodTopologyLabels"
    help = "Copies the labels of zone and region from the node to a pod that is bound to it, or created on it."
    operations = (CREATE,)
    resources = ("pods", "pods/binding")
    informers = (("", "v1", "nodes"),)

    def setup(self) -> None:
        self._copied = tuple(self.dialect(f"topology.{{long}}.io/{name}") for name in ("zone", "region"))

    async def admit(self, review: Review) -> None:
        obj = review.written
        if review.subresource == "binding":
            target = mapping(obj, "target")
            name = target.get("name") if target.get("kind") == "Node" else ""
        else:
            name = spec(obj).get("nodeName")
        if not name:
            return
        await self.wait_ready(review)
        node_labels = labels(self.informer("nodes").get("", name))
        copied = {key: node_labels[key] for key in self._copied if key in node_labels}
        if copied:
            review.object = with_metadata(obj, labels={**labels(obj), **copied})
