"""The protobuf form of v3 documents, decoded field by field: numbers are those of gnostic's OpenAPIv3.proto."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.openapi import v3, v3_protobuf

#: message.field numbers of gnostic, written independently of the table under test.
DOCUMENT = {"openapi": 1, "info": 2, "paths": 4, "components": 5}
COMPONENTS = {"schemas": 1, "security_schemes": 7}


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a message: integers, doubles, bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            yield number, varint()
        elif wire == 1:
            yield number, struct.unpack("<d", data[at : at + 8])[0]
            at += 8
        else:
            length = varint()
            yield number, data[at : at + length]
            at += length


def members(data: bytes, number: int = 1) -> dict[str, bytes]:
    """The entries of a map message."""
    entries = [dict(fields(value)) for field, value in fields(data) if field == number]
    return {entry[1].decode(): entry.get(2, b"") for entry in entries}


@pytest.fixture(scope="module")
def both() -> tuple[Any, dict[int, Any]]:
    document = v3.document(builtin_catalog(KUBERNETES), "apps", "v1")
    assert document is not None
    return document, dict(fields(v3_protobuf.encode(document)))


def test_v3_document_in_protobuf(both: Any) -> None:
    """The document has version, title and all members of the JSON form."""
    document, read = both
    assert read[DOCUMENT["openapi"]] == b"3.0.0"
    assert dict(fields(read[DOCUMENT["info"]]))[1] == b"Kubernetes"
    assert list(members(read[DOCUMENT["paths"]])) == list(document["paths"])
    components = dict(fields(read[DOCUMENT["components"]]))
    assert components.keys() == set(COMPONENTS.values())
    assert list(members(components[COMPONENTS["schemas"]])) == list(document["components"]["schemas"])
    assert list(members(components[COMPONENTS["security_schemes"]])) == ["BearerToken"]


def test_v3_schemas_in_protobuf(both: Any) -> None:
    """Schemas have types, required members, properties and references, formats and extensions."""
    _, read = both
    components = dict(fields(read[DOCUMENT["components"]]))
    schema = dict(fields(members(components[1])["io.k8s.api.apps.v1.DeploymentSpec"]))[1]
    assert [value.decode() for number, value in fields(schema) if number == 23] == ["selector", "template"]
    properties = members(dict(fields(schema))[31])
    replicas = dict(fields(dict(fields(properties["replicas"]))[1]))
    assert replicas[25] == b"integer" and replicas[35] == b"int32" and replicas[34]
    template = dict(fields(dict(fields(properties["template"]))[1]))
    (reference,) = [dict(fields(value)) for number, value in fields(template[26])]
    assert reference == {1: b"#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"} and template[33] == b""
    whole = dict(fields(members(components[1])["io.k8s.api.apps.v1.Deployment"]))[1]
    extension = members(whole, 36)["x-kubernetes-group-version-kind"]
    assert yaml.safe_load(dict(fields(extension))[2]) == [{"group": "apps", "kind": "Deployment", "version": "v1"}]


def test_v3_operations_in_protobuf(both: Any) -> None:
    """Operations have bodies and responses by media type, and parameters with their schemas."""
    _, read = both
    item = members(read[DOCUMENT["paths"]])["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    patch = dict(fields(item))[10]
    parameters = [dict(fields(dict(fields(value))[1])) for number, value in fields(patch) if number == 6]
    assert {parameter[1] for parameter in parameters} >= {b"dryRun", b"fieldManager", b"force", b"fieldValidation"}
    assert all(parameter[2] == b"query" and parameter[10] for parameter in parameters)
    content = dict(fields(dict(fields(dict(fields(patch))[7]))[1]))
    assert "application/apply-patch+yaml" in members(content[2]) and content[3] == 1
    assert set(members(dict(fields(patch))[8], 2)) == {"200", "201", "401"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"default": 1}, {33: {1: 1.0}}),
        ({"default": True}, {33: {2: 1}}),
        ({"default": False}, {33: {2: 0}}),
        ({"default": "a"}, {33: {3: b"a"}}),
        ({"default": {}}, {33: {}}),
        ({"default": [1]}, {33: {}}),
        ({"additionalProperties": False}, {32: {2: 0}}),
        ({"additionalProperties": {"type": "string"}}, {32: {1: b"\x0a\x09\xca\x01\x06string"}}),
        ({"nullable": True, "maximum": 2.5, "minLength": 3}, {1: 1, 11: 2.5, 16: 3}),
        ({"not": {"type": "string"}}, {29: {25: b"string"}}),
        ({"minimum": 0, "nullable": False}, {}),
    ],
)
def test_v3_values_in_protobuf(schema: Any, expected: Any) -> None:
    """Defaults by type, booleans that are sent when false, and zero values that are omitted."""
    raw = v3_protobuf.encode({"components": {"schemas": {"a": schema}}})
    read = dict(fields(dict(fields(members(dict(fields(dict(fields(raw))[5]))[1])["a"]))[1]))
    assert {
        number: dict(fields(value)) if isinstance(expected.get(number), dict) else value
        for number, value in read.items()
    } == expected
