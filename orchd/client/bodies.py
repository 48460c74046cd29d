"""Codecs of request and response bodies: JSON, and the contract of others (`orchd.client.protobuf_bodies`)."""

from __future__ import annotations

from typing import Protocol

import orjson

from orchd.client.event_cutters import EventCutter, LineCutter
from orchd.client.interfaces import WatchEvent
from orchd.client.requests import Call
from orchd.client.statuses import error_of
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_JSON = "application/json"


class BodyCodec(Protocol):
    """Encodes requests and decodes responses."""

    #: The Accept header of calls that return objects, and of watches.
    accept: str

    def encode(self, call: Call) -> tuple[bytes, str]:
        """The bytes and the media type of the body of a call that has one."""

    def decode(self, data: bytes, content_type: str) -> Object:
        """The object of a response. Raises ApiError 500."""

    def decode_event(self, frame: bytes, content_type: str) -> WatchEvent:
        """An event of a watch. Raises ApiError, also for an event of type ERROR."""

    def cutter(self, content_type: str) -> EventCutter:
        """Cuts the body of a watch into events."""


class JsonBodies:
    """Every body as JSON."""

    accept = _JSON

    def encode(self, call: Call) -> tuple[bytes, str]:
        return orjson.dumps(call.body), call.content_type

    def decode(self, data: bytes, content_type: str) -> Object:
        try:
            response: Object = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ApiError(500, "InternalError", f"the server's response is not JSON: {error}") from None
        return response

    def decode_event(self, frame: bytes, content_type: str) -> WatchEvent:
        try:
            event = orjson.loads(frame)
            kind, obj = event["type"], event["object"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise malformed_event(error) from None
        return watch_event(kind, obj)

    def cutter(self, content_type: str) -> EventCutter:
        return LineCutter()


def malformed_event(error: Exception) -> ApiError:
    """The error for a frame that is no watch event."""
    return ApiError(500, "InternalError", f"malformed watch event: {error}")


def watch_event(kind: str, obj: Object) -> WatchEvent:
    """The event of a frame. Raises ApiError for one of type ERROR."""
    if kind == "ERROR":
        raise error_of(obj, 500)
    return WatchEvent(kind, obj)


#: Codec of clients that were given none.
JSON = JsonBodies()
