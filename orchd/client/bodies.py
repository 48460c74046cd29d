"""Encoders of request bodies: JSON, or protobuf for built-in kinds."""

from __future__ import annotations

from typing import Protocol

import orjson

from orchd.client.requests import Call
from orchd.dialect import Dialect
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import protobuf

_JSON = "application/json"


class BodyEncoder(Protocol):
    """Returns the bytes and the media type of the body of a call that has one."""

    def __call__(self, call: Call) -> tuple[bytes, str]: ...


def json_body(call: Call) -> tuple[bytes, str]:
    """Every body as JSON."""
    return orjson.dumps(call.body), call.content_type


class ProtobufBodies:
    """Encodes objects of built-in kinds as protobuf; patches, options, custom kinds and bodies without a kind as JSON.
    Responses are requested in JSON in both cases, which decodes faster in Python."""

    def __init__(self, dialect: Dialect) -> None:
        self._media_type = dialect.protobuf
        self._catalog = builtin_catalog(dialect, enabled=lambda group, version, default: True)

    def __call__(self, call: Call) -> tuple[bytes, str]:
        body = call.body
        if call.content_type == _JSON and isinstance(body, dict):
            found = self._catalog.kind(str(body.get("apiVersion", "")), str(body.get("kind", "")))
            if found is not None and protobuf.has_form(found.type):
                return protobuf.encode(body, found.type), self._media_type
        return json_body(call)
