"""Base of built-in plugins: selection of resources, waiting for informers, and helpers to build changed objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, TimeoutError

from orchd import errors
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import metadata, name, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, UPDATE, PluginContext, Review
from orchd.txkit.metrics.instruments import Instrument
from orchd.txkit.turns import shared_budget

#: Maximum seconds that a request waits for a plugin's informers.
SYNC_TIMEOUT = 10.0
NOT_READY = "not yet ready to handle request"


class Plugin:
    """Base class of the built-in plugins.

    `operations` are the handled ones; `resources` are templates ``plural.group`` or ``plural/subresource.group`` (the
    core group has no dot) to which the plugin is restricted, None for all. `informers` names the resources that it
    reads.
    """

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE)
    resources: ClassVar[tuple[str, ...] | None] = None
    informers: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    #: Metrics of the plugin.
    instruments: Sequence[Instrument] = ()

    def __init__(self, context: PluginContext) -> None:
        self.context = context
        self.dialect = context.settings.dialect
        reactor = context.runtime.reactor
        self._turns = None if reactor is None else shared_budget(reactor)
        self._informers = {
            plural: context.api.informers.informer(ResourceRef(context.settings.dialect(group), version, plural))
            for group, version, plural in self.informers
        }
        self._about = (
            None if self.resources is None else {_split_name(context.settings.dialect(r)) for r in self.resources}
        )
        self.setup()

    def setup(self) -> None:
        """Hook at the end of construction, for a plugin's own state."""

    async def turn(self) -> None:
        """Wait until the reactor has served others, if it has not for some time. To be awaited between many objects."""
        if self._turns is not None:
            await self._turns.wait()

    def handles(self, operation: str) -> bool:
        return operation in self.operations

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        """True if the plugin handles a resource and subresource; the chain calls this once for each."""
        if self._about is None:
            return True
        path = f"{resource.plural}/{subresource}" if subresource else resource.plural
        return (resource.group, path) in self._about

    def informer(self, plural: str) -> IInformer:
        """The informer of one of the resources in `informers`."""
        return self._informers[plural]

    def index_namespaces(self, plural: str) -> None:
        """Index an informer by namespace, for `in_namespace`. To be called in `setup`."""
        self.informer(plural).add_index(_BY_NAMESPACE, _namespaces_of)

    def in_namespace(self, plural: str, namespace: str) -> Sequence[Object]:
        """The objects of an informer in `namespace`, by name. Cheap for few, and for none, the common case."""
        objects = list(self.informer(plural).by_index(_BY_NAMESPACE, namespace))
        return sorted(objects, key=name) if len(objects) > 1 else objects

    async def wait_ready(self, review: Review) -> None:
        """Wait until every informer has synced. Raises ApiError 403 on timeout."""
        for informer in self._informers.values():
            if not informer.synced:
                await self._wait(informer, review)

    async def _wait(self, informer: IInformer, review: Review) -> None:
        if self.context.runtime.reactor is None:
            raise refuse(review, NOT_READY)
        waiting = Deferred.fromCoroutine(informer.wait_synced())
        waiting.addTimeout(SYNC_TIMEOUT, self.context.runtime.reactor)
        try:
            await waiting
        except TimeoutError as error:
            raise refuse(review, NOT_READY) from error


_BY_NAMESPACE = "namespace"


def _namespaces_of(obj: Object) -> tuple[str, ...]:
    return (obj["metadata"]["namespace"],)


def _split_name(text: str) -> tuple[str, str]:
    path, _, group = text.partition(".")
    if "/" in group:
        raise ValueError(f"resources: {text!r}: a subresource comes before the group, as in 'deployments/scale.apps'")
    return group, path


def name_of(review: Review) -> str:
    """The name in error messages: of the request, else of the object, else its generateName."""
    if review.name:
        return review.name
    meta = metadata(review.object or {})
    name: str = meta.get("name") or meta.get("generateName") or "Unknown"
    return name


def refuse(review: Review, why: str, causes: Iterable[Cause] = ()) -> ApiError:
    """The 403 of a plugin: ``pods "a" is forbidden: WHY``."""
    error = errors.forbidden(review.resource.group, review.resource.plural, name_of(review), why)
    listed = [c.as_json() for c in causes]
    if listed and error.details is not None:
        error.details["causes"] = listed
    return error


def refuse_all(review: Review, reasons: list[str]) -> ApiError:
    """A rejection with one or several reasons, each once; several are bracketed."""
    reasons = list(dict.fromkeys(reasons))
    return refuse(review, reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]")


def is_true(text: str | None) -> bool:
    """True for the boolean strings that annotations accept as true."""
    return text in ("1", "t", "T", "TRUE", "true", "True")


#: The container lists of a pod spec.
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def map_containers(
    pod: Object, change: Callable[[Object], Object], lists: Iterable[str] = ("initContainers", "containers")
) -> Object:
    """A pod with `change` applied to its containers; the same object when nothing changed."""
    changed: dict[str, Any] = {}
    for key in lists:
        old = spec(pod).get(key)
        if old:
            new = [change(c) for c in old]
            if any(a is not b for a, b in zip(new, old, strict=True)):
                changed[key] = new
    return with_spec(pod, **changed) if changed else pod
