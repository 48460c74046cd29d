"""Common part of all reviews: the posted object is returned with a status, and nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchd import errors
from orchd.kinds.objects.validate import dispatch as validation
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext
from orchd.server.registry.interfaces import Object

#: Makes the status of a review; may raise ApiError.
Answer = Callable[[Request, ResourceTarget, Object], Awaitable[Object]]


def review(foreign: ForeignBodyContext, answer: Answer, *, echoed: bool = True) -> Verb:
    """The create verb of a review kind: 201 with the review and its status, or (`echoed` false) with only the status in
    an otherwise empty review."""

    async def create(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
        resource = target.resource
        view = tools.present.view(request, resource, table=False)
        posted, options = await tools.decode_object(request, resource, "CreateOptions")
        context = tools.context(request, target, options)
        posted = tools.update_known_managers(context, None, posted)
        posted = await foreign.mutated(tools, context, resource, "CREATE", posted, None, "")
        causes = validation.validate_create(posted, resource, tools.settings)
        if causes:
            raise errors.invalid(resource.group, "", "", causes)
        status = await answer(request, target, posted)
        await foreign.validate(context, "CREATE", posted, None)
        said = posted if echoed else {"apiVersion": posted["apiVersion"], "kind": posted["kind"], "metadata": {}, "spec": {}}
        reviewed = tools.canonicalize({**said, "status": status}, resource)
        return tools.present.response(view, tools.present.other(view, reviewed), code=201)

    return create
