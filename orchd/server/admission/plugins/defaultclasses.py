"""DefaultStorageClass and DefaultIngressClass: set the default class of claims and ingresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from zope.interface import implementer

from orchd.kinds.fields import annotations_of, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import has_class, is_default_class, newest
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
        self._choose = self.context.settings.release.choose(_CHOICES)

    async def admit(self, review: Review) -> None:
        claim = review.written
        if has_class(claim, self.dialect):
            return
        await self.wait_ready(review)
        defaults = [each for each in self.informer("storageclasses").list() if is_default_class(each, self.dialect)]
        if defaults:
            review.object = with_spec(
                claim, storageClassName=self._choose(review, defaults, "StorageClasses were found")
            )


@implementer(IMutatingPlugin)
class DefaultIngressClass(Plugin):
    name = "DefaultIngressClass"
    help = "Sets the default class of ingresses without a class."
    operations = (CREATE,)
    resources = ("ingresses.networking.{abbr}.io",)
    informers = (("networking.{abbr}.io", "v1", "ingressclasses"),)

    def setup(self) -> None:
        self._choose = self.context.settings.release.choose(_CHOICES)
        self._old_class = self.dialect("{long}.io/ingress.class")
        self._mark = self.dialect("ingressclass.{long}.io/is-default-class")

    async def admit(self, review: Review) -> None:
        ingress = review.written
        if spec(ingress).get("ingressClassName") is not None:
            return
        if self._old_class in annotations_of(ingress):
            return
        await self.wait_ready(review)
        defaults = [c for c in self.informer("ingressclasses").list() if annotations_of(c).get(self._mark) == "true"]
        if defaults:
            chosen = self._choose(review, defaults, "IngressClasses were found, only 1 allowed")
            review.object = with_spec(ingress, ingressClassName=chosen)


def _only(review: Review, defaults: Sequence[Object], wrong: str) -> str:
    """The name of the only default class. Raises ApiError 403 if there are several."""
    if len(defaults) > 1:
        raise refuse(review, f"Internal error occurred: {len(defaults)} default {wrong}")
    name: str = defaults[0]["metadata"]["name"]
    return name


def _newest(review: Review, defaults: Sequence[Object], wrong: str) -> str:
    """The name of the default class that was created last; of several the first by name."""
    return newest(defaults)


#: Which of several default classes objects get, by release.
_CHOICES: Final[Sequence[tuple[str, Callable[[Review, Sequence[Object], str], str]]]] = (("", _only), ("1.35", _newest))
