"""The OpenAPI v2 (Swagger 2.0) document of a catalog, as JSON data."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.catalog import Catalog
from orchd.kinds.openapi.definitions import Definitions
from orchd.kinds.openapi.paths import Paths

#: The members that hold one entry per path and per definition.
PATHS: Final = "paths"
DEFINITIONS: Final = "definitions"


def frame(catalog: Catalog, *, title: str = "") -> dict[str, Any]:
    """The document in the order of its members, without paths and definitions.

    The title defaults to that of the dialect.
    """
    return {
        "swagger": "2.0",
        "info": {"title": title or catalog.dialect("{Long}"), "version": catalog.release.version},
        PATHS: {},
        DEFINITIONS: {},
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
            }
        },
        "security": [{"BearerToken": []}],
    }


def document(catalog: Catalog) -> dict[str, Any]:
    """The document of everything that is served. Leaves are shared and must not be modified."""
    return {**frame(catalog), PATHS: Paths(catalog).all(), DEFINITIONS: Definitions(catalog).of(catalog.resources)}
