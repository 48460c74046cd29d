"""Informers of the server's own authenticators, authorizers, admission plugins and controllers, on its caches."""

from __future__ import annotations

from random import Random

from twisted.internet.interfaces import IReactorTime

from orchd.cache.entries import Entry
from orchd.cache.interfaces import ICache
from orchd.client.informers import Informers
from orchd.client.interfaces import IClient, ResourceRef
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.convert import convert
from orchd.server.informing.informer import Decode
from orchd.server.informing.informers import CachedInformers
from orchd.server.registry.object_store import ObjectStore
from orchd.txkit.compute_thread import ComputeThread


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
