"""AlwaysAdmit and AlwaysDeny: decide without looking at the request."""

from __future__ import annotations

from zope.interface import implementer

from orchd.server.admission.interfaces import (
    CONNECT,
    CREATE,
    DELETE,
    UPDATE,
    IMutatingPlugin,
    IValidatingPlugin,
    Review,
)
from orchd.server.admission.plugin import Plugin, refuse


@implementer(IMutatingPlugin, IValidatingPlugin)
class AlwaysAdmit(Plugin):
    name = "AlwaysAdmit"
    help = "Admits everything; has no effect."
    operations = (CREATE, UPDATE, DELETE, CONNECT)

    async def admit(self, review: Review) -> None:
        return None

    async def validate(self, review: Review) -> None:
        return None


@implementer(IMutatingPlugin, IValidatingPlugin)
class AlwaysDeny(Plugin):
    name = "AlwaysDeny"
    help = "Rejects every write."
    operations = (CREATE, UPDATE, DELETE, CONNECT)

    async def admit(self, review: Review) -> None:
        raise refuse(review, "admission control is denying all modifications")

    async def validate(self, review: Review) -> None:
        raise refuse(review, "admission control is denying all modifications")
