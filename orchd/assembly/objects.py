"""Object access of the server's own components: store, caches and informers by resource."""

from __future__ import annotations

from random import Random
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.assembly.outbound import Outbound
from orchd.assembly.runtime import Runtime
from orchd.assembly.storage import Storage
from orchd.assembly.tracing import Traces
from orchd.cache.entries import Entry
from orchd.cache.interfaces import ICache
from orchd.client.informers import Informers
from orchd.client.interfaces import IClient, ResourceRef
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.convert import convert
from orchd.server.customkinds.conversion_webhook import ConversionWebhook
from orchd.server.customkinds.schema_upgrade import UpgradingCaches
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.informing.informer import Decode
from orchd.server.informing.informers import CachedInformers
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.objectmeta import Naming
from orchd.server.state import ServerState
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.services import Member, as_member

#: Kinds that may have so many objects that loading them takes seconds. Meanwhile the server answers requests for
#: others.
_LOADED_LAST: Final = (ResourceRef("", "v1", "pods"),)


class Objects:
    """`store` holds the objects of every resource; `informers` follow them for authenticators, authorizers, admission
    plugins and controllers."""

    def __init__(
        self,
        runtime: Runtime,
        storage: Storage,
        definitions: DefinitionTracker,
        outbound: Outbound,
        client: IClient,
        traces: Traces,
    ) -> None:
        self.naming = Naming(runtime.random)
        self.conversion = ConversionWebhook(
            outbound.webhooks, runtime.dialect, self.naming.uid, runtime.settings.release
        )
        #: Computes what informers, controllers and conversions make of large objects.
        self.compute = ComputeThread(runtime.in_thread)
        self.store = ObjectStore(
            catalog=definitions.current,
            store=traces.store(storage.store),
            caches=UpgradingCaches(storage.caches, definitions.by_key.get, runtime.objects),
            settings=runtime.objects,
            conversion=self.conversion,
            compute=self.compute,
        )
        self._synced = False
        self.informers = own_informers(
            self.store, client, clock=runtime.reactor, random=runtime.random, compute=self.compute
        )

    def informers_problem(self) -> str:
        """Readiness check of the informers."""
        # Informers that controllers of a later term start do not affect the server's readiness.
        self._synced = self._synced or self.informers.synced
        return "" if self._synced else "informers not started yet"

    def member(self) -> Member:
        async def start() -> None:
            self.informers.start()
            await self.informers.wait_synced(besides=_LOADED_LAST)

        return as_member("informers", start, self.informers.stop)

    def loaded(self, state: ServerState) -> Member:
        """Waits until all informers have their objects. What needs them before waits for them itself."""

        async def start() -> None:
            await self.informers.wait_synced()
            state.done("informers")

        return as_member("all informers", start)


def own_informers(
    access: ObjectStore, client: IClient, *, clock: IReactorTime, random: Random, compute: ComputeThread
) -> CachedInformers:
    """Built-in kinds are read from the caches, even if not served; custom kinds through `client`, since they are added
    and removed. One that is not defined counts as one without objects: the server starts, so that it can be defined."""
    builtin = builtin_catalog(access.dialect, access.settings.release)

    def opened(ref: ResourceRef) -> tuple[ICache, Decode] | None:
        resource = builtin.resource(ref.group, ref.version, ref.plural)
        if resource is None or not resource.stored:
            return None
        own_version = resource.api_version

        def decode(entry: Entry) -> Object:
            return convert(access.decode(entry), own_version, builtin)

        return access.cache(resource), decode

    others = Informers(client, clock, random, may_lack=lambda ref: True)
    return CachedInformers(opened, clock, others=others, compute=compute)
