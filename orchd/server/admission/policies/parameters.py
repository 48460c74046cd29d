"""Parameters of policies: objects of any kind, chosen by a binding by name or labels."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from twisted.internet.defer import Deferred, TimeoutError

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds.catalog import Resource, split_group_version
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.objects.selectors import LabelSelector
from orchd.server.admission.interfaces import PluginContext

#: Maximum seconds that a request waits for the informer of a kind of parameters.
_SYNC_TIMEOUT: Final = 1.0
#: Instead of parameters, for bindings without any.
_NONE: Final[Sequence[Object | None]] = (None,)


class ParameterError(Exception):
    """The parameters of a policy or binding cannot be had."""


class Parameters:
    """Reads parameters through informers."""

    def __init__(self, context: PluginContext, pause: Callable[[], Awaitable[None]]) -> None:
        """`pause` is awaited between objects: it gives the turn away when it was long."""
        self._context = context
        self._pause = pause

    def resource(self, kind: ObjectView) -> Resource:
        """The resource of a paramKind. Raises ParameterError."""
        api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
        resource = self._context.api.catalog().kind(api_version, name)
        if resource is None:
            group, version = split_group_version(api_version)
            raise ParameterError(f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={name}'")
        return resource

    def informer(self, resource: Resource) -> IInformer:
        """The informer of a resource, which starts with its first request."""
        return self._context.api.informers.informer(ResourceRef(resource.group, resource.version, resource.plural))

    async def collect(
        self, kind: ObjectView | None, reference: ObjectView | None, namespace: str
    ) -> Sequence[Object | None]:
        """The parameters of a binding, each of which the policy is evaluated with; one None if it has none. `namespace`
        is that of the write. Raises ParameterError."""
        if kind is None or reference is None:
            return _NONE
        resource = self.resource(kind)
        own_namespace = reference.get("namespace") or ""
        where = ""
        if resource.namespaced:
            where = own_namespace or namespace
            if not where:
                raise ParameterError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        informer = self.informer(resource)
        await self._wait(informer, kind)
        if own_namespace and not resource.namespaced:
            raise ParameterError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        parameters = await self._select(informer, where, reference)
        if not parameters and reference.get("parameterNotFoundAction") == "Deny":
            raise ParameterError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return parameters

    async def _select(self, informer: IInformer, namespace: str, reference: ObjectView) -> list[Object]:
        """The objects that a paramRef chooses, by name."""
        name = reference.get("name")
        if name:
            named = informer.get(namespace, name)
            return [] if named is None else [named]
        selector = LabelSelector.from_object(reference.get("selector") or {})
        selected = []
        for obj in informer.list(namespace, selector.exact or None):
            if selector.matches(obj["metadata"].get("labels") or {}):
                selected.append(obj)
            await self._pause()
        return sorted(selected, key=lambda obj: str(obj["metadata"]["name"]))

    async def _wait(self, informer: IInformer, kind: ObjectView) -> None:
        if informer.synced:
            return
        spelled = f"&ParamKind{{APIVersion:{kind.get('apiVersion') or ''},Kind:{kind.get('kind') or ''},}}"
        late = ParameterError(f"paramKind kind `{spelled}` not yet synced to use for admission")
        if self._context.runtime.reactor is None:
            raise late
        waiting = Deferred.fromCoroutine(informer.wait_synced())
        waiting.addTimeout(_SYNC_TIMEOUT, self._context.runtime.reactor)
        try:
            await waiting
        except TimeoutError:
            raise late from None
