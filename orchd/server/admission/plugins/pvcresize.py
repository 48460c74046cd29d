"""PersistentVolumeClaimResize: claims may grow only if their storage class allows it."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import mapping, spec, status
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.quota.usage import claim_class
from orchd.kinds.objects.scalars import Quantity
from orchd.server.admission.interfaces import UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse

_NO = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"


@implementer(IValidatingPlugin)
class PersistentVolumeClaimResize(Plugin):
    name = "PersistentVolumeClaimResize"
    help = "Rejects growing persistent volume claims unless their storage class allows volume expansion."
    operations = (UPDATE,)
    resources = ("persistentvolumeclaims",)
    informers = (("storage.{abbr}.io", "v1", "storageclasses"),)

    async def validate(self, review: Review) -> None:
        new, old = review.written, review.old_object or {}
        sizes = [_size(new), _size(old)]
        if sizes[0] is None or (sizes[1] is not None and sizes[0] <= sizes[1]):
            return
        if status(old).get("phase") != "Bound":
            raise refuse(review, "Only bound persistent volume claims can be expanded")
        name = claim_class(new, self.dialect)
        if not name or name != claim_class(old, self.dialect):
            raise refuse(review, _NO)
        await self.wait_ready(review)
        storage_class = self.informer("storageclasses").get("", name)
        if storage_class is None or not storage_class.get("allowVolumeExpansion"):
            raise refuse(review, _NO)


def _size(claim: ObjectView) -> Quantity | None:
    """The requested size, which may be one of thousands of requests."""
    requested = mapping(spec(claim), "resources", "requests").get("storage")
    return None if requested is None else Quantity.parse(requested)
