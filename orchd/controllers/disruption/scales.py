"""Desired replicas of the owners of pods: of built-in owners from informers, of others through the scale
subresource."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from orchd.client.interfaces import IClient, IInformer, ResourceRef
from orchd.controllers.objects import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog
from orchd.kinds.fields import name, namespace, owner, spec, uid
from orchd.kinds.jsonvalues import Object

#: (API group, kind) of owners that are read from informers.
_KNOWN: Final = {
    ("apps", "ReplicaSet"): REPLICA_SETS,
    ("apps", "StatefulSet"): STATEFUL_SETS,
    ("", "ReplicationController"): REPLICATION_CONTROLLERS,
}


class ScaleError(Exception):
    """The size of an owner is unknown; the text is the reason."""


class Scales:
    """`informers` are those of `REFS`."""

    REFS: Final = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)

    def __init__(
        self, client: IClient, catalog: Callable[[], Catalog], informers: dict[ResourceRef, IInformer]
    ) -> None:
        self._client = client
        self._catalog = catalog
        self._informers = informers

    async def total(self, pods: Iterable[Object]) -> int:
        """Total size of all owners of these pods; pods without an owner do not count. Raises ScaleError."""
        sizes: dict[str, int] = {}
        seen: set[str] = set()
        for pod in pods:
            reference = owner(pod)
            if reference is None or reference.get("uid") in seen:
                continue
            scaled = await self._find(namespace(pod), reference)
            if scaled is None:
                raise ScaleError(f'found no controllers for pod "{name(pod)}"')
            seen.add(str(reference.get("uid")))
            sizes[scaled[0]] = scaled[1]
        return sum(sizes.values())

    async def _find(self, within: str, reference: dict[str, Any]) -> tuple[str, int] | None:
        """Uid and size of the top-level owner: for a replica set its deployment, if it has one."""
        group = str(reference.get("apiVersion", "")).rpartition("/")[0]
        ref = _KNOWN.get((group, str(reference.get("kind"))))
        if ref is None:
            return await self._ask(within, reference)
        obj = self._informers[ref].get(within, str(reference.get("name")))
        if obj is None or uid(obj) != reference.get("uid"):
            return None
        above = owner(obj)
        if ref == REPLICA_SETS and above is not None and above.get("kind") == "Deployment":
            obj = self._informers[DEPLOYMENTS].get(within, str(above.get("name")))
            if obj is None or uid(obj) != above.get("uid"):
                return None
        return uid(obj), int(spec(obj).get("replicas", 1))

    async def _ask(self, within: str, reference: dict[str, Any]) -> tuple[str, int] | None:
        version, kind = str(reference.get("apiVersion")), str(reference.get("kind"))
        resource = self._catalog().kind(version, kind)
        if resource is None:
            raise ScaleError(f'no matches for kind "{kind}" in version "{version}"')
        ref = ResourceRef(resource.group, resource.version, resource.plural)
        try:
            scale = await self._client.get(ref, within, str(reference.get("name")), subresource="scale")
        except ApiError as error:
            if error.code != 404:
                raise ScaleError(error.message) from error
            if "scale" in resource.subresources:
                return None
            title = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            raise ScaleError(f"{title} does not implement the scale subresource") from error
        if scale["metadata"].get("uid") != reference.get("uid"):
            return None
        return uid(scale), int(spec(scale).get("replicas") or 0)
