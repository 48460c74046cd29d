"""Which built-in resources a server has."""

from __future__ import annotations

from orchd.config.settings import Settings
from orchd.kinds.catalog import Catalog, builtin_catalog


def catalog_of(settings: Settings) -> Catalog:
    """The built-in resources that --runtime-config leaves on."""
    runtime = settings.api.runtime
    catalog = builtin_catalog(settings.dialect, enabled=runtime.enabled)
    defaults = builtin_catalog(settings.dialect)
    return catalog.adding(
        (),
        without=lambda r: not runtime.resource_enabled(
            r.group, r.version, r.plural, defaults.resource(r.group, r.version, r.plural) is not None
        ),
    )
