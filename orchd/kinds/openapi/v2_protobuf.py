"""The OpenAPI v2 document in protobuf: message ``openapi.v2.Document`` of OpenAPIv2.proto (gnostic).

Clients that ask for ``application/com.github.proto-openapi.spec.v2@v1.0+protobuf`` do not accept JSON instead. The
messages are a table of field numbers and the JSON members they hold; free-form values (defaults, enums, extensions)
are YAML text there, for which JSON will do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

#: Message -> fields as ``member:number`` with ``=Type`` unless a string, ``*`` where repeated. ``x`` stands for all
#: members whose names begin with ``x-``. Members that no message has are left out of the encoding.
MESSAGES: Final[dict[str, str]] = {
    "Document": (
        "swagger:1 info:2=Info host:3 basePath:4 schemes:5* consumes:6* produces:7* paths:8=Paths"
        " definitions:9=Definitions security:12*=SecurityRequirement securityDefinitions:13=SecurityDefinitions"
        " tags:14*=Tag externalDocs:15=ExternalDocs x:16"
    ),
    "Info": "title:1 version:2 description:3 termsOfService:4 contact:5=Contact license:6=License x:7",
    "Contact": "name:1 url:2 email:3 x:4",
    "License": "name:1 url:2 x:3",
    "Tag": "name:1 description:2 externalDocs:3=ExternalDocs x:4",
    "ExternalDocs": "description:1 url:2 x:3",
    "PathItem": (
        "$ref:1 get:2=Operation put:3=Operation post:4=Operation delete:5=Operation options:6=Operation"
        " head:7=Operation patch:8=Operation parameters:9*=ParametersItem x:10"
    ),
    "Operation": (
        "tags:1* summary:2 description:3 externalDocs:4=ExternalDocs operationId:5 produces:6* consumes:7*"
        " parameters:8*=ParametersItem responses:9=Responses schemes:10* deprecated:11=bool"
        " security:12*=SecurityRequirement x:13"
    ),
    "BodyParameter": "description:1 name:2 in:3 required:4=bool schema:5=Schema x:6",
    "QueryParameterSubSchema": (
        "required:1=bool in:2 description:3 name:4 allowEmptyValue:5=bool type:6 format:7 default:10=Any"
        " pattern:17 uniqueItems:20=bool enum:21*=Any x:23"
    ),
    "PathParameterSubSchema": (
        "required:1=bool in:2 description:3 name:4 type:5 format:6 default:9=Any pattern:16 uniqueItems:19=bool"
        " enum:20*=Any x:22"
    ),
    "Response": "description:1 schema:2=SchemaItem x:5",
    "ApiKeySecurity": "type:1 name:2 in:3 description:4 x:5",
    "JsonReference": "$ref:1 description:2",
    "Schema": (
        "$ref:1 format:2 title:3 description:4 default:5=Any multipleOf:6=double maximum:7=double"
        " exclusiveMaximum:8=bool minimum:9=double exclusiveMinimum:10=bool maxLength:11=int64 minLength:12=int64"
        " pattern:13 maxItems:14=int64 minItems:15=int64 uniqueItems:16=bool maxProperties:17=int64"
        " minProperties:18=int64 required:19* enum:20*=Any additionalProperties:21=AdditionalPropertiesItem"
        " type:22=TypeItem items:23=ItemsItem allOf:24*=Schema properties:25=Properties discriminator:26"
        " readOnly:27=bool externalDocs:29=ExternalDocs example:30=Any x:31"
    ),
}

#: Messages that are ordered maps: the number of their only repeated field and the type of the values.
MAPS: Final[dict[str, tuple[int, str]]] = {
    "Paths": (2, "PathItem"),
    "Definitions": (1, "Schema"),
    "Properties": (1, "Schema"),
    "Responses": (1, "ResponseValue"),
    "SecurityDefinitions": (1, "SecurityDefinitionsItem"),
    "SecurityRequirement": (1, "StringArray"),
}

#: Messages that wrap one choice of several: field number by type of the choice.
CHOICES: Final[dict[str, dict[str, int]]] = {
    "ParametersItem": {"Parameter": 1, "JsonReference": 2},
    "Parameter": {"BodyParameter": 1, "NonBodyParameter": 2},
    "NonBodyParameter": {"QueryParameterSubSchema": 3, "PathParameterSubSchema": 4},
    "SchemaItem": {"Schema": 1},
    "ResponseValue": {"Response": 1, "JsonReference": 2},
    "SecurityDefinitionsItem": {"ApiKeySecurity": 2},
    "AdditionalPropertiesItem": {"Schema": 1, "bool": 2},
}

Encode = Callable[[Any], bytes]

#: Characters that JSON may hold as they are and YAML may not.
_YAML_ESCAPES: Final = {
    c: f"\\u{c:04x}" for c in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)
}


def encode(document: Mapping[str, Any]) -> bytes:
    """The document of `v2.document` as bytes."""
    return _Encoder().message("Document")(document)


class MapEntries:
    """Encodes single entries of the document's maps, for `assemble`."""

    def __init__(self) -> None:
        encoder = _Encoder()
        self._path = encoder.entry(*MAPS["Paths"])
        self._definition = encoder.entry(*MAPS["Definitions"])
        self._encoder = encoder

    def path(self, path: str, item: Mapping[str, Any]) -> bytes:
        try:
            return self._path(path, item)
        finally:
            # Known by identity, which lasts as long as the values do.
            self._encoder.forget()

    def definition(self, name: str, schema: Mapping[str, Any]) -> bytes:
        return self._definition(name, schema)


