"""Authentication, impersonation and authorization stages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, Final, Protocol

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError, quoted
from orchd.kinds.objects.action_selectors import Selectors, of_texts
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, Credentials, UnauthenticatedError
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Verdict
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.running import RunningStreams, Stream
from orchd.txkit.compute_thread import ComputeThread, current_flow

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


#: Bytes that a character of a selector counts for its parsing, in `ComputeThread`.
_PARSING: Final = 8
_SELECTING = frozenset(("list", "watch", "deletecollection"))


def no_selectors(request: Request) -> None:
    """Requests are authorized without regard to their selectors."""


def selectors_of(request: Request) -> Selectors | None:
    """The selectors that restrict a request. The deprecated paths below ``watch/`` do not always heed theirs."""
    info = request.info
    if info is None or info.special or info.verb not in _SELECTING or not request.query:
        return None
    return of_texts(request.param("fieldSelector"), request.param("labelSelector"))


def action_of(request: Request, verb: str = "", selectors: Selectors | None = None) -> Action:
    """The authorization attributes of a request; `verb` replaces the request's own."""
    info, user = request.info, request.user
    assert info is not None and user is not None
    if not info.is_resource:
        return Action(user=user, verb=info.verb, path=info.path)
    return Action(
        user=user,
        verb=verb or info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        selectors=selectors,
    )


class IChain(Protocol):
    """The authenticator chain."""

    async def authenticate(self, credentials: Credentials) -> Authenticated: ...


def no_warning(credentials: Credentials) -> str:
    """Warns of nothing."""
    return ""


def warn_of_spaces(credentials: Credentials) -> str:
    """Warns of a token that is ignored because several spaces precede it."""
    values = credentials.headers.get("authorization")
    parts = values[0].strip().split(" ", 2) if values else ()
    if len(parts) == 3 and parts[0].lower() == "bearer" and not parts[1]:
        return "the provided Authorization header contains extra space before the bearer token, and is ignored"
    return ""


class Authentication:
    """Authenticates requests; the chain raises ApiError 401 without a valid credential. In-process callers are
    preset."""

    def __init__(self, chain: IChain, warning: Callable[[Credentials], str] = no_warning) -> None:
        """`warning` returns a warning about the credentials of a request, "" for none."""
        self._chain = chain
        self._warning = warning

    async def __call__(self, request: Request, then: Next) -> Response:
        if request.user is None:
            warning = self._warning(request.credentials)
            if warning:
                request.warnings.append(warning)
            try:
                identity = await self._chain.authenticate(request.credentials)
            except UnauthenticatedError as error:
                request.trace.annotations.update(error.annotations)
                raise
            request.user = identity.user
            if identity.consumed:
                # Credentials must not be forwarded, in particular not to servers behind this one.
                kept = dict(request.headers)
                for name in identity.consumed:
                    kept.pop(name, None)
                if identity.instead:
                    kept.update(identity.instead)
                request.headers = kept
            if identity.warnings:
                request.warnings.extend(identity.warnings)
            if identity.annotations:
                request.trace.annotations.update(identity.annotations)
        # Requests of local clients run inside of other work, which is not theirs.
        outer = current_flow.get()
        current_flow.set(request.user.name)
        try:
            return await then(request)
        finally:
            current_flow.set(outer)


