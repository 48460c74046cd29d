"""OpenAPI v3 documents in protobuf: message ``openapi.v3.Document`` of OpenAPIv3.proto (gnostic).

Clients ask for it as ``application/com.github.proto-openapi.spec.v3.v1.0+protobuf``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.openapi.gnostic import Encode, MessageEncoder, tag, text, varint

MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"

#: Messages in the form that `MessageEncoder` describes, as far as the documents use them.
MESSAGES: Final[dict[str, str]] = {
    "Document": "openapi:1 info:2=Info paths:4=Paths components:5=Components x:9",
    "Info": "title:1 description:2 termsOfService:3 version:6 x:7",
    "PathItem": (
        "$ref:1 summary:2 description:3 get:4=Operation put:5=Operation post:6=Operation delete:7=Operation"
        " options:8=Operation head:9=Operation patch:10=Operation trace:11=Operation "
        "parameters:13*=ParameterOrReference x:14"
    ),
    "Operation": (
        "tags:1* summary:2 description:3 externalDocs:4=ExternalDocs operationId:5 parameters:6*=ParameterOrReference"
        " requestBody:7=RequestBodyOrReference responses:8=Responses deprecated:10=bool x:13"
    ),
    "Parameter": (
        "name:1 in:2 description:3 required:4=bool deprecated:5=bool allowEmptyValue:6=bool style:7 explode:8=bool"
        " allowReserved:9=bool schema:10=SchemaOrReference example:11=Any content:13=MediaTypes x:14"
    ),
    "RequestBody": "description:1 content:2=MediaTypes required:3=bool x:4",
    "MediaType": "schema:1=SchemaOrReference example:2=Any x:5",
    "Response": "description:1 content:3=MediaTypes x:5",
    "Components": "schemas:1=SchemasOrReferences securitySchemes:7=SecuritySchemesOrReferences x:10",
    "SecurityScheme": "type:1 description:2 name:3 in:4 scheme:5 bearerFormat:6 openIdConnectUrl:8 x:9",
    "ExternalDocs": "description:1 url:2 x:3",
    "Reference": "$ref:1 summary:2 description:3",
    "Schema": (
        "nullable:1=bool readOnly:3=bool writeOnly:4=bool externalDocs:6=ExternalDocs example:7=Any deprecated:8=bool"
        " title:9 multipleOf:10=double maximum:11=double exclusiveMaximum:12=bool minimum:13=double"
        " exclusiveMinimum:14=bool maxLength:15=int64 minLength:16=int64 pattern:17 maxItems:18=int64 minItems:19=int64"
        " uniqueItems:20=bool maxProperties:21=int64 minProperties:22=int64 required:23* enum:24*=Any type:25"
        " allOf:26*=SchemaOrReference oneOf:27*=SchemaOrReference anyOf:28*=SchemaOrReference not:29=Schema"
        " items:30=ItemsItem properties:31=Properties additionalProperties:32=AdditionalPropertiesItem"
        " default:33=DefaultType description:34 format:35 x:36"
    ),
}

#: Messages that are ordered maps: the number of their only repeated field and the type of the values.
MAPS: Final[dict[str, tuple[int, str]]] = {
    "Paths": (1, "PathItem"),
    "Responses": (2, "ResponseOrReference"),
    "MediaTypes": (1, "MediaType"),
    "Properties": (1, "SchemaOrReference"),
    "SchemasOrReferences": (1, "SchemaOrReference"),
    "SecuritySchemesOrReferences": (1, "SecuritySchemeOrReference"),
}

#: Choices between a message (field 1) and a Reference (field 2).
_OR_REFERENCE: Final = "OrReference"


class _Encoder(MessageEncoder):
    def __init__(self) -> None:
        super().__init__(MESSAGES, MAPS)

    def _special(self, name: str) -> Encode | None:
        if name.endswith(_OR_REFERENCE):
            return self._or_reference(name.removesuffix(_OR_REFERENCE))
        if name == "ItemsItem":
            return self._list(self._field(1, f"Schema{_OR_REFERENCE}"))
        if name == "AdditionalPropertiesItem":
            return self._additional_properties(f"Schema{_OR_REFERENCE}")
        if name == "DefaultType":
            return _default
        return super()._special(name)

    def _or_reference(self, name: str) -> Encode:
        whole, reference = self._field(1, name), self._field(2, "Reference")
        return lambda value: reference(value) if "$ref" in value else whole(value)


def _default(value: Any) -> bytes:
    """A default that is a number, a boolean or a string; there is no field for others."""
    if isinstance(value, bool):
        return tag(2, 0) + (b"\x01" if value else b"\x00")
    if isinstance(value, int | float):
        return tag(1, 1) + struct.pack("<d", value)
    if isinstance(value, str):
        raw = text(value)
        return tag(3, 2) + varint(len(raw)) + raw
    return b""


def encode(document: Mapping[str, Any]) -> bytes:
    """A document of `v3.document` as bytes."""
    return _Encoder().message("Document")(document)
