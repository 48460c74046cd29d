"""StorageObjectInUseProtection: finalizers delay the removal of claims, volumes and classes of their attributes in
use."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import metadata, with_metadata
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin


@implementer(IMutatingPlugin)
class StorageObjectInUseProtection(Plugin):
    name = "StorageObjectInUseProtection"
    help = (
        "Adds finalizers that delay deletion of persistent volumes, claims and classes of volume attributes "
        "until they are unused."
    )
    operations = (CREATE,)
    resources = ("persistentvolumeclaims", "persistentvolumes", "volumeattributesclasses.storage.{abbr}.io")

    def setup(self) -> None:
        self._finalizers = {
            "persistentvolumeclaims": self.dialect("{long}.io/pvc-protection"),
            "persistentvolumes": self.dialect("{long}.io/pv-protection"),
            "volumeattributesclasses": self.dialect("{long}.io/vac-protection"),
        }

    async def admit(self, review: Review) -> None:
        obj = review.written
        finalizer = self._finalizers[review.resource.plural]
        held = metadata(obj).get("finalizers") or []
        if finalizer not in held:
            review.object = with_metadata(obj, finalizers=[*held, finalizer])
