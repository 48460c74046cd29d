"""The built-in catalog of a server and the custom kinds added to it."""

from __future__ import annotations

from orchd.assembly.client_access import ClientAccess
from orchd.assembly.runtime import Runtime
from orchd.config.settings import Settings
from orchd.kinds import gates
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.server.customkinds.controller import DefinitionController
from orchd.server.customkinds.instances import Instances
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.registry.registry import Registry
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.services import Member, as_member


def enabled_catalog(settings: Settings) -> Catalog:
    """The built-in resources that --runtime-config enables."""
    runtime = settings.api.runtime
    unserved = gates.skipped(settings.api.features, "subresources", settings.release)
    catalog = builtin_catalog(settings.dialect, settings.release, enabled=runtime.enabled, without=unserved)
    if gates.enabled(settings.api.features, "OpenAPIEnums", settings.release):
        catalog = catalog.listing_values()
    defaults = builtin_catalog(settings.dialect, settings.release)
    return catalog.adding(
        (),
        without=lambda r: (
            not runtime.resource_enabled(
                r.group, r.version, r.plural, defaults.resource(r.group, r.version, r.plural) is not None
            )
        ),
    )


class CustomKinds:
    """Tracks definitions in the cache and reconciles them: names, conditions, instance deletion, APIServices."""

    def __init__(
        self, runtime: Runtime, definitions: DefinitionTracker, registry: Registry, access: ClientAccess
    ) -> None:
        self._definitions = definitions
        self._registry = registry
        self._controller = DefinitionController(
            definitions,
            access.system,
            Instances(registry, access.user, runtime.wall),
            clock=runtime.reactor,
            wall=runtime.wall,
            compute=ComputeThread(runtime.in_thread),
        )

    def tracking(self) -> Member:
        """The definition tracker; starts before the informers, which read custom kinds too."""
        return as_member("custom kinds", self._start_tracking, self._definitions.stop)

    def reconciling(self) -> Member:
        """The reconcilers; start after the bootstrap, since they write objects."""
        return as_member("controller of custom kinds", self._controller.start, self._controller.stop)

    async def _start_tracking(self) -> None:
        definitions = self._definitions.definitions
        if definitions is not None:
            await self._definitions.start(self._registry.cache(definitions))
