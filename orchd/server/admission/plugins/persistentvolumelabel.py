"""PersistentVolumeLabel: sets node affinity of cloud volumes from their zone and region labels.

Labels of a provisioner are trusted. Other volumes would need a cloud provider, which does not exist here, and are
rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse

#: Member of a volume's spec -> the cloud's name, the member that names the volume, why the cloud cannot be queried.
_CLOUDS = {
    "awsElasticBlockStore": ("AWS EBS volume", "volumeID", "unable to build AWS cloud provider for EBS"),
    "gcePersistentDisk": ("GCE PD volume", "pdName", "unable to build GCE cloud provider for PD"),
    "azureDisk": ("AzureDisk volume", "diskName", "unable to build Azure cloud provider for AzureDisk"),
    "vsphereVolume": ("vSphere Volume", "volumePath", "unable to build vSphere cloud provider"),
}
#: The name of a volume that is not provisioned yet; vSphere has none.
_PLACEHOLDER = "placeholder-for-provisioning"


@implementer(IMutatingPlugin)
class PersistentVolumeLabel(Plugin):
    name = "PersistentVolumeLabel"
    help = "Sets node affinity of cloud volumes from their zone labels; rejects volumes without them."
    operations = (CREATE,)
    resources = ("persistentvolumes",)

    def setup(self) -> None:
        self._provisioned = self.dialect("pv.{long}.io/provisioned-by")
        self._zones = tuple(
            (self.dialect(f"{prefix}/zone"), self.dialect(f"{prefix}/region"))
            for prefix in ("topology.{long}.io", "failure-domain.beta.{long}.io")
        )

    async def admit(self, review: Review) -> None:
        volume = review.written
        labels = self._labels(review, volume)
        if not labels:
            return
        requirements = [
            {"key": key, "operator": "In", "values": self._values(review, key, value)} for key, value in labels.items()
        ]
        review.object = fields.with_metadata(
            fields.with_spec(volume, nodeAffinity=_restrict(fields.spec(volume).get("nodeAffinity"), requirements)),
            labels={**fields.labels(volume), **labels},
        )

    def _labels(self, review: Review, volume: Object) -> Mapping[str, str]:
        has = fields.labels(volume)
        if self._provisioned in fields.annotations_of(volume):
            for pair in self._zones:
                if all(key in has for key in pair):
                    return {key: has[key] for key in pair}
        for member, (what, name, why) in _CLOUDS.items():
            source = fields.spec(volume).get(member)
            if source is None:
                continue
            called = source.get(name) or ""
            if called == _PLACEHOLDER and member != "vsphereVolume":
                return {}
            raise refuse(review, f"error querying {what} {called}: {why}")
        return {}

    def _values(self, review: Review, key: str, value: str) -> list[str]:
        """A region is one value; zones may be several, joined with two underscores."""
        if key not in (zone for zone, _ in self._zones):
            return [value]
        zones = [zone.strip() for zone in value.split("__")]
        if not all(zones):
            raise refuse(review, f"failed to convert label string for Zone: {value} to a Set")
        return sorted(set(zones))


def _restrict(affinity: Mapping[str, Any] | None, requirements: list[Object]) -> Object:
    """The node affinity with the requirements added to every term, unless a term uses one of the keys already."""
    required = fields.mapping(affinity, "required")
    terms = required.get("nodeSelectorTerms") or [{}]
    used = {e.get("key") for term in terms for e in term.get("matchExpressions") or ()}
    if not used & {r["key"] for r in requirements}:
        terms = [{**t, "matchExpressions": [*(t.get("matchExpressions") or ()), *requirements]} for t in terms]
    return {**(affinity or {}), "required": {**required, "nodeSelectorTerms": terms}}
