"""TokenReview: authenticates a bearer token."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import with_authenticated_group
from orchd.server.authn.interfaces import Authenticated, AuthenticationError
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.verbs.context import ResourceTarget
from orchd.server.pipeline.verbs.reviews.posted import Decide


class TokenMethods(Protocol):
    """All bearer token methods; raises AuthenticationError for a token that none accepts."""

    def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> Awaitable[Authenticated]: ...


def token_review(methods: TokenMethods) -> Decide:
    """Evaluate with the bearer methods of this server. Parts of a sent status that the result does not set remain, as
    in the reference."""

    async def decide(request: Request, target: ResourceTarget, posted: Object) -> Object:
        spec = fields.spec(posted)
        if not spec.get("token"):
            raise errors.bad_request("token is required for TokenReview in authentication")
        sent = {name: value for name, value in fields.status(posted).items() if name != "authenticated"}
        try:
            authenticated = await methods.authenticate_token(spec["token"], spec.get("audiences") or ())
        except AuthenticationError as error:
            return {"user": {}, **sent, "error": str(error)}
        user = with_authenticated_group(authenticated.user).as_json()
        return {**sent, "authenticated": True, "user": user, "audiences": list(authenticated.audiences)}

    return decide
