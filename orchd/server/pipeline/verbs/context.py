"""The collaborators of verbs, and the resource target of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds import bounds, verbatim
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, json_, mediatype
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.ir import Type
from orchd.kinds.objects import convert, default, shape
from orchd.kinds.objects.owner_references import single_owners
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import managers, ownership, patch_errors
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.representation import Presenter, type_of
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.pipeline.verbs.strictness import Strictness, of_body, strictness
from orchd.server.pipeline.verbs.version_translation import (
    ConversionNeededError,
    VersionTranslation,
    type_of_version,
    version_of,
)
from orchd.server.registry.interfaces import Context, IRegistry, Object
from orchd.txkit.aside import Aside

T = TypeVar("T")

#: Maximum size of a request body in bytes.
BODY_LIMIT = 3 * 1024 * 1024

#: Kinds of which the reference cannot tell who owns what: their objects never have managedFields.
_UNTRACKED = frozenset(("CertificateSigningRequest",))


@dataclass(frozen=True, slots=True)
class ResourceTarget:
    """Resource, object name and subresource of a request ("" where absent)."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


@dataclass(slots=True, kw_only=True)
class VerbContext:
    """Collaborators of the verbs. `wall` returns epoch seconds."""

    catalog: Callable[[], Catalog]
    registry: IRegistry
    present: Presenter
    settings: ObjectSettings
    wall: Callable[[], float]
    #: Checks further permissions: `authorize(request, verb)` raises ApiError 403 unless the user may perform `verb`
    #: too.
    authorize: Callable[[Request, str], Awaitable[None]]
    #: Number of concurrent deletions of one deletecollection.
    delete_workers: int = 1
    #: Calls `aside(size, function, *arguments)`: a pure function of a body of so many bytes, away from the reactor if large.
    aside: Aside = field(default_factory=Aside)

    @property
    def dialect(self) -> Any:
        return self.settings.dialect

    def context(self, request: Request, target: ResourceTarget, options: WriteOptions) -> Context:
        """The registry context of a write: user, options and field manager."""
        assert request.user is not None
        return Context(
            user=request.user,
            resource=target.resource,
            namespace=target.namespace,
            now=self.wall(),
            subresource=target.subresource,
            dry_run=options.dry_run,
            options=options.given,
            manager=options.manager or managers.manager_from_user_agent(request.header("user-agent")),
            warn=request.warnings.append,
            annotate=request.annotations.__setitem__,
            size=request.size,
        )

    async def body(self, request: Request) -> bytes:
        """Read the request's body. Raises ApiError 413 for too many bytes or values.

        Values of YAML and protobuf are counted during decoding."""
        data: bytes = await request.body.read(BODY_LIMIT)
        request.size = len(data)
        form = request.header("content-type")
        if "yaml" not in form and "protobuf" not in form:
            bounds.check_json(data)
        return data

    async def decode_object(self, request: Request, resource: Resource, options_kind: str) -> tuple[Object, WriteOptions]:
        """Decode the object of a POST or PUT, with canonical shape and defaults, in the requested version; returns
        it with the options (CreateOptions or UpdateOptions), which are validated before the body is read. Raises
        ApiError."""
        form = mediatype.body_form(request.header("content-type"), dialect=self.dialect)
        data = await self.body(request)
        options = write_options(self.dialect, request, options_kind)
        parsed = await self._parsed(data, form, resource.kind)
        obj = decode.decode_object(
            data,
            form,
            parsed=parsed,
            catalog=self.catalog(),
            api_version=resource.api_version,
            kind=resource.kind,
            type_=resource.type,
            custom=resource.custom,
        )
        try:
            settled = self.canonicalize(obj, resource)
        except ApiError:
            if form is not Form.JSON:
                raise
            # Decode again with the original spelling of numbers: the message quotes them.
            settled = self.canonicalize(json_.decode_exact(data), resource)
        if (form is Form.YAML or json_.may_be_too_deep(data)) and json_.too_deep(settled):
            raise _too_deep(resource)
        self.check_fields(request, options, data, form, obj, resource)
        if form is Form.JSON and resource.kind in verbatim.MEMBERS and not resource.custom:
            settled = verbatim.preserve_text(settled, data)
        request.sent = settled
        return settled, options

    async def _parsed(self, data: bytes, form: Form, kind: str) -> Object | None:
        """The object of a YAML body; None for other formats, which are decoded in place. Raises ApiError 400."""
        if form is not Form.YAML:
            return None
        try:
            return await self.aside(len(data), decode.parse, data, form)
        except decode.BodyError as error:
            raise decode.unrecognized_body(kind, str(error), data) from None

    def check_fields(
        self, request: Request, options: WriteOptions, data: bytes, form: Form, obj: Object, resource: Resource
    ) -> None:
        """Report unknown fields of a body decoded as `obj`. Raises ApiError 400 where they are forbidden."""
        strictness = self.strictness(options, request.warnings.append)
        if strictness.looks:
            why = strictness.refusal(of_body(data, form, obj, resource.type))
            if why:
                raise shape.cannot_handle(resource.kind, resource.version, resource.kind, why)

    def strictness(self, options: WriteOptions, warn: Callable[[str], None]) -> Strictness:
        """The request's handling of unknown fields."""
        return strictness(self.settings, options, warn)

    def canonicalize(self, obj: Object, resource: Resource, *, patched: Callable[[], str] | None = None) -> Object:
        """Canonical shape and defaults of an object in the requested version. Raises ApiError: 400 for a sent object,
        422 for a patched one; `patched` returns the text by which errors quote it."""
        try:
            settled = default.apply(shape.canonical(obj, resource.type), resource, self.settings)
        except RecursionError:
            # Recursive schemas can be defaulted to any depth.
            raise _too_deep(resource) from None
        except shape.ShapeError as error:
            if patched is None:
                raise shape.cannot_handle(resource.kind, resource.version, resource.kind, str(error)) from None
            raise patch_errors.unusable_result(patched(), str(error)) from None
        metadata = obj.get("metadata")
        if metadata and metadata.get("managedFields") == []:
            # An empty list removes all managers; an absent one has no effect.
            return {**settled, "metadata": {**settled["metadata"], "managedFields": []}}
        return settled

    async def update_managed_fields(
        self, context: Context, live: Object | None, obj: Object, *, patched: bool = False
    ) -> Object:
        """As `update_known_managers`, for kinds with a conversion webhook. Versions that cannot be converted count as not served, so
        that writes that do not need them succeed. For a `patched` object duplicate owner references are removed
        afterwards."""
        if not patched:
            obj = single_owners(obj, context.warn)
        if context.resource.converter is None:
            # Schemas of custom kinds are as large as their authors like.
            size = context.size if context.resource.custom else 0
            owned = await self.aside(size, self._owned, context, live, obj, self.ownership(context))
        else:
            owned = await self.run_with_conversions(context, lambda target: self._owned(context, live, obj, target), lenient=True)
        return single_owners(owned, context.warn, admitted=True) if patched else owned

    def update_known_managers(self, context: Context, live: Object | None, obj: Object) -> Object:
        """`obj` with managedFields updated for a create, update or patch by the context's manager.

        Duplicate owner references are removed first."""
        return self._owned(context, live, single_owners(obj, context.warn), self.ownership(context))

    def _owned(self, context: Context, live: Object | None, obj: Object, target: ownership.OwnershipTarget) -> Object:
        if context.subresource == "ephemeralcontainers":
            # The reference does not track managers on this endpoint.
            metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields" or v}
            return {**obj, "metadata": metadata}
        if context.resource.kind in _UNTRACKED:
            return {**obj, "metadata": {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}}
        entries = ownership.on_write(target, live, obj, manager=context.manager, now=context.now)
        metadata = dict(obj.get("metadata") or {})
        if entries:
            metadata["managedFields"] = entries
        else:
            metadata.pop("managedFields", None)
        return {**obj, "metadata": metadata}

    async def run_with_conversions(self, context: Context, work: Callable[[ownership.OwnershipTarget], T], *, lenient: bool = False) -> T:
        """Run `work` over managed fields whose versions may need a webhook: it is called again with the missing
        conversions. Raises ApiError 500 for failed conversions, unless `lenient`."""
        translations = VersionTranslation()
        target = self.ownership(context, translations)
        while True:
            try:
                return work(target)
            except ConversionNeededError as wanted:
                try:
                    made = await self.registry.translate(wanted.resource, wanted.object)
                except ApiError:
                    if not lenient:
                        raise
                    made = None
                translations.add(wanted, made)

    def ownership(self, context: Context, translations: VersionTranslation | None = None) -> ownership.OwnershipTarget:
        """The inputs of the field management algorithms for a write."""
        catalog, resource = self.catalog(), context.resource
        kind = resource.kind

        def types(version: str) -> Type | None:
            served = catalog.kind(version, kind)
            return type_of_version(resource, version) if served is None else served.type

        def converted(obj: Object, version: str) -> Object | None:
            served = catalog.kind(version, kind) or version_of(resource, version)
            if served is None:
                return None
            if served.converter is None:
                return convert.convert(obj, version, catalog)
            # Callers that cannot wait for a webhook treat versions that it converts as not served.
            return None if translations is None else translations.find(served, obj)

        return ownership.OwnershipTarget(
            dialect=self.dialect,
            type=resource.type,
            kind=kind,
            api_version=resource.api_version,
            subresource=context.subresource,
            reset=self.registry.strategy(resource).reset_fields(context.subresource),
            convert=converted,
            types=types,
            kinds=lambda kind: type_of(catalog, resource.api_version, kind),
        )


def _too_deep(resource: Resource) -> ApiError:
    """400 for an object nested too deeply to be encoded."""
    return shape.cannot_handle(resource.kind, resource.version, resource.kind, "exceeded max depth")


def check_name(target: ResourceTarget, obj: Object) -> None:
    """Name and namespace in the object must match the URL. Raises ApiError 400."""
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
