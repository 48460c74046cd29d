"""The protobuf library, configured with the recorded field numbers and types, decodes what the codec encodes and vice
versa."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from google.protobuf.message import Message

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import protobuf
from orchd.kinds.ir import Type
from tests.kinds.codec.protobuf_samples import Sample

CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING, "bytes": _FIELD.TYPE_BYTES, "bool": _FIELD.TYPE_BOOL, "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64, "uint32": _FIELD.TYPE_UINT32, "uint64": _FIELD.TYPE_UINT64, "double": _FIELD.TYPE_DOUBLE,
}  # fmt: skip


def spell(name: str) -> str:
    """A recorded name in a form that protobuf allows."""
    return "".join(c if c.isalnum() else "_" for c in name)


def add_field(message: Any, name: str, number: int, type_: str) -> None:
    if type_.startswith("map<"):
        key, value = type_[4:-1].split(",", 1)
        assert key == "string"
        entry = message.nested_type.add(name=f"{spell(name).capitalize()}{number}Entry")
        entry.options.map_entry = True
        add_field(entry, "key", 1, "string")
        add_field(entry, "value", 2, value.strip())
        field = message.field.add(name=spell(name), number=number, label=_FIELD.LABEL_REPEATED)
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".f.{message.name}.{entry.name}"
        return
    repeated = type_.startswith("repeated ")
    type_ = type_.removeprefix("repeated ")
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    field = message.field.add(name=spell(name), number=number, label=label)
    if type_ in _SCALARS:
        field.type = _SCALARS[type_]
    else:
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".f.{spell(type_)}"


@pytest.fixture(scope="module")
def messages(reference: Callable[[str], Any]) -> Callable[[str], type[Message]]:
    """The library's class for a type of the facts."""
    facts = reference("types")
    file = descriptor_pb2.FileDescriptorProto(name="facts.proto", package="f", syntax="proto2")
    special = {entry["id"]: entry["proto"] for entry in facts["special"]}
    for name, fields in special.items():
        message = file.message_type.add(name=spell(name))
        for field in fields:
            add_field(message, *field)
    for type_ in facts["types"]:
        if type_["id"] in special:
            continue
        message = file.message_type.add(name=spell(type_["id"]))
        for field in type_["fields"]:
            if field.get("p"):
                add_field(message, field.get("n") or field["pn"], field["p"], field["pt"])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"f.{spell(name)}"))


#: Fields of later releases, which the recorded messages do not have.
LATER = {
    "apiextensions/v1.CustomResourceDefinitionVersion": ("selectableFields",),
    "apiextensions/v1.ValidationRule": ("messageExpression", "reason", "fieldPath", "optionalOldSelf"),
}


def check(value: Any, found: Any, type_: Type) -> None:
    """The library found in each field the JSON field's value, and no unknown fields."""
    unknown = unknown_fields.UnknownFieldSet(found)
    numbers = {unknown[i].field_number for i in range(len(unknown))}
    assert numbers <= {type_.fields[name].number for name in LATER.get(type_.name, ())}, type_.name
    for member in type_.members:
        if not member.number:
            continue
        if member.inline:
            # The message below has only the member's own fields.
            inner = next(f for f in found.DESCRIPTOR.fields if f.number == member.number)
            check({k: v for k, v in value.items() if k in member.type.fields}, getattr(found, inner.name), member.type)
        elif member.name in value and member.name not in LATER.get(type_.name, ()):
            check_value(value[member.name], getattr(found, spell(member.name)), member.type)


def check_value(value: Any, found: Any, type_: Type) -> None:
    if "JSONSchemaPropsOr" in type_.name:
        return
    if type_.kind == "struct":
        check(value, found, type_)
    elif type_.kind == "list":
        items = getattr(found, "items") if isinstance(found, Message) else found  # noqa: B009  # a field of the message
        assert len(value) == len(items)
        for one, other in zip(value, items, strict=True):
            check_value(one, other, type_.element)
    elif type_.kind == "map":
        assert isinstance(found, Mapping) and set(value) == set(found)
        for key in value:
            check_value(value[key], found[key], type_.element)
    elif type_.kind in ("string", "bool", "int32", "int64", "uint32", "uint64", "number"):
        assert found == value
    elif type_.kind == "quantity":
        assert found.string == value
    elif type_.kind == "int-or-string":
        assert (found.strVal if found.type else found.intVal) == value
    elif type_.kind in ("raw", "any", "fieldsv1"):
        assert orjson.loads(found.Raw if type_.kind == "fieldsv1" else found.raw) == value


#: Versions that the reference no longer serves are not among the recorded types.
REMOVED = ("admissionregistration/v1beta1.", "apiextensions/v1beta1.")
NAMES = sorted({r.type.name for r in CATALOG.resources if not r.type.name.startswith(REMOVED)})


@pytest.mark.parametrize("name", NAMES)
def test_field_numbers_and_types_are_the_recorded_ones(name: str, messages: Callable[[str], type[Message]]) -> None:
    """Every field of every kind has the recorded number and type when encoding and decoding."""
    type_ = CATALOG.type(name)
    for seed in range(12):
        value = Sample(seed).struct(type_)
        data = protobuf.encode_message(value, type_)
        message = messages(name)()
        message.ParseFromString(data)
        check(value, message, type_)
        # The library neither omits nor adds fields; maps may have another order.
        assert protobuf.decode_message(message.SerializeToString(), type_) == protobuf.decode_message(data, type_)
