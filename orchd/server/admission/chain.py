"""The mutating and validating chains: plugins in order, selected once per operation and resource.

`AdmissionChain` has the signature that `orchd.server.registry` requires. A plugin that changed an object after earlier
plugins ran can request another run of the mutating chain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from time import perf_counter
from typing import Final
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
from orchd.txkit.metrics.instruments import Instrument, Series, instruments_of

#: A plugin's method, with the durations of reviews that it accepts and of those that it rejects.
Step = tuple[Callable[[Review], Awaitable[None]], Series, Series]
#: The names of the two chains in metrics.
_ADMIT: Final = "admit"
_VALIDATE: Final = "validate"


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


class Phase:
    """The plugins of one chain for an operation and resource, in order. `steps` is empty if there are none."""

    __slots__ = ("_accepted", "_rejected", "steps")

    def __init__(self, steps: Sequence[Step], durations: tuple[Series, Series]) -> None:
        """`durations` are those of all steps together, accepted and rejected."""
        self.steps = steps
        self._accepted, self._rejected = durations

    async def run(self, review: Review) -> None:
        """Call the plugins. Raises the ApiError of the first one that rejects."""
        if not self.steps:
            return
        first = perf_counter()
        try:
            for step, accepted, rejected in self.steps:
                began = perf_counter()
                try:
                    await step(review)
                except BaseException:
                    rejected.observe(perf_counter() - began)
                    raise
                accepted.observe(perf_counter() - began)
        except BaseException:
            self._rejected.observe(perf_counter() - first)
            raise
        self._accepted.observe(perf_counter() - first)

    async def run_again_if_asked(self, review: Review) -> None:
        """As `run`, and once more if a plugin requests it."""
        await self.run(review)
        if review.reinvoke:
            review.reinvocation = True
            await self.run(review)


@implementer(IAdmission)
class AdmissionChain:
    """The enabled plugins, in order. Mutating plugins run first, one after the other; then the validating ones."""

    def __init__(self, plugins: Iterable[IAdmissionPlugin], *, measured: Iterable[object] = ()) -> None:
        """`measured` are objects with metrics that plugins share."""
        self.plugins = tuple(plugins)
        self._metrics = AdmissionMetrics()
        self._measured = (self._metrics, *measured, *self.plugins)
        #: Plugins by operation, each with its steps in the mutating and in the validating chain.
        self._handling = {
            operation: [(p, *self._steps_of(p, operation)) for p in self.plugins if p.handles(operation)]
            for operation in (CREATE, UPDATE, DELETE, CONNECT)
        }
        self._durations = {
            (phase, operation): self._metrics.of_phase(phase, operation)
            for phase in (_ADMIT, _VALIDATE)
            for operation in self._handling
        }
        #: By resource, then by operation and subresource. Resources of former custom kinds are not kept.
        self._phases: WeakKeyDictionary[Resource, dict[tuple[str, str], tuple[Phase, Phase]]] = WeakKeyDictionary()

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Durations of plugins and phases, and the plugins' own metrics."""
        return instruments_of(self._measured)

    def _steps_of(self, plugin: IAdmissionPlugin, operation: str) -> tuple[list[Step], list[Step]]:
        mutating: list[Step] = []
        validating: list[Step] = []
        if IMutatingPlugin.providedBy(plugin):
            mutating.append((plugin.admit, *self._metrics.of_plugin(plugin.name, _ADMIT, operation)))
        if IValidatingPlugin.providedBy(plugin):
            validating.append((plugin.validate, *self._metrics.of_plugin(plugin.name, _VALIDATE, operation)))
        return mutating, validating

    def phases(self, operation: str, resource: Resource, subresource: str) -> tuple[Phase, Phase]:
        """The mutating and the validating chain for an operation and resource."""
        of_resource = self._phases.get(resource)
        if of_resource is None:
            of_resource = self._phases[resource] = {}
        key = operation, subresource
        phases = of_resource.get(key)
        if phases is None:
            phases = of_resource[key] = self._choose(operation, resource, subresource)
        return phases

    def _choose(self, operation: str, resource: Resource, subresource: str) -> tuple[Phase, Phase]:
        mutating: list[Step] = []
        validating: list[Step] = []
        for plugin, admit, validate in self._handling[operation]:
            handles_resource = getattr(plugin, "handles_resource", None)
            if handles_resource is None or handles_resource(resource, subresource):
                mutating += admit
                validating += validate
        return (
            Phase(mutating, self._durations[_ADMIT, operation]),
            Phase(validating, self._durations[_VALIDATE, operation]),
        )

    def review(self, context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        review: IReview = WriteReview(self, context, operation, old, name)
        return review


@implementer(IReview)
class WriteReview:
    """The review of one attempt to write: one `Review` for both chains, made when the first plugin runs."""

    __slots__ = ("_context", "_mutating", "_name", "_old", "_operation", "_review", "_validating")

    def __init__(
        self, chain: AdmissionChain, context: Context, operation: str, old: Object | None, name: str | None
    ) -> None:
        self._context = context
        self._operation = operation
        self._old = old
        self._name = name
        self._review: Review | None = None
        self._mutating, self._validating = chain.phases(operation, context.resource, context.subresource)

    async def mutate(self, obj: Object | None) -> Object | None:
        if not self._mutating.steps:
            return obj
        review = self._of(obj)
        await self._mutating.run_again_if_asked(review)
        return review.object

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        if not self._validating.steps:
            return
        review = self._of(obj)
        if old is not None:
            review.old_object = old
        await self._validating.run(review)

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
