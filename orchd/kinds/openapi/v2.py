"""The OpenAPI v2 (Swagger 2.0) document of a catalog, as JSON data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.kinds.catalog import Catalog
from orchd.kinds.openapi.definitions import Definitions
from orchd.kinds.openapi.paths import Paths
from orchd.kinds.release import Release

#: The members that hold one entry per path and per definition.
PATHS: Final = "paths"
DEFINITIONS: Final = "definitions"


#: The version that documents state, from a release on.
DOCUMENT_VERSION: Final[tuple[tuple[str, Callable[[Release], str]], ...]] = (
    ("", lambda release: release.version),
    ("1.33", lambda release: release.name),
)


def frame(catalog: Catalog, *, title: str = "") -> dict[str, Any]:
    """The document in the order of its members, without paths and definitions.

    The title defaults to that of the dialect.
    """
    return {
        "swagger": "2.0",
        "info": {
            "title": title or catalog.dialect("{Long}"),
            "version": catalog.release.choose(DOCUMENT_VERSION)(catalog.release),
        },
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
