"""OwnerReferencesPermissionEnforcement: changing owner references requires permission to delete the object; setting
blockOwnerDeletion requires permission to update the owner's finalizers."""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.kinds.catalog import split_group_version
from orchd.kinds.fields import owners
from orchd.server.admission.interfaces import UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.authz.interfaces import Action, Decision


def _identity(reference: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(reference.get(k) for k in ("apiVersion", "kind", "name", "uid"))


@implementer(IValidatingPlugin)
class OwnerReferencesPermissionEnforcement(Plugin):
    name = "OwnerReferencesPermissionEnforcement"
    help = "Requires delete permission on an object to change its owner references."

    async def validate(self, review: Review) -> None:
        new, old = owners(review.object), owners(review.old_object)
        if new == old or (review.resource.plural == "pods" and review.subresource == "status"):
            return
        if review.operation == UPDATE:
            verdict = await self.context.authorize(
                Action(
                    user=review.user,
                    verb="delete",
                    group=review.resource.group,
                    version=review.resource.version,
                    resource=review.resource.plural,
                    namespace=review.namespace,
                    name=review.name,
                )
            )
            if verdict.decision is not Decision.ALLOW:
                raise refuse(review, f"cannot set an ownerRef on a resource you can't delete: {verdict.reason}, <nil>")
        blocked_before = {_identity(r) for r in old if r.get("blockOwnerDeletion")}
        for reference in new:
            if reference.get("blockOwnerDeletion") and _identity(reference) not in blocked_before:
                await self._check_block(review, reference)

    async def _check_block(self, review: Review, reference: dict[str, Any]) -> None:
        api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        owner = self.context.api.catalog().kind(api_version, kind)
        if owner is None:
            group, version = split_group_version(api_version)
            kind_text = f"{kind}.{group}" if group else kind
            raise refuse(
                review,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                f'APIVersion {api_version} Kind {kind}: no matches for kind "{kind_text}" in version "{version}"',
            )
        verdict = await self.context.authorize(
            Action(
                user=review.user,
                verb="update",
                group=owner.group,
                version=owner.version,
                resource=owner.plural,
                subresource="finalizers",
                namespace=review.namespace if owner.namespaced else "",
                name=reference.get("name", ""),
            )
        )
        if verdict.decision is not Decision.ALLOW:
            raise refuse(
                review,
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource "
                f"you can't set finalizers on: {verdict.reason}, <nil>",
            )
