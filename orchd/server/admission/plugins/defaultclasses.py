"""DefaultStorageClass and DefaultIngressClass: set the default class of claims and ingresses."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import annotations_of, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse


@implementer(IMutatingPlugin)
class DefaultStorageClass(Plugin):
    name = "DefaultStorageClass"
    help = "Sets the default storage class of persistent volume claims without a class."
    operations = (CREATE,)
    resources = ("persistentvolumeclaims",)
    informers = (("storage.{abbr}.io", "v1", "storageclasses"),)

    def setup(self) -> None:
        self._beta_class = self.dialect("volume.beta.{long}.io/storage-class")
        self._marks = (
            self.dialect("storageclass.{long}.io/is-default-class"),
            self.dialect("storageclass.beta.{long}.io/is-default-class"),
        )

    async def admit(self, review: Review) -> None:
        claim = review.object
        if (
            claim is None
            or spec(claim).get("storageClassName") is not None
            or self._beta_class in annotations_of(claim)
        ):
            return
        await self.wait_ready(review)
        defaults = [c for c in self.informer(0).list() if any(annotations_of(c).get(m) == "true" for m in self._marks)]
        if len(defaults) > 1:
            raise refuse(review, f"Internal error occurred: {len(defaults)} default StorageClasses were found")
        if defaults:
            review.object = with_spec(claim, storageClassName=_name(defaults[0]))


@implementer(IMutatingPlugin)
class DefaultIngressClass(Plugin):
    name = "DefaultIngressClass"
    help = "Sets the default class of ingresses without a class."
    operations = (CREATE,)
    resources = ("ingresses.networking.{abbr}.io",)
    informers = (("networking.{abbr}.io", "v1", "ingressclasses"),)

    def setup(self) -> None:
        self._old_class = self.dialect("{long}.io/ingress.class")
        self._mark = self.dialect("ingressclass.{long}.io/is-default-class")

    async def admit(self, review: Review) -> None:
        ingress = review.object
        if ingress is None or spec(ingress).get("ingressClassName") is not None:
            return
        if self._old_class in annotations_of(ingress):
            return
        await self.wait_ready(review)
        defaults = [c for c in self.informer(0).list() if annotations_of(c).get(self._mark) == "true"]
        if len(defaults) > 1:
            raise refuse(
                review, f"Internal error occurred: {len(defaults)} default IngressClasses were found, only 1 allowed"
            )
        if defaults:
            review.object = with_spec(ingress, ingressClassName=_name(defaults[0]))


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name
