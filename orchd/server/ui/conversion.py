"""YAML for the page, which shows and edits objects as YAML and has no parser of its own: ``POST /ui/yaml``.

The response to a JSON body is YAML, to a YAML body JSON. Nothing is read or stored, so every authenticated user may do
it, within the limits of all requests; large texts are converted away from the reactor, in turn for each user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds import bounds
from orchd.kinds.codec import json_, yaml_
from orchd.kinds.codec.mediatype import JSON_TYPE, YAML_TYPE
from orchd.kinds.users import ANONYMOUS
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.ui.files import NEVER_STORE, ROOT, SECURITY_HEADERS, is_loopback, protected

#: Path of the conversion.
YAML: Final = f"{ROOT}/yaml"


class Compute(Protocol):
    """`compute(size, function, argument)`: the result of a pure function of `size` bytes, as `txkit.compute_thread`."""

    def __call__(self, size: int, function: Callable[[bytes], bytes], argument: bytes, /) -> Awaitable[bytes]: ...


class ConversionStage:
    """Serves ``/ui/yaml``. Runs after the limits of requests, before authorization. `limit` is that of bodies in
    bytes; with `local` only clients on this machine are served."""

    def __init__(self, compute: Compute, *, limit: int, local: bool) -> None:
        self._compute, self._limit, self._local = compute, limit, local

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        if request.path != YAML or (self._local and not is_loopback(request.credentials.remote)):
            return then(request)
        return self._respond(request)

    async def _respond(self, request: Request) -> Response:
        try:
            return await self._convert(request)
        except ApiError as error:
            raise protected(error) from None

    async def _convert(self, request: Request) -> Response:
        """Raises ApiError 400, 401, 405, 413 or 415."""
        if request.user is None or request.user.name == ANONYMOUS:
            raise errors.unauthorized()
        if request.method != "POST":
            raise errors.method_not_allowed()
        conversions = {JSON_TYPE: (to_yaml, YAML_TYPE), YAML_TYPE: (to_json, JSON_TYPE)}
        conversion = conversions.get(request.header("content-type").partition(";")[0].strip().lower())
        if conversion is None:
            raise errors.unsupported_media_type(conversions)
        convert, response_type = conversion
        data = await request.body.read(self._limit)
        request.trace.body_size = len(data)
        body = await self._compute(len(data), convert, data)
        return Response(content_type=response_type, headers=[*SECURITY_HEADERS, NEVER_STORE], body=body)


def to_yaml(text: bytes) -> bytes:
    """A JSON text as YAML for people. Raises ApiError 400 and 413."""
    bounds.check_json(text, bounds.MAX_OBJECT_VALUES)
    try:
        value = json_.decode(text)
    except json_.JSONError as error:
        raise errors.bad_request(str(error)) from None
    _require_shallow(value)
    return yaml_.encode_edited(value)


def to_json(text: bytes) -> bytes:
    """A YAML text of one document as JSON. Raises ApiError 400, whose message names the line."""
    try:
        value = yaml_.decode_edited(text)
    except yaml_.YAMLError as error:
        raise errors.bad_request(str(error)) from None
    _require_shallow(value)
    return json_.encode(value)


def _require_shallow(value: object) -> None:
    if json_.too_deep(value):
        raise errors.bad_request("the document is nested too deeply")
