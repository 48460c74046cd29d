"""The OpenAPI v2 document in protobuf: message ``openapi.v2.Document`` of OpenAPIv2.proto (gnostic).

Clients that ask for ``application/com.github.proto-openapi.spec.v2@v1.0+protobuf`` do not accept JSON. The
messages are a table of field numbers and JSON members; free-form values (defaults, enums, extensions) are YAML text,
written as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchd.kinds.openapi.gnostic import Encode, MessageEncoder, tag, varint

#: Message -> fields as ``member:number`` with ``=Type`` unless a string, ``*`` where repeated. ``x`` stands for all
#: members whose names begin with ``x-``. Members without a message are omitted.
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
            # The identity is valid as long as the values exist.
            self._encoder.forget()

    def definition(self, name: str, schema: Mapping[str, Any]) -> bytes:
        return self._definition(name, schema)


def assemble(
    frame: Mapping[str, Any], paths: Sequence[bytes | memoryview], definitions: Sequence[bytes | memoryview]
) -> Iterator[bytes | memoryview]:
    """The parts of a document whose paths and definitions are encoded (`MapEntries`); `frame` has the other members.

    Joined, they equal the result of `encode`.
    """
    maps = {"paths": (8, paths), "definitions": (9, definitions)}
    before = ("swagger", "info")
    yield encode({member: value for member, value in frame.items() if member in before})
    for number, entries in maps.values():
        yield tag(number, 2) + varint(sum(map(len, entries)))
        yield from entries
    yield encode({member: value for member, value in frame.items() if member not in maps and member not in before})


class _Encoder(MessageEncoder):
    """The encoder of v2, with a memo of encoded shared values by identity."""

    def __init__(self) -> None:
        super().__init__(MESSAGES, MAPS)
        self._shared: dict[tuple[str, int], bytes] = {}

    def forget(self) -> None:
        """Forget the bytes of shared values."""
        self._shared.clear()

    def _special(self, name: str) -> Encode | None:
        special: dict[str, Callable[[], Encode]] = {
            "StringArray": lambda: self._list(self._field(1, "string")),
            "TypeItem": lambda: self._list(self._field(1, "string")),
            "ItemsItem": lambda: self._list(self._field(1, "Schema")),
            "AdditionalPropertiesItem": lambda: self._additional_properties("Schema"),
            "ParametersItem": self._parameter,
            "SchemaItem": lambda: self._field(CHOICES["SchemaItem"]["Schema"], "Schema"),
            "ResponseValue": lambda: self._field(CHOICES["ResponseValue"]["Response"], "Response"),
            "SecurityDefinitionsItem": lambda: self._field(
                CHOICES["SecurityDefinitionsItem"]["ApiKeySecurity"], "ApiKeySecurity"
            ),
        }
        return special[name]() if name in special else super()._special(name)

    def _parameter(self) -> Encode:
        def wrapped(raw: bytes, number: int) -> bytes:
            return tag(number, 2) + varint(len(raw)) + raw

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
