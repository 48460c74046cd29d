"""A registry without a server: a memory store with its caches, and admission that a test drives."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.task import Clock
from zope.interface import implementer

from orchd.cache.caches import Caches
from orchd.cache.entries import Entry
from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User
from orchd.server.registry.interfaces import Context, IAdmission, IReview
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.objectmeta import Naming
from orchd.server.registry.registry import Registry
from orchd.server.registry.strategies.table import Strategies
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.results import result_of

NOW = 1_800_000_000.0
Object = dict[str, Any]


@implementer(IAdmission)
class Admission:
    """Notes what is reviewed, as ``operation step name``; rejects the step `refused`, and makes `changes`."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.refused = ""
        self.changes: Object = {}

    def review(self, context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        review: IReview = _Review(self, operation, name)
        return review


@implementer(IReview)
class _Review:
    def __init__(self, admission: Admission, operation: str, name: str | None) -> None:
        self._admission = admission
        self._operation = operation
        self._name = name

    def _note(self, step: str, obj: Object | None) -> None:
        name = self._name if obj is None else obj["metadata"].get("name")
        self._admission.seen.append(f"{self._operation} {step} {name}")
        if self._admission.refused == step:
            raise ApiError(403, "Forbidden", step)

    async def mutate(self, obj: Object | None) -> Object | None:
        self._note("mutate", obj)
        return {**obj, **self._admission.changes} if obj is not None and self._admission.changes else obj

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        self._note("validate", obj)


class Bench:
    """The registry, and requests of it in the namespace ``a``. Nothing is loaded before `start`."""

    def __init__(self, release: Release = SPECIFICATION, **settings: Any) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.store.start()
        self.caches = Caches(self.store, clock=self.clock)
        self.catalog = builtin_catalog(KUBERNETES, release)
        self.settings = ObjectSettings(dialect=KUBERNETES, release=release, **settings)
        access = ObjectStore(catalog=lambda: self.catalog, store=self.store, caches=self.caches, settings=self.settings)
        self.admission = Admission()
        strategies = Strategies(access, clock=self.clock, random=Random(1))
        self.registry = Registry(access, strategies, Naming(Random(1)), self.admission)

    def start(self) -> Bench:
        self.caches.start()
        return self

    def resource(self, path: str) -> Resource:
        """The resource ``[GROUP/]VERSION/PLURAL``."""
        group, version, plural = ("", *path.split("/"))[-3:]
        resource = self.catalog.resource(group, version, plural)
        assert resource is not None, path
        return resource

    def context(self, path: str, **members: Any) -> Context:
        resource = self.resource(path)
        namespace = "a" if resource.namespaced else ""
        return Context(user=User(name="u"), resource=resource, namespace=namespace, now=NOW, manager="m", **members)

    def canonical(self, path: str, obj: Object) -> Object:
        """An object as a verb hands it to the registry: with shape and defaults."""
        resource = self.resource(path)
        sent = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        canonical: Object = canonicalize(sent, resource, self.settings)
        return canonical

    def stored(self, path: str, name: str) -> Entry | None:
        """The entry of an object in the cache."""
        resource = self.resource(path)
        return self.registry.cache(resource).get(f"a/{name}" if resource.namespaced else name)

    def do(self, work: Any) -> Any:
        """The result of a request that does not wait."""
        return result_of(work)
