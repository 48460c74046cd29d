"""NamespaceExists and NamespaceAutoProvision: check or create the namespace of an object."""

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

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        return resource.namespaced


@implementer(IValidatingPlugin)
class NamespaceExists(_InNamespace):
    name = "NamespaceExists"
    help = "Rejects writes into namespaces that do not exist."
    operations = (CREATE, UPDATE, DELETE)

    async def validate(self, review: Review) -> None:
        await self.wait_ready(review)
        if self.informer("namespaces").get("", review.namespace) is None:
            # The informer may lag: read from the store, whose 404 names the namespace.
            await self.context.api.client.get(NAMESPACES, "", review.namespace)


@implementer(IMutatingPlugin)
class NamespaceAutoProvision(_InNamespace):
    name = "NamespaceAutoProvision"
    help = "Creates a missing namespace when an object is created in it."
    operations = (CREATE,)

    async def admit(self, review: Review) -> None:
        # A dry run must not create it; NamespaceLifecycle then rejects.
        if review.dry_run:
            return
        await self.wait_ready(review)
        if self.informer("namespaces").get("", review.namespace) is not None:
            return
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": review.namespace}}
        try:
            await self.context.api.client.create(NAMESPACES, "", namespace)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise refuse(review, error.message) from error
