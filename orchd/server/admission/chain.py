"""The mutating and validating chains: plugins in order, selected once per operation and resource.

`admit` and `validate` have the signatures that `orchd.server.registry` requires. A plugin that changed an object after
earlier plugins ran can request another run of the mutating chain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from time import perf_counter
from typing import Any, Protocol

from orchd.kinds.catalog import Resource, split_group_version
from orchd.kinds.identity import User
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

Object = dict[str, Any]
Step = tuple[str, Callable[[Review], Awaitable[None]]]
#: `observe(plugin, phase, operation, seconds, rejected)` after every call of a plugin; phase is "admit" or "validate".
Observe = Callable[[str, str, str, float, bool], None]


class WriteContext(Protocol):
    """The part of the registry's context that the chain reads."""

    user: User
    resource: Resource
    namespace: str
    subresource: str
    dry_run: bool
    options: Mapping[str, Any]

    @property
    def warn(self) -> Callable[[str], None]: ...

    @property
    def annotate(self) -> Callable[[str, str], None]: ...


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


def review_of(context: WriteContext, operation: str, obj: Object | None, old: Object | None, name: str = "") -> Review:
    """A Review of a registry write. `name` is that of the URL, for objects without it."""
    return Review(
        operation=operation,
        resource=context.resource,
        namespace=context.namespace,
        name=name or _name(obj, old),
        user=context.user,
        object=obj,
        old_object=old,
        subresource=context.subresource,
        options=context.options,
        dry_run=context.dry_run,
        kind=_kind(context.resource, obj),
        warn=context.warn,
        annotate=context.annotate,
    )


class AdmissionChain:
    """The enabled plugins, in order. Mutating plugins run first, one after the other; then the validating ones."""

    def __init__(self, plugins: Iterable[IAdmissionPlugin], *, observe: Observe | None = None) -> None:
        self.plugins = tuple(plugins)
        self._observe = observe
        self._handling = {
            operation: [p for p in self.plugins if p.handles(operation)]
            for operation in (CREATE, UPDATE, DELETE, CONNECT)
        }
        self._steps: dict[tuple[str, Resource, str], tuple[list[Step], list[Step]]] = {}

    def steps(self, operation: str, resource: Resource, subresource: str) -> tuple[list[Step], list[Step]]:
        """The mutating and validating plugins for an operation and resource."""
        key = (operation, resource, subresource)
        found = self._steps.get(key)
        if found is None:
            found = self._choose(operation, resource, subresource)
            if len(self._steps) > 8192:
                # Custom resources are added and removed; each has its own identity.
                self._steps.clear()
            self._steps[key] = found
        return found

    def _choose(self, operation: str, resource: Resource, subresource: str) -> tuple[list[Step], list[Step]]:
        mutating: list[Step] = []
        validating: list[Step] = []
        for plugin in self._handling[operation]:
            interested = getattr(plugin, "interested", None)
            if interested is not None and not interested(resource, subresource):
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
        observe = self._observe
        if observe is None:
            for _, step in steps:
                await step(review)
            return
        for name, step in steps:
            began = perf_counter()
            rejected = True
            try:
                await step(review)
                rejected = False
            finally:
                observe(name, phase, review.operation, perf_counter() - began, rejected)

    async def admit(
        self, context: WriteContext, operation: str, obj: Object | None, old: Object | None, *, name: str = ""
    ) -> Object | None:
        """The registry's `mutate`: returns the object to continue with."""
        if not self.steps(operation, context.resource, context.subresource)[0]:
            return obj
        review = review_of(context, operation, obj, old, name)
        await self.admit_review(review)
        return review.object

    async def validate(
        self, context: WriteContext, operation: str, obj: Object | None, old: Object | None, *, name: str = ""
    ) -> Object | None:
        """The registry's `validate`: rejects or returns `obj`."""
        if self.steps(operation, context.resource, context.subresource)[1]:
            await self.validate_review(review_of(context, operation, obj, old, name))
        return obj
