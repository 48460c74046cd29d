"""Common part of all reviews: the posted object is returned with a status, and nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchd import errors
from orchd.kinds.canonical import canonicalize
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.times import timestamp
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, mutate
from orchd.server.registry.operations import Create

#: Makes the status of a review; may raise ApiError.
Decide = Callable[[Request, ResourceTarget, Object], Awaitable[Object]]


def review(foreign: ForeignBodyContext, response: Decide, *, echoed: bool = True, stamped: bool = False) -> Verb:
    """The create verb of a review kind: 201 with the review and its status, or (`echoed` false) with only the status in
    an otherwise empty review, which has its time of creation if it is `stamped`."""

    async def create(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        resource = target.resource
        view = context.present.view(request, resource, table=False)
        posted, options = await context.decode_object(request, resource, "CreateOptions")
        write_context = context.write_context(request, target, options)
        posted = foreign.prepare(posted, target.namespace, False)
        posted = await context.registry.transform(write_context, Create(obj=posted), None)
        admission = foreign.admission.review(write_context, "CREATE", None)
        posted = await mutate(context, admission, resource, posted)
        causes = validation.validate_create(posted, resource, context.settings)
        if causes:
            raise errors.invalid(resource.group, "", "", causes)
        status = await response(request, target, posted)
        await admission.validate(posted)
        returned = (
            posted
            if echoed
            else {"apiVersion": posted["apiVersion"], "kind": posted["kind"], "metadata": {}, "spec": {}}
        )
        if stamped:
            returned = {**returned, "metadata": {"creationTimestamp": timestamp(context.wall())}}
        reviewed = canonicalize({**returned, "status": status}, resource, context.settings)
        return context.present.response(view, context.present.other(view, reviewed), code=201)

    return create