class Authorization:
    """Authorizes requests: anything but ALLOW is 403, or 500 when an authorizer failed.

    `refused` makes the error with the reference's message. `running` reviews the permission of streams that are passed
    on. `selecting` returns the selectors of a request with a query that its authorization depends on; `compute` calls
    it for long ones. `observe` is called with each verdict and the seconds that it took; None measures nothing."""

    def __init__(
        self,
        authorizer: IAuthorizer,
        refused: Callable[[Action, str], ApiError],
        dialect: Dialect,
        *,
        running: RunningStreams[Stream] | None = None,
        selecting: Callable[[Request], Selectors | None] = no_selectors,
        compute: ComputeThread | None = None,
        observe: Callable[[Verdict, float], None] | None = None,
    ) -> None:
        self._authorizer = authorizer
        self._running = running
        self._selecting = selecting
        self._compute = compute or ComputeThread()
        self._observe = observe
        self._refused = refused
        self._decision = dialect("authorization.{abbr}.io/decision")
        self._reason = dialect("authorization.{abbr}.io/reason")

    async def __call__(self, request: Request, then: Next) -> Response:
        selectors = None
        if request.query:
            size = _PARSING * (len(request.param("labelSelector")) + len(request.param("fieldSelector")))
            selectors = await self._compute(size, self._selecting, request)
        action = action_of(request, selectors=selectors)
        began = perf_counter()
        verdict = await self._authorizer.authorize(action)
        if self._observe is not None:
            self._observe(verdict, perf_counter() - began)
        if request.trace.audited:
            request.trace.annotations.update(self._annotations(verdict))
        if verdict.decision is Decision.ALLOW:
            request.permitted = (*request.permitted, action)
            request.running = self._running
            return await then(request)
        if verdict.error:
            return internal_error(request, verdict.error)
        raise _forbidden(self._refused(action, verdict.reason))

    def _annotations(self, verdict: Verdict) -> dict[str, str]:
        """Audit annotations of a verdict; for a failed evaluation only the failure."""
        allowed = verdict.decision is Decision.ALLOW
        if verdict.error and not allowed:
            return {self._reason: "internal error"}
        return {self._decision: "allow" if allowed else "forbid", self._reason: verdict.reason}


async def require(
    authorizer: IAuthorizer, refused: Callable[[Action, str], ApiError], request: Request, verb: str
) -> None:
    """Raise ApiError 403, made by `refused`, unless the user of `request` may also perform `verb`."""
    action = action_of(request, verb)
    verdict = await authorizer.authorize(action)
    if verdict.decision is Decision.ALLOW:
        return
    if verdict.error:
        raise errors.internal(verdict.error)
    raise refused(action, verdict.reason)


class Impersonating:
    """Impersonation requires permission for every impersonated attribute (specification, "User impersonation").

    `parse` converts the headers to the required actions; its `ImpersonationError` becomes a response in plain text.
    """

    def __init__(
        self,
        authorizer: IAuthorizer,
        parse: Callable[[Mapping[str, tuple[str, ...]], User], Any],
        refused: Callable[[Action, str], ApiError],
        nonsense: type[Exception],
    ) -> None:
        self._authorizer = authorizer
        self._parse = parse
        self._refused = refused
        self._nonsense = nonsense

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        for name in request.headers:
            if name.startswith("impersonate-"):
                return self._impersonate(request, then)
        return then(request)

    async def _impersonate(self, request: Request, then: Next) -> Response:
        headers = request.headers
        assert request.user is not None
        try:
            asked = self._parse(headers, request.user)
        except self._nonsense as error:
            return internal_error(request, str(error))
        if asked is not None:
            for action in asked.actions:
                verdict = await self._authorizer.authorize(action)
                if verdict.decision is not Decision.ALLOW or verdict.error:
                    raise _forbidden(self._refused(action, verdict.reason))
            request.permitted = tuple(asked.actions)
            request.impersonator, request.user = request.user, asked.user
        return await then(request)


def _forbidden(error: ApiError) -> ApiError:
    """A plain-text 403 that browsers do not sniff as another content type."""
    error.headers["X-Content-Type-Options"] = "nosniff"
    return error


def internal_error(request: Request, why: str) -> Response:
    """A plain-text 500 of a failed stage; it names the request."""
    return Response(
        code=500,
        content_type="text/plain; charset=utf-8",
        headers=[NO_STORE, ("X-Content-Type-Options", "nosniff")],
        body=f"Internal Server Error: {quoted(request.uri())}: {why}\n".translate(_MARKUP).encode(),
    )
