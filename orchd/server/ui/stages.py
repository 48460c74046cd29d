"""Stages of the page: its files for this machine, and the session of the user.

The files hold nothing of the cluster. They are needed to sign in, so clients on this machine get them without
credentials. Everybody else needs permission to ``get`` the path, like that of any other path: see `page_endpoints`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.users import ANONYMOUS
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.ui.files import NEVER_STORE, ROOT, SECURITY_HEADERS, StaticFile, is_loopback, protected

#: Path of the user's session.
SESSION = f"{ROOT}/session"


class LocalPage:
    """Serves the files of the page to clients on this machine. Runs before authentication. Only browsers are redirected
    from ``/ui``, which the reference does not have."""

    def __init__(self, files: Mapping[str, StaticFile]) -> None:
        self._files = files

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        if not request.path.startswith(ROOT) or not is_loopback(request.credentials.remote):
            return then(request)
        return self._serve(request, then)

    async def _serve(self, request: Request, then: Next) -> Response:
        path = request.path
        if path == ROOT and "text/html" in request.header("accept"):
            return to_page()
        file = self._files.get(path)
        if file is not None:
            return file.respond(request)
        try:
            return await then(request)
        except ApiError as error:
            raise (protected(error) if path.startswith(f"{ROOT}/") else error) from None


class SessionStage:
    """Serves ``/ui/session``: who the server takes the user for. Runs after authentication and impersonation, before
    authorization: users may know their own names. `names` are those of the dialect for requests of the page; with
    `local` only clients on this machine are served."""

    def __init__(self, names: Mapping[str, Any], *, local: bool) -> None:
        self._names = dict(names)
        self._local = local

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        if request.path != SESSION or (self._local and not is_loopback(request.credentials.remote)):
            return then(request)
        return self._respond(request)

    async def _respond(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise protected(errors.method_not_allowed())
        user = request.user
        assert user is not None
        has_user = user.name != ANONYMOUS
        document = {
            "user": {"name": user.name, "groups": list(user.groups)} if has_user else None,
            "certificate": has_user and bool(request.credentials.certificates),
            "names": self._names if has_user else {},
        }
        return Response(headers=[*SECURITY_HEADERS, NEVER_STORE], body=orjson.dumps(document))


def page_endpoints(files: Mapping[str, StaticFile]) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The files as endpoints behind authorization, for clients on other machines."""

    async def redirect(request: Request) -> Response:
        return to_page()

    return {ROOT: redirect, **{path: _endpoint(file) for path, file in files.items()}}


def names_of(dialect: Dialect) -> dict[str, Any]:
    """Names that the page uses in requests."""
    return {
        "dialect": dialect.name,
        "meta": dialect.meta_group,
        "discovery": dialect("apidiscovery.{abbr}.io"),
        "authorization": dialect("authorization.{abbr}.io"),
    }


def to_page() -> Response:
    """A redirect from ``/ui`` to the page: its files have relative addresses."""
    return Response(code=307, content_type="", headers=[*SECURITY_HEADERS, ("Location", f"{ROOT}/"), NO_STORE])


def _endpoint(file: StaticFile) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return file.respond(request)

    return respond
