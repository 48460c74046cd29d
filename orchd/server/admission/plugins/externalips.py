"""DenyServiceExternalIPs: services may not add external IPs."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.fields import spec
from orchd.server.admission.interfaces import IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse


@implementer(IValidatingPlugin)
class DenyServiceExternalIPs(Plugin):
    name = "DenyServiceExternalIPs"
    help = "Rejects new entries in the externalIPs of services."
    resources = ("services",)

    async def validate(self, review: Review) -> None:
        held = set(spec(review.old_object).get("externalIPs") or ())
        if any(ip not in held for ip in spec(review.object).get("externalIPs") or ()):
            raise refuse(review, "Use of external IPs is denied by admission control")
