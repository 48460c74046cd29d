"""A complete subresource: ``GET /api/v1/namespaces/N/configmaps/NAME/keys`` responds with the names of the data's keys.

See docs/extending/subresource.md.
"""

from __future__ import annotations

import orjson

from orchd.kinds.rows import Subresource
from orchd.server.pipeline.endpoints.routes import json_response
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext

#: The row of the subresource, in `subresources` of its parent's row (orchd/kinds/builtin/core_v1.py).
ROW = Subresource(name="keys", verbs=("get",), served_by="keys of a config map")


async def get_keys(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with ``{"keys": [...]}``, sorted. Raises ApiError 404 where there is no such object."""
    entry = await context.registry.get(
        target.resource, target.namespace, target.name, resource_version=request.param("resourceVersion")
    )
    data = orjson.loads(entry.json)
    return json_response({"keys": sorted({**(data.get("data") or {}), **(data.get("binaryData") or {})})})