def assemble(
    frame: Mapping[str, Any], paths: Sequence[bytes | memoryview], definitions: Sequence[bytes | memoryview]
) -> Iterator[bytes | memoryview]:
    """The parts of a document whose paths and definitions are encoded (`MapEntries`); `frame` has the other members.

    Joined they are what `encode` gives for the whole.
    """
    maps = {"paths": (8, paths), "definitions": (9, definitions)}
    before = ("swagger", "info")
    yield encode({member: value for member, value in frame.items() if member in before})
    for number, entries in maps.values():
        yield _tag(number, 2) + _varint(sum(map(len, entries)))
        yield from entries
    yield encode({member: value for member, value in frame.items() if member not in maps and member not in before})


def _varint(value: int) -> bytes:
    if value < 0:
        value += 1 << 64
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _text(value: Any) -> bytes:
    return str(value).encode()


def _yaml(value: Any) -> bytes:
    """Message Any with its second field: the value as one line of YAML."""
    text = orjson.dumps(value).decode()
    raw = (text if text.isascii() and "\x7f" not in text else text.translate(_YAML_ESCAPES)).encode() + b"\n"
    return b"\x12" + _varint(len(raw)) + raw


def _scalar(type_: str, number: int) -> Encode | None:
    """An encoder of a whole field of a number type, None for other types. Zero values are left out (proto3)."""
    if type_ == "bool":
        head = _tag(number, 0) + b"\x01"
        return lambda value: head if value else b""
    if type_ == "int64":
        tag = _tag(number, 0)
        return lambda value: tag + _varint(int(value)) if value else b""
    if type_ == "double":
        tag64 = _tag(number, 1)
        return lambda value: tag64 + struct.pack("<d", value) if value else b""
    return None


