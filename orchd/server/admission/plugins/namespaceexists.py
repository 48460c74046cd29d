"""NamespaceExists and NamespaceAutoProvision: what happens when an object's namespace is missing."""

from __future__ import annotations

from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse

NAMESPACES = ResourceRef("", "v1", "namespaces")


class _InNamespace(Plugin):
    informers = (("", "v1", "namespaces"),)

    def interested(self, resource: Resource, subresource: str) -> bool:
        return resource.namespaced


@implementer(IValidatingPlugin)
class NamespaceExists(_InNamespace):
    name = "NamespaceExists"
    help = "Refuses every write into a namespace that does not exist."
    operations = (CREATE, UPDATE, DELETE)

    async def validate(self, review: Review) -> None:
        await self.wait_ready(review)
        if self.informer(0).get("", review.namespace) is None:
            # The informer may be late: the store has the last word, and its 404 names the namespace.
            await self.context.client.get(NAMESPACES, "", review.namespace)


@implementer(IMutatingPlugin)
class NamespaceAutoProvision(_InNamespace):
    name = "NamespaceAutoProvision"
    help = "Creates the namespace of an object that is created, when it is missing."
    operations = (CREATE,)

    async def admit(self, review: Review) -> None:
        # A dry run must leave nothing behind, so it lets NamespaceLifecycle refuse.
        if review.dry_run:
            return
        await self.wait_ready(review)
        if self.informer(0).get("", review.namespace) is not None:
            return
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": review.namespace}}
        try:
            await self.context.client.create(NAMESPACES, "", namespace)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise refuse(review, error.message) from error
