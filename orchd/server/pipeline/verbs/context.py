"""The collaborators of verbs, and the resource target of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from orchd.cache.entries import DetachedEntry, Entry
from orchd.errors import ApiError, too_large
from orchd.kinds import bounds, verbatim
from orchd.kinds.canonical import canonicalize, too_deep
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import decode, json_, mediatype, protobuf
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.crd.resources import unread_schema
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import shape, strict
from orchd.kinds.objects.list_options import OptionRules, check_options, option_rules
from orchd.kinds.objects.list_query import ListQuery
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import managers
from orchd.kinds.strictness import FieldValidation, Strictness, field_validation, of_body
from orchd.server.pipeline.interfaces import Body, Request, Response
from orchd.server.pipeline.negotiation import Representation
from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.verbs.options import WriteOptions, list_query, write_options
from orchd.server.registry.interfaces import Context, IRegistry, ListPage, Written
from orchd.txkit.compute_thread import LARGE, ComputeThread
from orchd.values import value_class

#: Bytes of the objects of a list above which it is encoded away from the reactor.
_LARGE_LIST = 256 * 1024
#: Bytes that a byte of an object counts for its encoding as YAML.
_YAML = 8
#: Bytes that a byte of an object counts for each search of a table's columns in it.
_SEARCH = 16
#: Bytes that a byte of an object of a custom kind counts for its decoding, which adds the defaults of its schema.
_GROWS = 4
#: Bytes that a character of a selector counts for its parsing.
_PARSING = 8
#: Maximum size of a request body in bytes.
BODY_LIMIT = 3 * 1024 * 1024


@value_class()
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
    #: Calls `compute(size, function, *arguments)`: a pure function of a body of `size` bytes, in another thread if that
    #: is large.
    compute: ComputeThread = field(default_factory=ComputeThread)
    field_validation: FieldValidation = field(init=False)
    _option_rules: OptionRules = field(init=False)
    _options_first: bool = field(init=False)
    #: The subresources that have tables.
    tables: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.field_validation = field_validation(self.settings)
        self._option_rules = option_rules(self.settings.release, watch_list="WatchList" not in self.settings.disabled)
        self._options_first = self.settings.release.choose((("", False), ("1.35", True)))
        self.tables = self.settings.release.choose((("", frozenset()), ("1.24", frozenset(("scale", "status")))))

    @property
    def dialect(self) -> Any:
        return self.settings.dialect

    def view(self, request: Request, target: ResourceTarget) -> Representation:
        """Negotiate the representation of an object, or of a part of it. Raises ApiError 406."""
        resource, name = target.resource, target.subresource
        table = not name or resource.custom or (name in self.tables and resource.subresources[name].tables)
        return self.present.view(request, resource, table=table)

    def patch_type(self, request: Request, target: ResourceTarget) -> str:
        """The media type of a PATCH. Raises ApiError 415."""
        applies = self.settings.feature("ServerSideApply")
        return mediatype.patch_type(request.header("content-type"), custom=target.resource.custom, apply=applies)

    def write_context(self, request: Request, target: ResourceTarget, options: WriteOptions) -> Context:
        """The registry context of a write: user, options and field manager."""
        assert request.user is not None
        return Context(
            user=request.user,
            resource=target.resource,
            namespace=target.namespace,
            now=self.wall(),
            subresource=target.subresource,
            dry_run=options.dry_run,
            options=options.sent,
            manager=options.manager or managers.manager_from_user_agent(request.header("user-agent")),
            warn=request.warnings.append,
            annotate=request.trace.annotations.__setitem__,
            webhook_time=request.trace.add_webhook_time,
            size=max(request.trace.body_size, unread_schema(target.resource)),
        )

    async def list_view(self, request: Request, target: ResourceTarget) -> Representation:
        """Negotiate the representation of a list. Raises ApiError 406, and from release 1.35 on an error of its options
        before that, unless no list has the media type."""
        try:
            return self.present.view(request, target.resource)
        except ApiError as error:
            if self._options_first and not error.message.startswith(mediatype.UNROUTED):
                options = self._option_rules.complete(request.query.list_options())
                check_options(self.dialect, options, self._option_rules)
            raise

    async def list_query(self, request: Request, target: ResourceTarget) -> ListQuery:
        """The query of a list, watch or deletecollection; long selectors are parsed away from the reactor. Raises
        ApiError 400 or 422."""
        size = _PARSING * (len(request.query.first("labelSelector")) + len(request.query.first("fieldSelector")))
        parts = self.dialect, request, target.resource, target.namespace, self._option_rules
        return list_query(*parts) if size <= LARGE else await self.compute(size, list_query, *parts)

    async def encode_entry(self, view: Representation, entry: Entry) -> Body:
        """The body for one entry. Large objects in another format than the stored one are encoded in another thread."""
        if view.plain:
            return self.present.entry(view, entry)
        size = len(entry.json) * self._work(view) + self.present.cell_work(view) + self.present.column_work(view)
        if size <= LARGE or view.key in entry.derived:
            return self.present.entry(view, entry)
        body: Body = await self.compute_apart(size, entry, self.present.entry, view)
        return body

    async def compute_apart(self, size: int, entry: Entry, make: Callable[..., Any], *arguments: Any) -> Any:
        """Call `make` with arguments and an entry, away from the reactor. What it caches with the entry is kept."""
        apart = entry.detached()
        result = await self.compute(size, make, *arguments, apart)
        _keep((entry,), (apart,))
        return result

    async def written_response(self, request: Request, view: Representation, written: Written) -> Response:
        """The response of a write. The body is empty if it is not used."""
        body = await self.encode_entry(view, written.entry) if request.uses_body else b""
        return self.present.response(view, body, code=201 if written.created else 200)

    async def encode_page(self, view: Representation, page: ListPage) -> Body:
        """The body for a list. Large lists that are not joined from stored bytes are encoded away from the reactor;
        YAML, which is slow, in pieces, so that other large objects are not kept waiting."""
        cells, work, key = self.present.cell_work(view), self._work(view), self.present.item_key(view)
        missing = 0 if view.plain else sum(len(e.json) * work + cells for e in page.entries if key not in e.derived)
        missing += self.present.column_work(view)
        if missing <= _LARGE_LIST:
            return self.present.page(view, page)
        entries = page.entries
        apart = [entry.detached() for entry in entries]
        page = replace(page, entries=apart)
        if view.chosen.form is Form.YAML and not view.chosen.as_:
            pieces = [
                await self.compute(sum(len(e.json) for e in part) * work, self.present.yaml_items, view, part)
                for part in _portions(apart)
            ]
            return self.present.yaml_page(view, page, pieces)
        body: Body = await self.compute(missing, self.present.page, view, page)
        _keep(entries, apart)
        return body

    async def body(self, request: Request) -> bytes:
        """Read the request's body. Raises ApiError 413 for too many bytes or values.

        Values of YAML and protobuf are counted during decoding."""
        data: bytes = await request.body.read(BODY_LIMIT)
        request.trace.body_size = request.trace.read_bytes = len(data)
        form = request.header("content-type")
        counts = "yaml" not in form and "protobuf" not in form and bounds.needs_counting(data)
        if counts and await self.compute(len(data), bounds.json_values, data) > bounds.MAX_VALUES:
            raise bounds.too_many()
        return data

    async def decode_object(
        self, request: Request, resource: Resource, options_kind: str
    ) -> tuple[Object, WriteOptions]:
        """Decode the object of a POST or PUT, with canonical shape and defaults, in the requested version; returns
        it with the options (CreateOptions or UpdateOptions), which are validated before the body is read. Raises
        ApiError."""
        body_form = partial(mediatype.body_form, request.header("content-type"), dialect=self.dialect)
        # The reference looks at the type of a PUT's body after its options.
        form = body_form() if request.body.value is not None or options_kind != "UpdateOptions" else None
        if form is Form.JSON and request.body.value is not None and not resource.row.verbatim:
            return await self._recognize_value(request, request.body.value, resource, options_kind)
        data = await self.body(request)
        options = write_options(self.settings, request, options_kind)
        if form is None:
            form = body_form()
        handling = self.strictness(request, options)
        # Schemas of custom kinds may make much of a small body.
        work = max(_GROWS * len(data), unread_schema(resource)) if resource.custom else len(data)
        canonical = await self.compute(work, _decode, data, form, resource, self.catalog(), self.settings, handling)
        if resource.custom:
            request.trace.body_size = max(len(data), bounds.check_object(canonical))
        request.trace.body = canonical
        return canonical, options

    async def _recognize_value(
        self, request: Request, value: Object, resource: Resource, options_kind: str
    ) -> tuple[Object, WriteOptions]:
        """As `decode_object`, for an object that a client in this process hands over: like one from YAML, it is
        complete without its text. It is encoded only to bound its size and number of values like those of an object."""
        options = write_options(self.settings, request, options_kind)
        text = orjson.dumps(value, default=dict)
        if len(text) > BODY_LIMIT:
            raise too_large(BODY_LIMIT)
        request.trace.body_size = request.trace.read_bytes = len(text)
        handling = self.strictness(request, options)
        canonical = await self.compute(
            len(text), _recognized, value, text, resource, self.catalog(), self.settings, handling
        )
        request.trace.body = canonical
        return canonical, options

    def _work(self, view: Representation) -> int:
        """Bytes that a byte of an object counts for its encoding."""
        return _YAML if view.chosen.form is Form.YAML else 1 + _SEARCH * self.present.searches(view)

    def check_fields(
        self, request: Request, options: WriteOptions, data: bytes, form: Form, obj: Object, resource: Resource
    ) -> None:
        """Report unknown fields of a body decoded as `obj`. Raises ApiError 400 where they are forbidden."""
        _check_fields(self.strictness(request, options), data, form, obj, resource)

    def strictness(self, request: Request, options: WriteOptions) -> Strictness:
        """The request's handling of unknown fields."""
        return self.field_validation.strictness(options.validation, request.warnings.append)


