"""The mutating and validating chains: plugins in order, selected once per operation and resource.

`AdmissionChain` has the signature that `orchd.server.registry` requires. A plugin that changed an object after earlier
plugins ran can request another run of the mutating chain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from time import perf_counter
from weakref import WeakKeyDictionary

from zope.interface import implementer

from orchd.kinds.catalog import Resource, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import (
    CONNECT,
    CREATE,
    DELETE,
    UPDATE,
    IAdmissionPlugin,
    IMutatingPlugin,
    IValidatingPlugin,
    Review,
)
from orchd.server.admission.metrics import AdmissionMetrics
from orchd.server.registry.interfaces import Context, IAdmission, IReview
from orchd.txkit.metrics.instruments import Instrument, instruments_of

Step = tuple[str, Callable[[Review], Awaitable[None]]]


def _name(obj: Object | None, old: Object | None) -> str:
    for candidate in (old, obj):
        name: str = ((candidate or {}).get("metadata") or {}).get("name", "")
        if name:
            return name
    return ""


def _kind(resource: Resource, obj: Object | None) -> tuple[str, str, str] | None:
    if obj is None or obj.get("kind") in (None, resource.kind):
        return None
    group, version = split_group_version(obj.get("apiVersion", ""))
    return group, version, obj["kind"]


def review_of(
    context: Context, operation: str, obj: Object | None, old: Object | None, name: str | None = None
) -> Review:
    """A Review of a registry write. `name` is that of the URL, None for that of the object."""
    return Review(
        operation=operation,
        resource=context.resource,
        namespace=context.namespace,
        name=_name(obj, old) if name is None else name,
        user=context.user,
        object=obj,
        old_object=old,
        subresource=context.subresource,
        options=context.options,
        dry_run=context.dry_run,
        size=context.size,
        kind=_kind(context.resource, obj),
        warn=context.warn,
        annotate=context.annotate,
        webhook_time=context.webhook_time,
    )


@implementer(IAdmission)
class AdmissionChain:
    """The enabled plugins, in order. Mutating plugins run first, one after the other; then the validating ones."""

    def __init__(self, plugins: Iterable[IAdmissionPlugin], *, measured: Iterable[object] = ()) -> None:
        """`measured` are objects with metrics that plugins share."""
        self.plugins = tuple(plugins)
        self._metrics = AdmissionMetrics()
        self._measured = (self._metrics, *measured, *self.plugins)
        self._handling = {
            operation: [p for p in self.plugins if p.handles(operation)]
            for operation in (CREATE, UPDATE, DELETE, CONNECT)
        }
        #: By resource, then by operation and subresource. Resources of former custom kinds are not kept.
        self._steps: WeakKeyDictionary[Resource, dict[tuple[str, str], tuple[list[Step], list[Step]]]] = (
            WeakKeyDictionary()
        )

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Durations of plugins and phases, and the plugins' own metrics."""
        return instruments_of(self._measured)

    def steps(self, operation: str, resource: Resource, subresource: str) -> tuple[list[Step], list[Step]]:
        """The mutating and validating plugins for an operation and resource."""
        of_resource = self._steps.get(resource)
        if of_resource is None:
            of_resource = self._steps[resource] = {}
        key = operation, subresource
        steps = of_resource.get(key)
        if steps is None:
            steps = of_resource[key] = self._choose(operation, resource, subresource)
        return steps

    def _choose(self, operation: str, resource: Resource, subresource: str) -> tuple[list[Step], list[Step]]:
        mutating: list[Step] = []
        validating: list[Step] = []
        for plugin in self._handling[operation]:
            handles_resource = getattr(plugin, "handles_resource", None)
            if handles_resource is not None and not handles_resource(resource, subresource):
                continue
            if IMutatingPlugin.providedBy(plugin):
                mutating.append((plugin.name, plugin.admit))
            if IValidatingPlugin.providedBy(plugin):
                validating.append((plugin.name, plugin.validate))
        return mutating, validating

    async def admit_review(self, review: Review) -> None:
        """Run the mutating chain on a review. Raises the ApiError of the first plugin that rejects."""
        steps = self.steps(review.operation, review.resource, review.subresource)[0]
        await self._run(steps, review, "admit")
        if review.reinvoke:
            review.reinvocation = True
            await self._run(steps, review, "admit")

    async def validate_review(self, review: Review) -> None:
        """Run the validating chain on a review. Raises the ApiError of the first plugin that rejects."""
        await self._run(self.steps(review.operation, review.resource, review.subresource)[1], review, "validate")

    async def _run(self, steps: list[Step], review: Review, phase: str) -> None:
        if not steps:
            return
        observe, operation = self._metrics.observe, review.operation
        first = perf_counter()
        try:
            for name, step in steps:
                began, rejected = perf_counter(), True
                try:
                    await step(review)
                    rejected = False
                finally:
                    observe(name, phase, operation, perf_counter() - began, rejected)
        finally:
            observe("", phase, operation, perf_counter() - first, rejected)

    def review(self, context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        review: IReview = WriteReview(self, context, operation, old, name)
        return review


@implementer(IReview)
class WriteReview:
    """The review of one attempt to write: one `Review` for both chains, made when the first plugin runs."""

    __slots__ = ("_chain", "_context", "_name", "_old", "_operation", "_review", "_steps")

    def __init__(
        self, chain: AdmissionChain, context: Context, operation: str, old: Object | None, name: str | None
    ) -> None:
        self._chain = chain
        self._context = context
        self._operation = operation
        self._old = old
        self._name = name
        self._review: Review | None = None
        self._steps = chain.steps(operation, context.resource, context.subresource)

    async def mutate(self, obj: Object | None) -> Object | None:
        if not self._steps[0]:
            return obj
        review = self._of(obj)
        await self._chain.admit_review(review)
        return review.object

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        if not self._steps[1]:
            return
        review = self._of(obj)
        if old is not None:
            review.old_object = old
        await self._chain.validate_review(review)

    def _of(self, obj: Object | None) -> Review:
        review = self._review
        if review is None:
            review = self._review = review_of(self._context, self._operation, obj, self._old, self._name)
        else:
            review.object = obj
            review.kind = _kind(review.resource, obj)
            # The name may have been generated meanwhile.
            review.name = review.name or _name(obj, None)
        return review
