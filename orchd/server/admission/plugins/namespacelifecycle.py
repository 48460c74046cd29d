"""NamespaceLifecycle: rejects creation in missing or terminating namespaces, and deletion of system namespaces."""

from __future__ import annotations

from zope.interface import implementer

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import status
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.txkit.expiring_cache import ExpiringCache

NAMESPACES = ResourceRef("", "v1", "namespaces")
#: Seconds during which a namespace with a recent delete is read from the store while the informer shows it active.
_LIVE_SECONDS = 30.0
_LIVE_CAPACITY = 100


@implementer(IMutatingPlugin)
class NamespaceLifecycle(Plugin):
    name = "NamespaceLifecycle"
    help = "Rejects writes into namespaces that do not exist or are terminating, and deletion of system namespaces."
    operations = (CREATE, UPDATE, DELETE)
    informers = (("", "v1", "namespaces"),)

    def setup(self) -> None:
        self._immortal = frozenset(("default", self.dialect.system_namespace, self.dialect("{short}-public")))
        self._reviews = self.dialect("authorization.{abbr}.io")
        #: Namespaces whose deletion was requested a short time ago.
        self._deleted: ExpiringCache[str, bool] = ExpiringCache(_LIVE_CAPACITY, self.context.runtime.wall)

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        if resource.group == "" and resource.plural == "namespaces":
            return True
        return resource.namespaced and not (
            resource.group == self._reviews and resource.plural == "localsubjectaccessreviews"
        )

    async def admit(self, review: Review) -> None:
        resource = review.resource
        if resource.plural == "namespaces" and resource.group == "":
            if review.operation == DELETE:
                self._delete(review)
            return
        if review.operation == DELETE:
            return
        await self.wait_ready(review)
        namespace = self.informer("namespaces").get("", review.namespace)
        if namespace is None or self._must_ask(review.namespace, namespace):
            namespace = await self.context.api.client.get(NAMESPACES, "", review.namespace)
        if review.operation == CREATE and _phase(namespace) == "Terminating":
            raise refuse(
                review,
                f"unable to create new content in namespace {review.namespace} because it is being terminated",
                [
                    Cause(
                        "NamespaceTerminating",
                        f"namespace {review.namespace} is being terminated",
                        "metadata.namespace",
                    )
                ],
            )

    def _delete(self, review: Review) -> None:
        if review.name in self._immortal:
            raise errors.forbidden("", "namespaces", review.name, "this namespace may not be deleted")
        self._deleted.put(review.name, True, _LIVE_SECONDS)

    def _must_ask(self, name: str, namespace: Object) -> bool:
        return bool(self._deleted.get(name)) and _phase(namespace) == "Active"


def _phase(namespace: Object) -> str:
    phase: str = status(namespace).get("phase", "")
    return phase
