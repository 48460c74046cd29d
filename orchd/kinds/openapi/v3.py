"""OpenAPI v3 documents, one per group version, and the index of them.

In release 1.23 they are behind the gate OpenAPIV3. Operations are those of v2 in the form of v3: a body has its own
member, media types stand with the contents, a parameter has a schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from orchd.kinds.catalog import Catalog, group_version
from orchd.kinds.openapi.definitions import V3_ROOT, Definitions
from orchd.kinds.openapi.paths import Paths

Json = dict[str, Any]

_METHODS: Final = frozenset(("get", "put", "post", "delete", "options", "head", "patch"))


def document_path(group: str, version: str) -> str:
    """Where the document of a group version is, below ``/openapi/v3/``: ``apis/apps/v1``, ``api/v1``."""
    return ("apis/" if group else "api/") + group_version(group, version)


def paths(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """(path below ``/openapi/v3/``, group, version) of every document."""
    for group in catalog.groups:
        for version in group.versions:
            yield document_path(group.name, version), group.name, version


def index(catalog: Catalog, hashes: dict[str, str]) -> Json:
    """``/openapi/v3`` as clients read it; `hashes` maps a document's path to a hash of its bytes."""
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={hashes[path]}"}
            for path in sorted(path for path, _, _ in paths(catalog))
        }
    }


def document(catalog: Catalog, group: str, version: str, *, title: str = "", release: str = "v1.23.17") -> Json | None:
    """The document of one group version, None when it is not served. Shared leaves are not to be changed."""
    resources = catalog.in_version(group, version)
    if not resources:
        return None
    items = Paths(catalog, root=V3_ROOT).in_version(group, version)
    return {
        "openapi": "3.0.0",
        "info": {"title": title or catalog.dialect("{Long}"), "version": release},
        "paths": {path: _item(item) for path, item in items.items()},
        "components": {
            "schemas": Definitions(catalog, root=V3_ROOT).of(resources),
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey", "description": "Bearer Token authentication", "name": "authorization",
                    "in": "header",
                }
            },
        },
    }


def _item(item: Json) -> Json:
    out: Json = {}
    for key, value in item.items():
        out[key] = _operation(value) if key in _METHODS else [_parameter(p) for p in value]
    return out


def _operation(operation: Json) -> Json:
    out: Json = {}
    consumes = operation.get("consumes", ["*/*"])
    produces = operation.get("produces", ["*/*"])
    for key, value in operation.items():
        if key in ("consumes", "produces", "schemes"):
            continue
        if key == "responses":
            out[key] = {code: _response(answer, produces) for code, answer in value.items()}
        elif key == "parameters":
            parameters = [_parameter(p) for p in value if p["in"] != "body"]
            if parameters:
                out[key] = parameters
            for body in (p for p in value if p["in"] == "body"):
                request: Json = {"content": {media: {"schema": body["schema"]} for media in consumes}}
                if body.get("required"):
                    request["required"] = True
                out["requestBody"] = request
        else:
            out[key] = value
    return out


def _response(answer: Json, produces: list[str]) -> Json:
    out: Json = {"description": answer["description"]}
    if "schema" in answer:
        out["content"] = {media: {"schema": answer["schema"]} for media in produces}
    return out


def _parameter(parameter: Json) -> Json:
    schema = {key: parameter[key] for key in ("type", "uniqueItems") if key in parameter}
    out = {key: value for key, value in parameter.items() if key not in schema}
    out["schema"] = schema
    return out
