"""`Related`: what a description reads from the server besides its object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from orchd.ctl.cluster.api import Api
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.kinds.objects.tabulate.text import selector

_PHASES = ("Running", "Pending", "Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Reads objects. `age` formats the time since a time of an object."""

    api: Api
    dialect: Dialect
    age: Ages

    async def list(self, plural: str, namespace: str = "", query: Mapping[str, str] | None = None) -> list[Object]:
        """Objects of a built-in resource, of all namespaces without one. Raises ApiError."""
        resource = await self.api.discovery.find(self.dialect(plural))
        listed = await self.api.list(resource, everywhere=not namespace, namespace=namespace, query=query)
        return list(listed.get("items") or ())

    async def get(self, plural: str, namespace: str, name: str) -> Object:
        """An object of a built-in resource. Raises ApiError."""
        return await self.api.get(await self.api.discovery.find(self.dialect(plural)), name, namespace)

    async def pods_status(self, owner: Object) -> str:
        """How many pods that an object controls are in each phase."""
        chosen = fields.spec(owner).get("selector") or {}
        text = selector(chosen if chosen.keys() & {"matchLabels", "matchExpressions"} else {"matchLabels": chosen})
        try:
            pods = await self.list("pods", owner["metadata"]["namespace"], {"labelSelector": text})
        except ApiError as error:
            return f"error in fetching pods: {error}"
        counts = Counter(fields.status(pod).get("phase") for pod in pods if controls(owner, pod))
        running, waiting, succeeded, failed = (counts[phase] for phase in _PHASES)
        return f"{running} Running / {waiting} Waiting / {succeeded} Succeeded / {failed} Failed"


def controls(owner: Object, obj: Object) -> bool:
    """True if `owner` is the controller of an object."""
    return any(each.get("controller") and each.get("uid") == owner["metadata"]["uid"] for each in fields.owners(obj))
