"""Bodies in protobuf for built-in kinds. A module of its own: its imports take longer than all others of a client."""

from __future__ import annotations

from orchd.client.bodies import JsonBodies, malformed_event, watch_event
from orchd.client.event_cutters import EventCutter, FrameCutter, LineCutter
from orchd.client.interfaces import WatchEvent
from orchd.client.requests import Call
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource, builtin_catalog, split_group_version
from orchd.kinds.codec import protobuf
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import shape
from orchd.kinds.release import Release

_JSON = "application/json"


class ProtobufBodies(JsonBodies):
    """Objects of the built-in kinds of a release as protobuf; patches, options, custom kinds and bodies without a kind
    as JSON. With `responses`, the server is asked for protobuf as well, which takes more time to decode in Python than
    JSON."""

    def __init__(self, dialect: Dialect, release: Release, *, responses: bool) -> None:
        self._media_type = dialect.protobuf
        self.accept = f"{dialect.protobuf}, {_JSON}" if responses else _JSON
        catalog = self._catalog = builtin_catalog(dialect, release, enabled=lambda group, version, default: True)
        self._lists: dict[tuple[str, str, str], Resource] = {
            (r.group, r.version, r.list_kind): r for r in catalog.resources
        }
        self._list_meta = catalog.types.get("meta/v1.ListMeta")
        self._repeats = protobuf.Repeats()

    def encode(self, call: Call) -> tuple[bytes, str]:
        body = call.body
        if call.content_type == _JSON and isinstance(body, dict):
            resource = self._catalog.kind(str(body.get("apiVersion", "")), str(body.get("kind", "")))
            if resource is not None and protobuf.has_form(resource.type):
                return protobuf.encode(body, resource.type), self._media_type
        return super().encode(call)

    def decode(self, data: bytes, content_type: str) -> Object:
        if not self._is_protobuf(content_type):
            return super().decode(data, content_type)
        try:
            return self._decode(data)
        except protobuf.ProtobufError as error:
            raise ApiError(500, "InternalError", f"the server's response is not protobuf: {error}") from None

    def decode_event(self, frame: bytes, content_type: str) -> WatchEvent:
        if not self._is_protobuf(content_type):
            return super().decode_event(frame, content_type)
        try:
            kind, body = protobuf.open_watch_event(frame)
            obj = self._decode(body)
        except protobuf.ProtobufError as error:
            raise malformed_event(error) from None
        return watch_event(kind, obj)

    def cutter(self, content_type: str) -> EventCutter:
        return FrameCutter() if self._is_protobuf(content_type) else LineCutter()

    def _is_protobuf(self, content_type: str) -> bool:
        return content_type.partition(";")[0].strip() == self._media_type

    def _decode(self, data: bytes) -> Object:
        """Decode a complete body. Raises ProtobufError."""
        envelope = protobuf.open_envelope(data)
        names = {"kind": envelope.kind, "apiVersion": envelope.api_version}
        group, version = split_group_version(envelope.api_version)
        listed = self._lists.get((group, version, envelope.kind))
        if listed is None:
            return {**names, **self._message(envelope.raw, self._type(group, version, envelope.kind))}
        metadata, items = protobuf.open_list(envelope.raw)
        return {
            **names,
            "metadata": self._message(metadata, self._list_meta),
            "items": [self._message(item, listed.type) for item in items],
        }

    def _type(self, group: str, version: str, kind: str) -> Type:
        """The type of a kind that the server sends: of a resource, or of a subresource or a response. Raises
        ProtobufError."""
        resource = self._catalog.kind(f"{group}/{version}" if group else version, kind)
        if resource is not None:
            return resource.type
        package = group.partition(".")[0] or ("meta" if kind == "Status" else "core")
        try:
            return self._catalog.types.get(f"{package}/{version}.{kind}")
        except LookupError:
            raise protobuf.ProtobufError(f"unknown kind {kind} of {group}/{version}") from None

    def _message(self, raw: bytes, type_: Type) -> Object:
        """The members that a JSON response has: some are always written there. Objects share equal parts. Raises
        ProtobufError."""
        try:
            return shape.canonical(protobuf.decode_message(raw, type_, self._repeats), type_)
        except shape.ShapeError as error:
            raise protobuf.ProtobufError(str(error)) from None
