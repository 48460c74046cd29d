"""References to resources that the modules of a package have as constants."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import NEWEST, SPECIFICATION


def unserved(package: ModuleType) -> list[tuple[str, ResourceRef]]:
    """Constants of modules that name no resource of either release, with their modules."""
    catalogs = [builtin_catalog(ORCH, release) for release in (SPECIFICATION, NEWEST)]
    return [
        (module, ref)
        for module, ref in _constants(package)
        if not any(catalog.resource(ORCH(ref.group), ref.version, ref.plural) for catalog in catalogs)
    ]


def _constants(package: ModuleType) -> Iterator[tuple[str, ResourceRef]]:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            yield from ((module.name, ref) for ref in _refs(value))


def _refs(value: Any) -> Iterator[ResourceRef]:
    if isinstance(value, ResourceRef):
        yield value
    elif isinstance(value, Mapping):
        yield from (each for each in value.values() if isinstance(each, ResourceRef))
    elif isinstance(value, (tuple, list, frozenset)):
        yield from (each for each in value if isinstance(each, ResourceRef))
