"""OpenAPI v3 documents, one per group version, and the index of them.

Operations are those of v2 in the form of v3: a body has its own member, media types stand with the contents, a
parameter has a schema. Clients of releases after 1.23 read these documents, so they contain what only such clients use:
parameters of later releases, and the names of extensions that stock clients know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchd.dialect import STOCK_GVK, Dialect
from orchd.kinds.catalog import Catalog, Resource, group_version
from orchd.kinds.openapi.definitions import V3_ROOT, Definitions
from orchd.kinds.openapi.parameters import LATER_PARAMETERS
from orchd.kinds.openapi.paths import Paths
from orchd.kinds.openapi.v2 import DOCUMENT_VERSION

Json = dict[str, Any]

#: The path of the index.
ROOT: Final = "/openapi/v3"

_METHODS: Final = frozenset(("get", "put", "post", "delete", "options", "head", "patch"))


def document_path(group: str, version: str) -> str:
    """The path of the document of a group version below ``/openapi/v3/``: ``apis/apps/v1``, ``api/v1``."""
    return ("apis/" if group else "api/") + group_version(group, version)


def resources_by_path(catalog: Catalog) -> dict[str, tuple[Resource, ...]]:
    """Path of the document of every group version -> its resources, those of later releases included."""
    resources_: dict[str, list[Resource]] = {}
    for resource in (*catalog.resources, *catalog.later):
        resources_.setdefault(document_path(resource.group, resource.version), []).append(resource)
    return {path: tuple(resources) for path, resources in resources_.items()}


def root_items(catalog: Catalog) -> dict[str, dict[str, Json]]:
    """Path of the document -> path items, for what belongs to no group version: discovery, version, logs, keys."""
    versions = {f"/{document_path(group.name, version)}/" for group in catalog.groups for version in group.versions}
    items: dict[str, dict[str, Json]] = {}
    for path, item in Paths(catalog, root=V3_ROOT).roots():
        if path not in versions:
            items.setdefault(path.partition("{")[0].strip("/"), {})[path] = item
    return items


def paths(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """(path below ``/openapi/v3/``, group, version) of the document of every group version."""
    for path, resources in resources_by_path(catalog).items():
        yield path, resources[0].group, resources[0].version


def index(hashes: Mapping[str, str], foreign: Iterable[str] = ()) -> Json:
    """The document of ``/openapi/v3``; `hashes` maps a document's path to a hash of its bytes. `foreign` are the paths
    of documents of other servers, whose hashes only they know."""
    urls = {path: document_url(path, digest) for path, digest in hashes.items()}
    urls.update((path, f"{ROOT}/{path}") for path in foreign)
    return {"paths": {path: {"serverRelativeURL": urls[path]} for path in sorted(urls)}}


def document_url(path: str, digest: str) -> str:
    """The URL of a document as the index has it."""
    return f"{ROOT}/{path}?hash={digest}"


def root_document(catalog: Catalog, items: Mapping[str, Json]) -> Json:
    """The document of path items from `root_items`."""
    return _document(catalog, items, _needed(items, Definitions(catalog, root=V3_ROOT).of(())))


def _needed(items: Mapping[str, Json], definitions: Json) -> Json:
    """The members of `definitions` that path items refer to, and those that these refer to."""
    kept, pending = dict[str, Json](), list(_references(items))
    while pending:
        name = pending.pop()
        if name not in kept:
            kept[name] = definitions[name]
            pending.extend(_references(definitions[name]))
    return dict(sorted(kept.items()))


def _all(items: Mapping[str, Json], definitions: Json) -> Json:
    """All members of `definitions`, whatever path items refer to."""
    return definitions


#: The definitions of the document of a group version, from a release on.
_LISTED: Final = (("", _all), ("1.24", _needed))


def _references(value: Any) -> Iterator[str]:
    """The names of the definitions that a part of a document refers to."""
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
    elif isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(V3_ROOT)
        for each in value.values():
            yield from _references(each)


def document(catalog: Catalog, group: str, version: str, resources: Sequence[Resource] = ()) -> Json | None:
    """The document of one group version, None when it is not served. `resources` are those of `resources_by_path`, for
    callers that have them. Shared leaves are not to be changed."""
    resources = resources or resources_by_path(catalog).get(document_path(group, version), ())
    if not resources:
        return None
    items = Paths(catalog, root=V3_ROOT).in_version(resources)
    definitions = Definitions(catalog, root=V3_ROOT).of(resources)
    return _document(catalog, items, catalog.release.choose(_LISTED)(items, definitions))


def _document(catalog: Catalog, items: Mapping[str, Json], schemas: Json) -> Json:
    form = _Form(catalog.dialect, adds=catalog.release.choose((("", True), ("1.25", False))))
    return {
        "openapi": "3.0.0",
        "info": {
            "title": catalog.dialect("{Long}"),
            "version": catalog.release.choose(DOCUMENT_VERSION)(catalog.release),
        },
        "paths": {path: form.item(item) for path, item in items.items()},
        "components": {
            "schemas": {name: form.findable(schema) for name, schema in schemas.items()},
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "description": "Bearer Token authentication",
                    "name": "authorization",
                    "in": "header",
                }
            },
        },
    }


class _Form:
    """Operations of v2 in the form of v3, in one dialect."""

    def __init__(self, dialect: Dialect, *, adds: bool) -> None:
        """`adds`: operations have the parameters of later releases too."""
        self._adds = adds
        self._action = dialect("x-{long}-action")
        self._gvk = dialect("x-{long}-group-version-kind")

    def findable(self, part: Json) -> Json:
        """`part` with the extension that names kinds as stock clients look for it, too."""
        if self._gvk == STOCK_GVK or self._gvk not in part:
            return part
        return {**part, STOCK_GVK: part[self._gvk]}

    def item(self, item: Json) -> Json:
        """A path item."""
        out: Json = {}
        for key, value in item.items():
            out[key] = self.findable(self._operation(value)) if key in _METHODS else [_parameter(p) for p in value]
        return out

    def _operation(self, operation: Json) -> Json:
        out: Json = {}
        consumes = operation.get("consumes", ["*/*"])
        produces = operation.get("produces", ["*/*"])
        later = LATER_PARAMETERS.get(operation.get(self._action, ""), ()) if self._adds else ()
        for key, value in {"parameters": [], **operation}.items() if later else operation.items():
            if key in ("consumes", "produces", "schemes"):
                continue
            if key == "responses":
                out[key] = {code: _response(response, produces) for code, response in value.items()}
            elif key == "parameters":
                parameters = [_parameter(p) for p in (*value, *later) if p["in"] != "body"]
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


def _response(response: Json, produces: list[str]) -> Json:
    out: Json = {"description": response["description"]}
    if "schema" in response:
        out["content"] = {media: {"schema": response["schema"]} for media in produces}
    return out


def _parameter(parameter: Json) -> Json:
    schema = {key: parameter[key] for key in ("type", "uniqueItems") if key in parameter}
    out = {key: value for key, value in parameter.items() if key not in schema}
    out["schema"] = schema
    return out