def _portions(entries: Sequence[DetachedEntry]) -> Iterator[Sequence[DetachedEntry]]:
    """The entries in portions that are large enough to be encoded in another thread, except the last one."""
    begin = size = 0
    for end, entry in enumerate(entries, 1):
        size += len(entry.json)
        if size > LARGE:
            yield entries[begin:end]
            begin, size = end, 0
    if begin < len(entries):
        yield entries[begin:]


def _keep(entries: Sequence[Entry], apart: Sequence[DetachedEntry]) -> None:
    """Cache with entries what was computed from their detached copies."""
    for entry, other in zip(entries, apart, strict=True):
        for key, value, size in other.representations:
            entry.keep(key, value, size)


def _decode(
    data: bytes, form: Form, resource: Resource, catalog: Catalog, settings: ObjectSettings, strictness: Strictness
) -> Object:
    """The object of a body, with canonical shape and defaults. Raises ApiError."""
    obj = decode.decode_object(data, form, decode.ExpectedKind.of(resource), catalog=catalog)
    try:
        canonical = canonicalize(obj, resource, settings)
    except ApiError:
        if form is not Form.JSON:
            raise
        # Decode again with the original spelling of numbers: the message quotes them.
        canonical = canonicalize(json_.decode_exact(data), resource, settings)
    if (form is Form.YAML or json_.may_be_too_deep(data)) and json_.too_deep(canonical):
        raise too_deep(resource)
    repeats = _check_fields(strictness, data, form, obj, resource)
    if repeats and form is Form.JSON and not resource.custom:
        merged = strict.merged(json_.decode_members(data))
        whole = decode.decode_object(data, form, decode.ExpectedKind.of(resource), catalog=catalog, parsed=merged)
        canonical = canonicalize(whole, resource, settings)
    if form is Form.JSON and resource.row.verbatim:
        canonical = verbatim.preserve_text(canonical, data, resource.row.verbatim)
    elif form is Form.PROTOBUF and resource.row.verbatim:
        text = protobuf.raw_text(data, resource.type, resource.row.verbatim)
        canonical = verbatim.with_text(canonical, resource.row.verbatim, text)
    return canonical


def _recognized(
    value: Object, text: bytes, resource: Resource, catalog: Catalog, settings: ObjectSettings, strictness: Strictness
) -> Object:
    """As `_decode`, for an object that is decoded already from `text`. Raises ApiError also for too many values."""
    bounds.check_json(text, bounds.MAX_OBJECT_VALUES)
    obj = decode.decode_object(b"", Form.YAML, decode.ExpectedKind.of(resource), catalog=catalog, parsed=value)
    canonical = canonicalize(obj, resource, settings)
    _check_fields(strictness, b"", Form.YAML, obj, resource)
    return canonical


def _check_fields(strictness: Strictness, data: bytes, form: Form, obj: Object, resource: Resource) -> bool:
    """Report unknown and repeated members as `strictness` says. True if members repeat, which is not known if it
    ignores them."""
    if not strictness.checks:
        return False
    problems = of_body(data, form, obj, resource.type, located=strictness.located)
    why = strictness.refusal(problems)
    if why:
        raise shape.cannot_handle(resource.kind, resource.version, resource.kind, why)
    return any(problem.startswith("duplicate field") for problem in problems)
