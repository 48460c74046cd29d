"""URL paths of resources (specification, "Resource URIs")."""

from __future__ import annotations

from urllib.parse import quote

from orchd.client.interfaces import ResourceRef


def collection(ref: ResourceRef, namespace: str) -> str:
    """``/api/v1/namespaces/a/pods``, ``/apis/apps/v1/deployments``."""
    root = f"/apis/{ref.group}/{ref.version}" if ref.group else f"/api/{ref.version}"
    inner = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}{inner}/{ref.plural}"


def item(ref: ResourceRef, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object, or of a subresource of it."""
    path = f"{collection(ref, namespace)}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path
