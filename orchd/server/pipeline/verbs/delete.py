"""DELETE of one object and of a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchd import errors
from orchd.cache.entries import Entry
from orchd.errors import ApiError
from orchd.kinds.codec import decode, mediatype
from orchd.kinds.codec.decode import ExpectedKind
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.objects import shape
from orchd.server.pipeline.interfaces import Body, Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import WriteOptions, delete_options
from orchd.server.registry.interfaces import Context, Deleted
from orchd.server.registry.operations import Delete
from orchd.txkit.for_each import for_each


def _internal(why: str) -> ApiError:
    return ApiError(500, "", why)


#: How invalid options are refused, from a release on.
_UNDECODABLE: Final[tuple[tuple[str, Callable[[str], ApiError]], ...]] = (("", _internal), ("1.25", errors.bad_request))
#: The scheme that decodes the options of the deletion of a collection, from a release on.
_COLLECTION_SCHEMES: Final = (("", decode.BODIES), ("1.25", decode.OPTIONS))


async def _options(context: VerbContext, request: Request, scheme: str) -> dict[str, Any]:
    """DeleteOptions from body or query. An invalid body is refused as in the reference: with 500 in earlier
    releases."""
    data = await context.body(request)
    body: Mapping[str, Any] | None = None
    if data:
        form = mediatype.body_form(request.header("content-type"), dialect=context.dialect)
        type_ = context.catalog().type("meta/v1.DeleteOptions")
        version = f"{context.dialect.meta_group}/v1" if scheme == decode.OPTIONS else "v1"
        try:
            sent = decode.decode_object(
                data,
                form,
                ExpectedKind(api_version=version, kind="DeleteOptions", type=type_, any_version=True, scheme=scheme),
                catalog=context.catalog(),
            )
            body = shape.canonical(sent, type_)
            named = form is Form.PROTOBUF or b"apiVersion" in data
            if named and not sent["apiVersion"].startswith(f"{context.dialect.meta_group}/"):
                # Options without a version have that group, and the reference cannot encode them in it.
                request.trace.body = {"kind": "DeleteOptions", "apiVersion": sent["apiVersion"], **body}
        except decode.UndecodableError as error:
            raise context.settings.release.choose(_UNDECODABLE)(error.why) from None
        except shape.ShapeError as error:
            raise context.settings.release.choose(_UNDECODABLE)(str(error)) from None
    return delete_options(context.settings, request, body)


def _context(context: VerbContext, request: Request, target: ResourceTarget, options: Mapping[str, Any]) -> Context:
    return context.write_context(request, target, WriteOptions(dry_run=bool(options.get("dryRun")), sent=options))


async def delete(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with a Status or the object; 202 for a pending foreground deletion."""
    resource = target.resource
    view = context.present.view(request, resource)
    options = await _options(context, request, decode.OPTIONS)
    request.warnings += context.registry.strategy(resource).deletion_warnings(options)
    operation = Delete(name=target.name, options=options)
    deleted = await context.registry.delete(_context(context, request, target, options), operation)
    return await _response(context, request, target, view, deleted, options)


async def _response(
    context: VerbContext,
    request: Request,
    target: ResourceTarget,
    view: Any,
    deleted: Deleted,
    options: Mapping[str, Any],
) -> Response:
    """The response of a delete. A body with the object is empty if it is not used."""
    resource = target.resource
    if deleted.gone and not context.registry.strategy(resource).returns_object:
        # Damaged objects have no uid that can be read.
        uid = deleted.object["metadata"].get("uid")
        members = {"name": target.name, "group": resource.group, "kind": resource.plural, "uid": uid}
        details = {name: value for name, value in members.items() if value}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return context.present.response(view, context.present.other(view, status))
    body: Body = b""
    if request.uses_body:
        entry = await context.registry.deleted_entry(resource, target.namespace, deleted)
        body = await context.encode_entry(view, entry)
    late = not deleted.gone and options.get("orphanDependents") is False
    return context.present.response(view, body, code=202 if late else 200)


async def deletecollection(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """Delete the objects that a list with the same parameters returns; 200 with that list."""
    resource = target.resource
    view = context.present.view(request, resource)
    # Checked before the body.
    query = await context.list_query(request, target)
    if "APIListChunking" in context.settings.disabled:
        query = query.unpaged()
    options = await _options(context, request, context.settings.release.choose(_COLLECTION_SCHEMES))
    request.warnings += context.registry.strategy(resource).deletion_warnings(options)
    page = await context.registry.list(query)

    async def delete_one(entry: Entry) -> None:
        namespace, _, name = entry.path.rpartition("/")
        one = ResourceTarget(resource, namespace, name, "")
        try:
            await context.registry.delete(
                _context(context, request, one, options), Delete(name=name, options=options, reviewed_name="")
            )
        except ApiError as error:
            # Deleted concurrently: the desired state is reached.
            if error.code != 404:
                raise

    await for_each(page.entries, delete_one, at_once=context.delete_workers)
    return context.present.response(view, await context.encode_page(view, page))
