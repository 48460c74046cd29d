"""The collaborators of verbs, and the resource target of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from orchd.errors import ApiError
from orchd.kinds import bounds, verbatim
from orchd.kinds.canonical import canonicalize, too_deep
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, json_, mediatype
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.objects import shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import managers
from orchd.kinds.strictness import Strictness, of_body, strictness
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.registry.interfaces import Context, IRegistry, Object
from orchd.txkit.aside import Aside

#: Maximum size of a request body in bytes.
BODY_LIMIT = 3 * 1024 * 1024


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
            webhook_time=request.add_webhook_time,
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
        if request.body.value is not None and form is Form.JSON and not resource.row.verbatim:
            return self._recognize_value(request, request.body.value, resource, options_kind)
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
            settled = canonicalize(obj, resource, self.settings)
        except ApiError:
            if form is not Form.JSON:
                raise
            # Decode again with the original spelling of numbers: the message quotes them.
            settled = canonicalize(json_.decode_exact(data), resource, self.settings)
        if (form is Form.YAML or json_.may_be_too_deep(data)) and json_.too_deep(settled):
            raise too_deep(resource)
        self.check_fields(request, options, data, form, obj, resource)
        if form is Form.JSON and resource.row.verbatim:
            settled = verbatim.preserve_text(settled, data, resource.row.verbatim)
        request.sent = settled
        return settled, options

    def _recognize_value(
        self, request: Request, value: Object, resource: Resource, options_kind: str
    ) -> tuple[Object, WriteOptions]:
        """As `decode_object`, for an object that a client in this process hands over: like one from YAML, it is complete
        without its text."""
        options = write_options(self.dialect, request, options_kind)
        obj = decode.decode_object(
            b"",
            Form.YAML,
            parsed=value,
            catalog=self.catalog(),
            api_version=resource.api_version,
            kind=resource.kind,
            type_=resource.type,
            custom=resource.custom,
        )
        settled = canonicalize(obj, resource, self.settings)
        self.check_fields(request, options, b"", Form.YAML, obj, resource)
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
        strictness = self.strictness(request, options)
        if strictness.looks:
            why = strictness.refusal(of_body(data, form, obj, resource.type, located=strictness.located))
            if why:
                raise shape.cannot_handle(resource.kind, resource.version, resource.kind, why)

    def strictness(self, request: Request, options: WriteOptions) -> Strictness:
        """The request's handling of unknown fields."""
        return strictness(self.settings, options.validation, request.warnings.append)
