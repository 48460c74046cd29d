"""The protobuf form of the v2 document, decoded with the protobuf library by descriptors from the same table."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.openapi import gnostic
from orchd.kinds.openapi.v2 import document
from orchd.kinds.openapi.v2_protobuf import CHOICES, MAPS, MESSAGES, encode

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING,
    "bool": _FIELD.TYPE_BOOL,
    "int64": _FIELD.TYPE_INT64,
    "double": _FIELD.TYPE_DOUBLE,
}


def _snake(name: str) -> str:
    return "f_" + "".join(f"_{c.lower()}" if c.isupper() else c for c in name.replace("$", "_"))


def _messages() -> dict[str, list[tuple[str, int, str, bool]]]:
    """Every message as (field, number, type, repeated)."""
    out: dict[str, list[tuple[str, int, str, bool]]] = {
        "Any": [("yaml", 2, "string", False)],
        "NamedAny": [("name", 1, "string", False), ("value", 2, "Any", False)],
        "StringArray": [("value", 1, "string", True)],
        "TypeItem": [("value", 1, "string", True)],
        "ItemsItem": [("schema", 1, "Schema", True)],
    }
    for name, spec in MESSAGES.items():
        fields = []
        for word in spec.split():
            head, _, type_ = word.partition("=")
            member, _, number = head.partition(":")
            extension = member == "x"
            fields.append(
                (
                    member,
                    int(number.rstrip("*")),
                    "NamedAny" if extension else type_ or "string",
                    extension or number.endswith("*"),
                )
            )
        out[name] = fields
    for name, (place, type_) in MAPS.items():
        out[name] = [("entries", place, f"Named{type_}", True)]
        out[f"Named{type_}"] = [("name", 1, "string", False), ("value", 2, type_, False)]
    for name, choices in CHOICES.items():
        out[name] = [(f"is{type_}", number, type_, False) for type_, number in choices.items()]
    return out


@pytest.fixture(scope="module")
def decoded() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="openapi_test.proto", package="t", syntax="proto3")
    messages = _messages()
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        if name in CHOICES:
            message.oneof_decl.add(name="oneof")
        for field, number, type_, repeated in fields:
            added = message.field.add(name=_snake(field), json_name=field, number=number)
            added.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if type_ in _SCALARS:
                added.type = _SCALARS[type_]
            else:
                added.type, added.type_name = _FIELD.TYPE_MESSAGE, f".t.{type_}"
                assert type_ in messages, type_
            if name in CHOICES:
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Document"))


def _plain(message: Any) -> Any:
    """The JSON of a decoded message."""
    name = message.DESCRIPTOR.name
    if name == "Any":
        return yaml.safe_load(message.f_yaml)
    if name in MAPS:
        return {entry.f_name: _plain(entry.f_value) for entry in message.f_entries}
    if name in ("StringArray", "TypeItem"):
        return list(message.f_value)
    if name == "ItemsItem":
        return [_plain(item) for item in message.f_schema]
    if name in CHOICES:
        chosen = message.WhichOneof("oneof")
        value = getattr(message, chosen)
        return value if isinstance(value, bool) else _plain(value)
    out: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.json_name == "x":
            out.update((entry.f_name, _plain(entry.f_value)) for entry in value)
        elif hasattr(value, "extend"):
            out[field.json_name] = [_plain(item) if hasattr(item, "DESCRIPTOR") else item for item in value]
        else:
            out[field.json_name] = _plain(value) if hasattr(value, "DESCRIPTOR") else value
    return out


def _normal(value: Any) -> Any:
    """Normalize what protobuf does not represent: empty and false members, and lists of one type."""
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            if key == "type" and isinstance(item, str) and "in" not in value:
                item = [item]
            if key == "items" and isinstance(item, dict) and "properties" not in value and value.get("type") == "array":
                item = [item]
            out[key] = _normal(item)
        return out
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return value


def test_v2_document_round_trips_in_protobuf(decoded: Any) -> None:
    """The whole document is unchanged after encoding to protobuf and back."""
    whole = document(builtin_catalog(ORCH))
    got = _plain(decoded.FromString(encode(whole)))
    for key in ("swagger", "info", "security"):
        assert got[key] == whole[key]
    # A security scheme's type is a plain string, as a parameter's is.
    assert got["securityDefinitions"] == whole["securityDefinitions"]
    assert list(got["paths"]) == list(whole["paths"])
    want = json.loads(json.dumps(whole["definitions"]))
    for name, schema in got["definitions"].items():
        assert schema == _normal(want[name]), name
    item = got["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    original = whole["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert item["parameters"] == original["parameters"]
    assert item["patch"] == original["patch"]


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        ({"$ref": "#/x"}, b"\x0a\x03#/x"),
        ({"format": "int32", "type": "integer"}, b"\x12\x05int32\xb2\x01\x09\x0a\x07integer"),
        ({"description": "d"}, b"\x22\x01d"),
        ({"required": ["a", "b"]}, b"\x9a\x01\x01a\x9a\x01\x01b"),
        ({"additionalProperties": {"$ref": "r"}}, b"\xaa\x01\x05\x0a\x03\x0a\x01r"),
        ({"additionalProperties": False}, b"\xaa\x01\x02\x10\x00"),
        ({"items": {"$ref": "r"}}, b"\xba\x01\x05\x0a\x03\x0a\x01r"),
        ({"properties": {"p": {"$ref": "r"}}}, b"\xca\x01\x0a\x0a\x08\x0a\x01p\x12\x03\x0a\x01r"),
        ({"default": 1}, b"\x2a\x04\x12\x021\n"),
        ({"minimum": 1.0}, b"\x49\x00\x00\x00\x00\x00\x00\xf0\x3f"),
        ({"maxLength": 300}, b"\x58\xac\x02"),
        ({"x-a": "b"}, b'\xfa\x01\x0d\x0a\x03x-a\x12\x06\x12\x04"b"\n'),
        ({"unknown": 1}, b""),
    ],
)
def test_schema_field_numbers(schema: Any, raw: bytes) -> None:
    """Field numbers of a Schema are those of the published message, written here by hand."""
    definition = encode({"definitions": {"D": schema}})
    assert definition.endswith(raw)
    named = b"\x0a\x01D\x12" + bytes((len(raw),)) + raw
    assert definition == b"\x4a" + bytes((len(named) + 2,)) + b"\x0a" + bytes((len(named),)) + named


def test_operation_field_numbers() -> None:
    """Field numbers of operations, parameters and responses, written here by hand."""
    item = {
        "get": {
            "tags": ["t"],
            "description": "d",
            "operationId": "i",
            "produces": ["p"],
            "consumes": ["c"],
            "parameters": [{"name": "q", "in": "query", "type": "string", "uniqueItems": True}],
            "responses": {"200": {"description": "OK"}},
            "schemes": ["https"],
        },
        "parameters": [{"name": "n", "in": "path", "required": True, "type": "string", "uniqueItems": True}],
    }
    query = b"\x12\x05query\x22\x01q\x32\x06string\xa0\x01\x01"
    path = b"\x08\x01\x12\x04path\x22\x01n\x2a\x06string\x98\x01\x01"

    def within(tag: bytes, raw: bytes) -> bytes:
        return tag + bytes((len(raw),)) + raw

    def parameter(tag: bytes, choice: bytes, raw: bytes) -> bytes:
        return within(tag, within(b"\x0a", within(b"\x12", within(choice, raw))))

    response = within(b"\x4a", within(b"\x0a", b"\x0a\x03200" + within(b"\x12", within(b"\x0a", b"\x0a\x02OK"))))
    operation = (
        b"\x0a\x01t\x1a\x01d\x2a\x01i\x32\x01p\x3a\x01c"
        + parameter(b"\x42", b"\x1a", query)
        + response
        + b"\x52\x05https"
    )
    contents = within(b"\x12", operation) + parameter(b"\x4a", b"\x22", path)
    assert encode({"paths": {"/": item}}) == within(b"\x42", within(b"\x12", b"\x0a\x01/" + within(b"\x12", contents)))


def test_yaml_text_is_what_parsers_take() -> None:
    """Characters that YAML does not allow are escaped in free-form values."""
    value = "a\x7f\x85\u2028\ufeff\U0001f600é"
    assert yaml.safe_load(gnostic.yaml_value(value)[2:].decode()) == value
