"""Token webhook: TokenReviews by an external service (specification, "Webhook token authentication")."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator
from orchd.server.outbound.reviews import ReviewStatus, read_text, read_texts, type_mismatch
from orchd.server.outbound.webhooks import WebhookError
from orchd.txkit.log import Logger


class Reviews(Protocol):
    """Sends reviews (`orchd.server.outbound.reviews`)."""

    def ask(self, document: Mapping[str, Any]) -> Awaitable[dict[str, Any]]: ...


@implementer(ITokenAuthenticator)
class TokenWebhook:
    """Sends TokenReviews in `version` (v1 or v1beta1). A service without audience support implies `audiences`, those of
    this API server. Wrap it in a cache: every call is a remote call."""

    name = "webhook"
    _log = Logger()

    def __init__(
        self,
        dialect: Dialect,
        reviews: Reviews,
        *,
        version: str,
        audiences: Sequence[str],
        release: Release = SPECIFICATION,
    ) -> None:
        self._metadata = fields.unstored_metadata(release)
        self._api_version = dialect("authentication.{abbr}.io/") + version
        self._reviews = reviews
        self._audiences = tuple(audiences)

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        review = {
            "kind": "TokenReview",
            "apiVersion": self._api_version,
            "metadata": self._metadata,
            "spec": spec,
            "status": {"user": {}},
        }
        try:
            status = ReviewStatus(await self._reviews.ask(review), "TokenReviewStatus")
            user = _user(status.inner("user", "UserInfo"))
            authenticated, error = status.flag("authenticated"), status.text("error")
            named = status.texts("audiences")
        except WebhookError as failed:
            self._log.error("the token webhook failed: {error}", error=str(failed))
            raise AuthenticationError(str(failed)) from failed
        good = tuple(a for a in audiences if a in (named or self._audiences))
        if audiences and not good:
            return None
        if authenticated:
            return Authenticated(user=user, audiences=good)
        if error:
            raise AuthenticationError(error)
        return None


def _user(members: Mapping[str, Any]) -> User:
    """The user in a response. Raises WebhookError."""
    where = "struct field UserInfo.status.user."
    extra = members.get("extra")
    if extra is not None and not isinstance(extra, dict):
        raise type_mismatch(extra, where + "extra", "map[string]v1.ExtraValue")
    return User(
        name=read_text(members.get("username"), where + "username"),
        uid=read_text(members.get("uid"), where + "uid"),
        groups=read_texts(members.get("groups"), where + "groups"),
        extra={key: read_texts(value, where + "extra") for key, value in (extra or {}).items()},
    )
