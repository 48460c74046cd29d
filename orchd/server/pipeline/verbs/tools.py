"""What every verb works with, and what a request is aimed at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from orchd import errors
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, mediatype
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import managed
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.present import Presenter
from orchd.server.pipeline.verbs.options import WriteOptions
from orchd.server.registry.interfaces import Context, IRegistry, Object

#: Largest request body, in bytes.
BODY_LIMIT = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """The resource, and the object and subresource of it, that a request names ("" where it names none)."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


@dataclass(slots=True, kw_only=True)
class Tools:
    """Collaborators of the verbs. `now` gives seconds since the epoch."""

    catalog: Callable[[], Catalog]
    registry: IRegistry
    present: Presenter
    settings: ObjectSettings
    now: Callable[[], float]
    #: Asks the authorizer: `authorize(request, verb)` raises ApiError 403 when the sender may not do that as well.
    authorize: Callable[[Request, str], Awaitable[None]]

    @property
    def dialect(self) -> Any:
        return self.settings.dialect

    def context(self, request: Request, target: Target, options: WriteOptions) -> Context:
        """Who writes, and how."""
        assert request.user is not None
        return Context(
            user=request.user,
            resource=target.resource,
            namespace=target.namespace,
            now=self.now(),
            subresource=target.subresource,
            dry_run=options.dry_run,
            options=options.given,
            manager=options.manager or managed.manager_from_user_agent(request.header("user-agent")),
            warn=request.warnings.append,
            annotate=request.annotations.__setitem__,
        )

    async def body(self, request: Request) -> bytes:
        """The request's body. Raises ApiError 413."""
        data: bytes = await request.body.read(BODY_LIMIT)
        return data

    async def sent(self, request: Request, resource: Resource) -> Object:
        """The object of a POST or PUT, in canonical shape and with defaults, in the requested version."""
        form = mediatype.body_form(
            request.header("content-type"), dialect=self.dialect, protobuf=not resource.custom
        )
        data = await self.body(request)
        obj = decode.decode_object(data, form, catalog=self.catalog(), resource=resource)
        return self.settled(obj, resource)

    def settled(self, obj: Object, resource: Resource) -> Object:
        """Canonical shape and defaults of an object in the requested version. Raises ApiError 400."""
        return default.apply(shape.canonical(obj, resource.type), resource, self.settings)

    def owned(self, context: Context, live: Object | None, obj: Object) -> Object:
        """`obj` with managedFields brought up to date for a create, update or patch by the context's manager."""
        return managed.on_write(
            live,
            obj,
            type=context.resource.type,
            manager=context.manager,
            api_version=context.resource.api_version,
            subresource=context.subresource,
            now=context.now,
        )


def check_name(target: Target, obj: Object) -> None:
    """The object's own name and namespace must be those of the URL. Raises ApiError 400."""
    metadata = obj.get("metadata") or {}
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    if target.namespace and namespace and namespace != target.namespace:
        raise errors.bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the request ({target.namespace})"
        )
