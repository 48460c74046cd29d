"""Protobuf encoding and decoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchd.dialect import KUBERNETES, ORCH, PROTOBUF_MAGIC
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.kinds.codec import protobuf
from orchd.kinds.codec.partial import partial_message
from orchd.kinds.ir import Type
from orchd.kinds.release import RELEASES
from tests.kinds.codec.protobuf_samples import Sample

CATALOG: Catalog = builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))
NAMES = sorted({r.type.name for r in CATALOG.resources})
META = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "DeleteOptions",
    "ListMeta",
    "Status",
    "WatchEvent",
]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_protobuf_round_trip_of_every_kind(seed: int) -> None:
    """An encoded object of any kind is decoded to the same object."""
    for name in (*NAMES, *(f"meta/v1.{m}" for m in META)):
        type_ = CATALOG.type(name)
        obj = Sample(seed).struct(type_)
        assert protobuf.decode_message(protobuf.encode_message(obj, type_), type_) == obj, name


def test_bytes_match_the_references_encoding() -> None:
    """The bytes equal those of the reference's generated code: zeros of plain fields are written, nil pointers omitted,
    maps sorted."""
    type_ = CATALOG.type("core/v1.ConfigMap")
    obj = {"metadata": {"name": "x"}, "data": {"b": "2", "a": ""}, "immutable": False}
    metadata = b"\x0a\x01x\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x7a\x00"
    # clusterName, field 15, was a plain string in this release.
    expected = (
        b"\x0a"
        + bytes([len(metadata)])
        + metadata
        + b"\x12\x05\x0a\x01a\x12\x00"
        + b"\x12\x06\x0a\x01b\x12\x012"
        + b"\x20\x00"
    )
    assert protobuf.encode_message(obj, type_) == expected
    assert protobuf.encode({**obj, "apiVersion": "v1", "kind": "ConfigMap"}, type_) == (
        PROTOBUF_MAGIC
        + b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12"
        + bytes([len(expected)])
        + expected
        + b"\x1a\x00\x22\x00"
    )


def test_inlined_structs_int_or_string_and_times() -> None:
    """Inlined structs are messages of their own; int-or-string has all three members; times have seconds and nanos."""
    volume = CATALOG.type("core/v1.Volume")
    assert protobuf.encode_message({"name": "v"}, volume) == b"\x0a\x01v\x12\x00"
    assert protobuf.encode_message({"name": "v", "emptyDir": {}}, volume) == b"\x0a\x01v\x12\x04\x12\x02\x0a\x00"
    action = CATALOG.type("core/v1.TCPSocketAction")
    assert protobuf.encode_message({"port": 80}, action) == b"\x0a\x06\x08\x00\x10\x50\x1a\x00\x12\x00"
    assert protobuf.encode_message({"port": "a"}, action) == b"\x0a\x07\x08\x01\x10\x00\x1a\x01a\x12\x00"
    entry = CATALOG.type("meta/v1.ManagedFieldsEntry")
    assert b"\x22\x08\x08\x80\xc2\xaf\xf0\x05\x10\x00" in protobuf.encode_message(
        {"time": "2020-01-01T00:00:00Z"}, entry
    )


def test_lists_and_frames_are_joined_from_messages() -> None:
    """Lists and events are assembled from messages that are already encoded."""
    type_, list_meta = CATALOG.type("core/v1.ConfigMap"), CATALOG.type("meta/v1.ListMeta")
    item = protobuf.encode_message({"metadata": {"name": "a"}}, type_)
    body = protobuf.encode_list(
        "v1", "ConfigMapList", {"resourceVersion": "5", "remainingItemCount": 2}, [item, item], list_meta
    )
    envelope = protobuf.open_envelope(body)
    assert envelope.kind == "ConfigMapList" and envelope.raw.count(item) == 2
    full = protobuf.envelope("v1", "ConfigMap", item)
    frame = protobuf.watch_frame("ADDED", full)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:11] == b"\x0a\x05ADDED" and frame.endswith(full)
    stored = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}'
    partial = CATALOG.type("meta/v1.PartialObjectMetadata")
    assert protobuf.decode_message(partial_message(stored, partial), partial) == {"metadata": {"name": "a"}}


def test_kinds_without_a_protobuf_form() -> None:
    """A Table has no protobuf form; every served built-in kind has one."""
    assert not protobuf.has_form(CATALOG.type("meta/v1.Table"))
    assert all(protobuf.has_form(r.type) for r in CATALOG.resources)
    assert isinstance(protobuf.no_form(), ApiError) and protobuf.no_form().code == 406


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x0a\x05", "unexpected EOF"),
        (b"\x0a", "unexpected EOF"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field Metadata"),
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\x00\x00", "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (b"\xff" * 11, "proto: integer overflow"),
        (b"\x7e\x00", "proto: illegal wireType 6"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: negative length found during unmarshaling"),
    ],
)
def test_malformed_message_errors(data: bytes, message: str) -> None:
    """Malformed messages are rejected with the reference's messages."""
    with pytest.raises(protobuf.ProtobufError) as caught:
        protobuf.decode_message(data, CATALOG.type("core/v1.ConfigMap"))
    assert str(caught.value) == message


