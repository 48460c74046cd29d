"""URL paths of resources (specification, "Resource URIs")."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from orchd.client.interfaces import ResourceRef

#: Texts that `quote` returns unchanged, as most names are.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]*")


def _segment(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quote(text, safe="")


def collection(ref: ResourceRef, namespace: str) -> str:
    """``/api/v1/namespaces/a/pods``, ``/apis/apps/v1/deployments``."""
    root = f"/apis/{ref.group}/{ref.version}" if ref.group else f"/api/{ref.version}"
    inner = f"/namespaces/{_segment(namespace)}" if namespace else ""
    return f"{root}{inner}/{ref.plural}"


def item(ref: ResourceRef, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object, or of a subresource of it."""
    path = f"{collection(ref, namespace)}/{_segment(name)}"
    return f"{path}/{subresource}" if subresource else path
