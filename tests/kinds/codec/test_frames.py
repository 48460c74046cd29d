"""Lists and watch events are assembled from stored bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.kinds.codec import frames, json_, partial

POD = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"<"}},"spec":{}}'


def test_json_watch_frame() -> None:
    """A watch event is one line of JSON around the object's bytes."""
    assert frames.watch_frame("ADDED", POD) == b'{"type":"ADDED","object":' + POD + b"}\n"
    with pytest.raises(KeyError):
        frames.watch_frame("OTHER", POD)


def test_list_bytes_are_joined_from_items() -> None:
    """A list is the bytes of its items between a head and a tail."""
    data = b"".join(frames.list_pieces("v1", "PodList", {"resourceVersion": "3"}, [POD, POD]))
    assert data.endswith(b"\n")
    assert json.loads(data) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "3"},
        "items": [json.loads(POD)] * 2,
    }
    assert b"".join(frames.list_pieces("v1", "PodList", {}, [])).endswith(b'"items":[]}\n')


_META = {"name": "a", "uid": "1", "labels": {"x": 'y,"managedFields":[{'}, "ownerReferences": [{"uid": "2"}]}
_MANAGED = [{"manager": "m", "fieldsV1": {"f:spec": {}}}]


@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "Pod", "metadata": {**_META, "managedFields": _MANAGED}, "spec": {"volumes": [{"name": "v"}]}},
        {"kind": "Pod", "metadata": _META, "spec": {"metadata": {"managedFields": [{}]}, "x": [1]}},
        {"kind": "Pod", "metadata": _META, "spec": {"managedFields": [{}], "x": 1}},
        {"kind": "Pod", "metadata": _META, "managedFields": [{}]},
        {"data": {"x": 1}, "metadata": {"labels": {}, "managedFields": _MANAGED, **_META}, "spec": {}},
        {"data": {"x": {"managedFields": [{"uid": "x"}]}}, "metadata": {**_META, "managedFields": _MANAGED}},
        {"data": [{"y": 1, "managedFields": [{"uid": "x"}]}], "metadata": _META},
        {"metadata": {"name": "a", "labels": {"x": "{"}}, "kind": "A", "spec": {"metadata": {"uid": "x"}}},
        {"kind": "A", "spec": {"metadata": {"uid": "x"}}, "metadata": {"uid": "1", "name": "a"}},
        {"data": 1, "metadata": {"labels": {}, "managedFields": _MANAGED, "uid": "1"}, "spec": {"uid": "2"}},
        {"data": {"uid": "x"}, "kind": "A", "metadata": {"ownerReferences": [{"uid": "2"}], "uid": "1"}},
        {"metadata": {"annotations": {"a": '"uid":"x"},"'}, "uid": 'a"},"'}, "spec": {"a": {"uid": "x"}, "b": {}}},
    ],
)
def test_metadata_are_decoded_from_a_frame(obj: Any) -> None:
    """The metadata of a frame's object are complete but for managedFields, wherever members of that name are."""
    event = frames.decode_metadata(frames.watch_frame("MODIFIED", json_.encode(obj)))
    assert event["type"] == "MODIFIED"
    assert event["object"]["metadata"] == {k: v for k, v in obj["metadata"].items() if k != "managedFields"}


def test_what_follows_the_metadata_is_not_decoded() -> None:
    """Objects are decoded up to managedFields at the end of their metadata, or to the end of sorted metadata."""
    head = json_.encode({"kind": "Pod", "metadata": {"uid": "1", "managedFields": []}})
    event = frames.decode_metadata(frames.watch_frame("ADDED", head[:-2] + b'},"spec":no JSON}'))
    assert event == {"type": "ADDED", "object": {"metadata": {"uid": "1"}}}
    head = json_.encode(
        {"kind": "Custom", "metadata": {"managedFields": [], "ownerReferences": [{"uid": "2"}], "uid": "1"}}
    )
    metadata = frames.decode_object_metadata(head[:-1] + b',"spec":no JSON}')["metadata"]
    assert metadata == {"ownerReferences": [{"uid": "2"}], "uid": "1"}
    plain = {"uid": "1", "labels": {"a": '}"{\\'}, "ownerReferences": [{"uid": "2"}], "finalizers": []}
    for about in ({"kind": "Pod", "apiVersion": "v1"}, {"apiVersion": "e.com/v1", "kind": "A"}, {}):
        head = json_.encode({**about, "metadata": plain})
        assert frames.decode_object_metadata(head[:-1] + b',"spec":no JSON}')["metadata"] == plain


def test_long_metadata_are_decoded_with_their_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of metadata that are most of a large object is not looked for: that would take as long as decoding it."""
    obj = json_.encode({"metadata": {"uid": "1", "labels": {f"label-{n}": "{" for n in range(40_000)}}, "spec": {}})
    decoded: list[bytes] = []

    def loads(text: bytes) -> Any:
        decoded.append(text)
        return json.loads(text)

    monkeypatch.setattr("orchd.kinds.codec.frames.orjson.loads", loads)
    assert len(frames.decode_object_metadata(obj)["metadata"]["labels"]) == 40_000
    assert decoded == [obj]


def test_error_frames_are_decoded_whole() -> None:
    """The Status of an ERROR event is complete."""
    status = {"kind": "Status", "metadata": {}, "message": "m", "code": 410}
    assert frames.decode_metadata(frames.watch_frame("ERROR", json_.encode(status)))["object"] == status


def test_partial_metadata_keeps_only_metadata() -> None:
    """Partial metadata has the metadata only; its empty list has null items."""
    data = partial.partial_json(POD, "m/v1")
    assert json.loads(data) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "m/v1",
        "metadata": {"name": "a", "labels": {"x": "<"}},
    }
    whole = json.loads(b"".join(partial.partial_list("m/v1", {"resourceVersion": "1"}, [data])))
    assert whole["kind"] == "PartialObjectMetadataList" and len(whole["items"]) == 1
    assert json.loads(b"".join(partial.partial_list("m/v1", {}, [])))["items"] is None


@pytest.mark.parametrize("together", [1, 2, 3, 10])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("skip", [0, len(b'{"kind":"Pod","apiVersion":"v1",')])
def test_large_list_parts_join_to_the_whole(count: int, skip: int, together: int) -> None:
    """The parts join to the same list, of the announced length, for any number of items per part; the items of a part
    are released."""
    head = b'{"items":[' + (b"{" if skip else b"")
    whole = b"".join(frames.list_parts(head, [POD] * count, skip, together))
    items = json.loads(whole)["items"]
    assert items == [{k: v for k, v in json.loads(POD).items() if not skip or k not in ("kind", "apiVersion")}] * count
    assert len(whole) == frames.list_size(head, [POD] * count, skip)