def test_unknown_fields_are_skipped() -> None:
    """Fields of later releases are skipped, groups included."""
    data = b"\xf8\x07\x01\xf9\x07" + bytes(8) + b"\xfa\x07\x02ab\xfd\x07" + bytes(4) + b"\xfb\x07\x08\x01\xfc\x07"
    assert protobuf.decode_message(data, CATALOG.type("core/v1.ConfigMap")) == {}


def test_deep_nesting_is_an_error() -> None:
    """Too deep nesting is an error, not a stack overflow."""
    data = b"\x0a\x00"
    for _ in range(3000):
        data = b"\xe2\x01" + protobuf.encode_message({"a": 1}, Type("struct", members=())) + _length(data) + data
    with pytest.raises(protobuf.ProtobufError):
        protobuf.decode_message(data, CATALOG.type("apiextensions/v1.JSONSchemaProps"))


def _length(data: bytes) -> bytes:
    out, size = bytearray(), len(data)
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size])


@given(
    st.sampled_from(["core/v1.Pod", "apiextensions/v1.CustomResourceDefinition", "meta/v1.Status"]),
    st.binary(max_size=80),
    st.integers(0, 2**32),
    st.integers(0, 200),
)
def test_any_bytes_are_an_object_or_a_protobuf_error(name: str, noise: bytes, seed: int, at: int) -> None:
    """Any bytes, also damaged messages, decode to an object or raise ProtobufError."""
    type_ = CATALOG.type(name)
    good = protobuf.encode_message(Sample(seed).struct(type_, 3), type_)
    for data in (noise, good[:at] + noise + good[at:], good[:at]):
        try:
            assert isinstance(protobuf.decode_message(data, type_), dict)
        except protobuf.ProtobufError as error:
            assert str(error)


def test_recorded_objects(reference: Callable[[str], Any]) -> None:
    """Every object that the reference stored is encoded and decoded without a change, except for empty members."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {k: clean(v) for k, v in value.items()}
            return {k: v for k, v in kept.items() if v not in (None, "", {}, [], 0, False)}
        return [clean(v) for v in value] if isinstance(value, list) else value

    for case in reference("defaults")["objects"]:
        obj = case["stored"]
        resource = CATALOG.kind(obj["apiVersion"], obj["kind"])
        if resource is None or obj["kind"] == "StatefulSet":
            continue  # Volume claim templates have no apiVersion and kind in protobuf.
        plain = _plain(obj)
        decoded = protobuf.decode_message(
            protobuf.open_envelope(protobuf.encode(plain, resource.type)).raw, resource.type
        )
        assert clean({"apiVersion": plain["apiVersion"], "kind": plain["kind"], **decoded}) == clean(plain), case["id"]


def _plain(value: Any) -> Any:
    """The object without the placeholders that the recorded facts have for times, keys and the like."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if not (isinstance(v, str) and "<" in v)}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def test_field_names_follow_the_dialect() -> None:
    """Field names that carry the product word follow the dialect; the bytes are the same."""
    other = builtin_catalog(KUBERNETES)
    for template in ("x-{long}-int-or-string",):
        a = protobuf.encode_message({ORCH(template): True}, CATALOG.type("apiextensions/v1.JSONSchemaProps"))
        b = protobuf.encode_message({KUBERNETES(template): True}, other.type("apiextensions/v1.JSONSchemaProps"))
        assert a == b


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_equal_parts_of_messages_are_the_same_objects(seed: int) -> None:
    """With repeats, messages are decoded to the same values as without, and their equal parts are shared."""
    repeats = protobuf.Repeats()
    for name in ("core/v1.Pod", "apps/v1.Deployment", "apiextensions/v1.CustomResourceDefinition"):
        type_ = CATALOG.type(name)
        message = protobuf.encode_message(Sample(seed).struct(type_), type_)
        decoded = [protobuf.decode_message(message, type_, each) for each in (None, repeats, repeats)]
        assert decoded[0] == decoded[1] == decoded[2]
    pod = CATALOG.type("core/v1.Pod")
    first, second, alone = (
        protobuf.decode_message(
            protobuf.encode_message({"metadata": {"name": name}, "spec": {"containers": [{"name": "main"}]}}, pod),
            pod,
            each,
        )
        for name, each in (("a", repeats), ("b", repeats), ("c", None))
    )
    assert first["spec"]["containers"][0] is second["spec"]["containers"][0]
    assert alone["spec"]["containers"][0] is not first["spec"]["containers"][0]


def test_shared_parts_are_bounded() -> None:
    """Repeats forget what they hold when it is too much."""
    repeats = protobuf.Repeats()
    type_ = CATALOG.type("core/v1.Pod")
    for number in range(3000):
        spec = {"containers": [{"name": f"container-{number}"}]}
        protobuf.decode_message(protobuf.encode_message({"spec": spec}, type_), type_, repeats)
    assert 0 < len(repeats.current()) <= 4096


def test_absent_times_of_templates_are_encoded_in_every_release() -> None:
    """creationTimestamp of a pod template is encoded as an empty message, also where its JSON omits it."""
    later = builtin_catalog(ORCH, RELEASES["1.35"])
    for catalog in (CATALOG, later):
        template = catalog.type("core/v1.PodTemplate").fields["template"].type
        message = protobuf.encode_message({"metadata": {"labels": {"a": "b"}}}, template)
        assert b"\x42\x00" in message
