"""SelfSubjectReview: the attributes of the user who asks, as this server sees them after authentication and
impersonation."""

from __future__ import annotations

from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.verbs.context import ResourceTarget


async def self_review(request: Request, target: ResourceTarget, posted: Object) -> Object:
    """The status of the review; `posted` has no members that matter."""
    assert request.user is not None
    return {"userInfo": request.user.as_json()}
