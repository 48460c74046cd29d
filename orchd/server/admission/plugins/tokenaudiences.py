"""Audiences of the service account tokens that a node may request for a pod: those of the pod's volumes and their
drivers, and those that the node has permission for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from orchd.client.interfaces import ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError, quoted
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import Review
from orchd.server.authz.interfaces import Action, Decision, Verdict

#: Reads an object of a resource, named in the singular in errors, by namespace and name. Raises ApiError.
_Read = Callable[[ResourceRef, str, str, str], Awaitable[Object]]

_CLAIMS: Final = ResourceRef("", "v1", "persistentvolumeclaims")
_VOLUMES: Final = ResourceRef("", "v1", "persistentvolumes")
_PERMISSION: Final = "request-serviceaccounts-token-audience"
#: Drivers that do the work of in-tree volume plugins, by the source of a volume.
_MIGRATED: Final = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}


class TokenAudiences:
    def __init__(self, read: _Read, authorize: Callable[[Action], Awaitable[Verdict]], dialect: Dialect) -> None:
        self._read = read
        self._authorize = authorize
        self._drivers = ResourceRef(dialect("storage.{abbr}.io"), "v1", "csidrivers")
        self._singular = dialect("csidriver.storage.{abbr}.io")

    async def refusal(self, review: Review, pod: Object) -> str:
        """Why the node may not request this token for `pod`; "" if it may."""
        audiences = fields.spec(review.object).get("audiences") or [""]
        if len(audiences) > 1:
            return "node may only request 0 or 1 audiences"
        audience = audiences[0]
        failures: list[str] = []
        for volume in fields.spec(pod).get("volumes") or ():
            if audience in _projected(volume):
                return ""
            try:
                if audience in await self._of_driver(pod, volume):
                    return ""
            except ApiError as error:
                failures.append(error.message)
        if failures:
            distinct = list(dict.fromkeys(failures))
            joined = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
            return f"error validating audience {quoted(audience)}: {joined}"
        return await self._unpermitted(review, audience)

    async def _unpermitted(self, review: Review, audience: str) -> str:
        verdict = await self._authorize(
            Action(
                user=review.user,
                verb=_PERMISSION,
                version="v1",
                resource=audience,
                namespace=review.namespace,
                name=review.name,
            )
        )
        if verdict.decision is Decision.ALLOW:
            return ""
        missing, user = f"audience {quoted(audience)} not found in pod spec volume", review.user.name
        if verdict.error:
            return f"{missing}, error authorizing {user} to request tokens for this audience: {verdict.error}"
        return f"{missing}, {user} is not authorized to request tokens for this audience"

    async def _of_driver(self, pod: Object, volume: Object) -> list[str]:
        """Audiences that the driver of a volume requests tokens for. Raises ApiError for a missing object on the way to
        it."""
        driver = await self._driver(pod, volume)
        if not driver:
            return []
        obj = await self._read(self._drivers, self._singular, "", driver)
        return [each.get("audience") or "" for each in fields.spec(obj).get("tokenRequests") or ()]

    async def _driver(self, pod: Object, volume: Object) -> str:
        namespace = fields.namespace(pod)
        if (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            return await self._driver_of_claim(namespace, f"{fields.name(pod)}-{volume.get('name', '')}")
        if claim := volume.get("persistentVolumeClaim"):
            return await self._driver_of_claim(namespace, claim.get("claimName") or "")
        return _driver_of_source(volume)

    async def _driver_of_claim(self, namespace: str, name: str) -> str:
        claim = await self._read(_CLAIMS, "persistentvolumeclaim", namespace, name)
        volume = fields.spec(claim).get("volumeName") or ""
        return _driver_of_source(fields.spec(await self._read(_VOLUMES, "persistentvolume", "", volume)))


def _projected(volume: Object) -> Iterator[str]:
    """Audiences of the tokens in a volume."""
    for source in (volume.get("projected") or {}).get("sources") or ():
        token = source.get("serviceAccountToken")
        if token is not None:
            yield token.get("audience") or ""


def _driver_of_source(source: Object) -> str:
    """The driver of a volume's source, which may be one of a plugin that a driver has replaced; "" for none."""
    if driver := (source.get("csi") or {}).get("driver"):
        return str(driver)
    return next((driver for name, driver in _MIGRATED.items() if source.get(name) is not None), "")