class _Encoder:
    """Encoders compiled from the table, with the bytes of values that the document shares kept by identity."""

    def __init__(self) -> None:
        self._messages: dict[str, Encode] = {}
        self._shared: dict[tuple[str, int], bytes] = {}

    def message(self, name: str) -> Encode:
        """The encoder of a message's contents."""
        found = self._messages.get(name)
        if found is None:
            # First a detour, so that a message may hold itself.
            self._messages[name] = lambda value: self._messages[name](value)
            found = self._messages[name] = self._compile(name)
        return found

    def _compile(self, name: str) -> Encode:
        if name in MAPS:
            return self._map(*MAPS[name])
        special: dict[str, Callable[[], Encode]] = {
            "string": lambda: _text,
            "Any": lambda: _yaml,
            "StringArray": lambda: self._list(self._field(1, "string")),
            "TypeItem": lambda: self._list(self._field(1, "string")),
            "ItemsItem": lambda: self._list(self._field(1, "Schema")),
            "AdditionalPropertiesItem": self._additional_properties,
            "ParametersItem": self._parameter,
            "SchemaItem": lambda: self._field(CHOICES["SchemaItem"]["Schema"], "Schema"),
            "ResponseValue": lambda: self._field(CHOICES["ResponseValue"]["Response"], "Response"),
            "SecurityDefinitionsItem": lambda: self._field(
                CHOICES["SecurityDefinitionsItem"]["ApiKeySecurity"], "ApiKeySecurity"
            ),
        }
        if name in special:
            return special[name]()
        return self._struct(MESSAGES[name])

    def _field(self, number: int, type_: str) -> Encode:
        """The encoder of a whole field: tag, length and contents."""
        scalar = _scalar(type_, number)
        if scalar is not None:
            return scalar
        tag = _tag(number, 2)
        contents = self.message(type_)

        def field(value: Any) -> bytes:
            raw = contents(value)
            return tag + _varint(len(raw)) + raw

        return field

    @staticmethod
    def _list(one: Encode) -> Encode:
        """A wrapper whose only field is repeated; a single value stands for a list of one."""
        return lambda value: b"".join(map(one, value)) if isinstance(value, list) else one(value)

    def _map(self, number: int, type_: str) -> Encode:
        entry = self.entry(number, type_)
        return lambda value: b"".join([entry(key, item) for key, item in value.items()])

    def entry(self, number: int, type_: str) -> Callable[[str, Any], bytes]:
        """The encoder of one entry of a map: (key, value)."""
        entry_tag = _tag(number, 2)
        name = self._field(1, "string")
        value_field = self._field(2, type_)

        def one(key: str, item: Any) -> bytes:
            raw = name(key) + value_field(item)
            return entry_tag + _varint(len(raw)) + raw

        return one

    def forget(self) -> None:
        """Forget the bytes of shared values."""
        self._shared.clear()

    def _struct(self, spec: str) -> Encode:
        fields: dict[str, tuple[int, Encode]] = {}
        extension: Encode | None = None
        for word in spec.split():
            head, _, type_ = word.partition("=")
            member, _, digits = head.partition(":")
            repeated = digits.endswith("*")
            number = int(digits.rstrip("*"))
            if member == "x":
                extension = self._extension(number)
                continue
            one = self._field(number, type_ or "string")
            fields[member] = (number, self._list(one) if repeated else one)

        def struct_(value: Mapping[str, Any]) -> bytes:
            parts: list[tuple[int, bytes]] = []
            for member, item in value.items():
                known = fields.get(member)
                if known is not None:
                    parts.append((known[0], known[1](item)))
                elif extension is not None and member.startswith("x-"):
                    parts.append((1 << 20, extension((member, item))))
            parts.sort(key=_by_number)
            return b"".join([raw for _, raw in parts])

        return struct_

    def _extension(self, number: int) -> Encode:
        tag = _tag(number, 2)
        name = self._field(1, "string")
        any_ = self._field(2, "Any")

        def extension(pair: tuple[str, Any]) -> bytes:
            raw = name(pair[0]) + any_(pair[1])
            return tag + _varint(len(raw)) + raw

        return extension

    def _additional_properties(self) -> Encode:
        numbers = CHOICES["AdditionalPropertiesItem"]
        schema = self._field(numbers["Schema"], "Schema")
        flag = _tag(numbers["bool"], 0)
        # A chosen field is sent even when it is false.
        return lambda value: flag + (b"\x01" if value else b"\x00") if isinstance(value, bool) else schema(value)

    def _parameter(self) -> Encode:
        def wrapped(raw: bytes, number: int) -> bytes:
            return _tag(number, 2) + _varint(len(raw)) + raw

        item, parameter, other = CHOICES["ParametersItem"], CHOICES["Parameter"], CHOICES["NonBodyParameter"]
        body = self._field(parameter["BodyParameter"], "BodyParameter")
        by_place = {
            place: self._field(other[type_], type_)
            for place, type_ in (("query", "QueryParameterSubSchema"), ("path", "PathParameterSubSchema"))
        }

        def encode_parameter(value: Mapping[str, Any]) -> bytes:
            key = ("parameter", id(value))
            raw = self._shared.get(key)
            if raw is None:
                place = value["in"]
                raw = body(value) if place == "body" else wrapped(by_place[place](value), parameter["NonBodyParameter"])
                raw = self._shared[key] = wrapped(raw, item["Parameter"])
            return raw

        return encode_parameter


def _by_number(part: tuple[int, bytes]) -> int:
    return part[0]
