"""Sequences of applies and updates, and the resulting object and field owners.

The expected results are those of the reference's own library for the same kind and steps.
"""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.ir import Type
from orchd.kinds.patch.apply import on_apply
from orchd.kinds.patch.ownership import OwnershipTarget, on_write
from tests.kinds.patch.conftest import struct

_TEXT = Type("string")
_WHOLE = Type("list", element=_TEXT)
_SET = Type("list", element=_TEXT, list_type="set")
_ITEM = struct(k=_TEXT, p=(Type("int64"), 1), v=_TEXT, w=_TEXT, sub=_SET)
_SPEC = struct(
    text=_TEXT,
    num=Type("int64"),
    boo=Type("bool"),
    plain=_WHOLE,
    set=_SET,
    mapl=Type("list", element=_ITEM, list_type="map", list_keys=("k", "p")),
    gran=Type("map", element=_TEXT),
    atom=Type("map", element=_TEXT, atomic=True),
    obj=struct(a=_TEXT, b=_TEXT, deep=struct(x=_TEXT, z=_TEXT, l=_SET)),
    aobj=struct(a=_TEXT, b=_TEXT).with_semantics(atomic=True),
    free=Type("struct", members=(), preserve_unknown=True),
    mobj=Type("map", element=struct(a=_TEXT, b=_TEXT)),
)
_META = struct(name=_TEXT, uid=_TEXT, managedFields=Type("list", element=Type("any")))
TARGET = OwnershipTarget(
    dialect=KUBERNETES,
    type=struct(apiVersion=_TEXT, kind=_TEXT, metadata=_META, spec=_SPEC),
    kind="Foo",
    api_version="x.io/v1",
)

#: A fact; the steps, each of a manager (``*``: an update, ``!``: an apply with force) with a spec; the resulting spec
#: or the error of the last step; and the owned fields below spec, by manager.
SEQUENCES: list[tuple[str, list[tuple[str, Any]], Any, Any]] = [
    (
        "One who leaves out what he applied removes it, with what is in it.",
        [("m1", {"mapl": [{"k": "a", "v": "1"}], "gran": {"x": "1"}}), ("m1", {"gran": {"y": "1"}})],
        {"gran": {"y": "1"}},
        {"m1": {"f:gran": {"f:y": {}}}},
    ),
    (
        "An item that two applied stays as long as one does.",
        [("m1", {"mapl": [{"k": "a"}, {"k": "b"}]}), ("m2", {"mapl": [{"k": "b"}]}), ("m1", {"mapl": [{"k": "a"}]})],
        {"mapl": [{"k": "a"}, {"k": "b"}]},
        {
            "m1": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}}}},
            "m2": {"f:mapl": {'k:{"k":"b","p":1}': {".": {}, "f:k": {}}}},
        },
    ),
    (
        "An item that its applier gives up goes, with what an updater has put into it.",
        [
            ("m1", {"mapl": [{"k": "a", "v": "1"}], "text": "t"}),
            ("u*", {"mapl": [{"k": "a", "v": "1", "w": "2"}], "text": "t"}),
            ("m1", {"text": "t"}),
        ],
        {"mapl": None, "text": "t"},
        {"m1": {"f:text": {}}},
    ),
    (
        "A field in an item that another applier owns keeps the item, without what the first applied.",
        [
            ("m1", {"mapl": [{"k": "a", "v": "1"}], "text": "t"}),
            ("m2", {"mapl": [{"k": "a", "w": "2"}]}),
            ("m1", {"text": "t"}),
        ],
        {"mapl": [{"k": "a", "w": "2"}], "text": "t"},
        {"m1": {"f:text": {}}, "m2": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:w": {}}}}},
    ),
    (
        "Shared scalars stay when one owner leaves; the last takes them along.",
        [("m1", {"text": "t", "num": 1}), ("m2", {"text": "t"}), ("m1", {"num": 1}), ("m2", {"boo": True})],
        {"num": 1, "boo": True},
        {"m1": {"f:num": {}}, "m2": {"f:boo": {}}},
    ),
    (
        "What an updater changed is his: the applier who leaves it out leaves it there.",
        [("m1", {"text": "t", "num": 1}), ("u*", {"text": "changed", "num": 1}), ("m1", {"num": 1})],
        {"text": "changed", "num": 1},
        {"m1": {"f:num": {}}, "u*": {"f:text": {}}},
    ),
    (
        "Items without the defaulted key are those with its default.",
        [("m1", {"mapl": [{"k": "a", "v": "1"}]}), ("m2", {"mapl": [{"k": "a", "p": 1, "w": "2"}]})],
        {"mapl": [{"k": "a", "v": "1", "p": 1, "w": "2"}]},
        {
            "m1": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:v": {}}}},
            "m2": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:p": {}, "f:w": {}}}},
        },
    ),
    (
        "Both spellings of a key in one list are one item twice.",
        [("m1", {"mapl": [{"k": "a", "v": "1"}, {"k": "a", "p": 1}]})],
        (
            'failed to create typed patch object (/n; x.io/v1, Kind=Foo): .spec.mapl: duplicate entries for key [k="a",p=1]'
        ),
        None,
    ),
    (
        "A key without a default must be there.",
        [("m1", {"mapl": [{"p": 1}]})],
        (
            'failed to create typed patch object (/n; x.io/v1, Kind=Foo): .spec.mapl: element 0: associative list with keys has an element that omits key field "k" (and doesn\'t have default value)'
        ),
        None,
    ),
    (
        "Another value of an item's field is a conflict about that field.",
        [("m1", {"mapl": [{"k": "a", "v": "1", "w": "1"}]}), ("m2", {"mapl": [{"k": "a", "v": "2"}]})],
        'Apply failed with 1 conflict: conflict with "m1": .spec.mapl[k="a",p=1].v',
        None,
    ),
    (
        "Items of sets are owned each; sharing is no conflict.",
        [("m1", {"set": ["a", "b"]}), ("m2", {"set": ["b", "c"]}), ("m1", {"set": ["a"]}), ("m2", {"set": ["c"]})],
        {"set": ["a", "c"]},
        {"m1": {"f:set": {'v:"a"': {}}}, "m2": {"f:set": {'v:"c"': {}}}},
    ),
    (
        "New items of a set come in the order of who applies them.",
        [("m1", {"set": ["a", "b"]}), ("m2", {"set": ["c", "a", "d"]})],
        {"set": ["c", "a", "b", "d"]},
        {"m1": {"f:set": {'v:"a"': {}, 'v:"b"': {}}}, "m2": {"f:set": {'v:"a"': {}, 'v:"c"': {}, 'v:"d"': {}}}},
    ),
    (
        "Lists of set items inside items of a map are owned by item.",
        [
            ("m1", {"mapl": [{"k": "a", "sub": ["x", "y"]}]}),
            ("m2", {"mapl": [{"k": "a", "sub": ["z"]}]}),
            ("m1", {"mapl": [{"k": "a", "sub": ["x"]}]}),
        ],
        {"mapl": [{"k": "a", "sub": ["x", "z"]}]},
        {
            "m1": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:sub": {'v:"x"': {}}}}},
            "m2": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:sub": {'v:"z"': {}}}}},
        },
    ),
    (
        "A list as one is replaced as one, and needs force.",
        [("m1", {"plain": ["a"]}), ("m2", {"plain": ["a", "b"]})],
        'Apply failed with 1 conflict: conflict with "m1": .spec.plain',
        None,
    ),
    (
        "With force the list as one changes hands.",
        [("m1", {"plain": ["a"], "text": "t"}), ("m2!", {"plain": ["a", "b"]}), ("m1", {"text": "t"})],
        {"plain": ["a", "b"], "text": "t"},
        {"m1": {"f:text": {}}, "m2": {"f:plain": {}}},
    ),
    (
        "Maps and structs as one are owned as one, and taken whole.",
        [("m1", {"atom": {"a": "1"}, "aobj": {"a": "1", "b": "1"}}), ("m2!", {"atom": {"b": "1"}, "aobj": {"a": "2"}})],
        {"atom": {"b": "1"}, "aobj": {"a": "2"}},
        {"m2": {"f:aobj": {}, "f:atom": {}}},
    ),
    (
        "In values of unknown schema objects are owned by member, lists as one.",
        [
            ("m1", {"free": {"o": {"a": 1, "b": 2}, "l": [1, 2]}}),
            ("m2", {"free": {"o": {"c": 3}}}),
            ("m1", {"free": {"o": {"a": 1}}}),
        ],
        {"free": {"o": {"a": 1, "c": 3}}},
        {"m1": {"f:free": {"f:o": {".": {}, "f:a": {}}}}, "m2": {"f:free": {"f:o": {".": {}, "f:c": {}}}}},
    ),
    (
        "An object in the place of something else takes the place from its owner.",
        [("m1", {"free": {"x": 1}}), ("m2!", {"free": {"x": {"y": 1}}})],
        {"free": {"x": {"y": 1}}},
        {"m2": {"f:free": {"f:x": {".": {}, "f:y": {}}}}},
    ),
    (
        "Structs that an update omitted are removed and have no owner.",
        [("m1", {"obj": {"a": "1", "deep": {"x": "1"}}}), ("u*", {"obj": {"b": "1"}})],
        {"obj": {"b": "1"}},
        {"u*": {"f:obj": {"f:b": {}}}},
    ),
    (
        "A struct emptied by its owner goes; the part of an updater stays.",
        [
            ("m1", {"obj": {"a": "1", "deep": {"x": "1"}}}),
            ("u*", {"obj": {"a": "1", "b": "2", "deep": {"x": "1"}}}),
            ("m1", {"text": "t"}),
        ],
        {"obj": {"b": "2"}, "text": "t"},
        {"m1": {"f:text": {}}, "u*": {"f:obj": {"f:b": {}}}},
    ),
    (
        "Maps of structs are owned by key and by field.",
        [
            ("m1", {"mobj": {"x": {"a": "1"}, "y": {"a": "1"}}}),
            ("m2", {"mobj": {"x": {"b": "2"}, "z": {"a": "1"}}}),
            ("m1", {"mobj": {"y": {"a": "1"}}}),
        ],
        {"mobj": {"x": {"b": "2"}, "y": {"a": "1"}, "z": {"a": "1"}}},
        {
            "m1": {"f:mobj": {"f:y": {".": {}, "f:a": {}}}},
            "m2": {"f:mobj": {"f:x": {".": {}, "f:b": {}}, "f:z": {".": {}, "f:a": {}}}},
        },
    ),
    (
        "A null that somebody applied is a value of his.",
        [("m1", {"text": None, "num": 1}), ("m2", {"text": "x"})],
        'Apply failed with 1 conflict: conflict with "m1": .spec.text',
        None,
    ),
    (
        "An empty list that merges by item has no owner, and may be removed with its last item.",
        [("m1", {"set": [], "text": "t"}), ("m2", {"set": ["a"]}), ("m2", {"num": 1})],
        {"text": "t", "num": 1},
        {"m1": {"f:text": {}}, "m2": {"f:num": {}}},
    ),
    (
        "Applying an order without changing an item changes nothing.",
        [("m1", {"mapl": [{"k": "a"}, {"k": "b"}]}), ("m2", {"mapl": [{"k": "b"}, {"k": "a"}]})],
        {"mapl": [{"k": "a"}, {"k": "b"}]},
        {
            "m1": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}}, 'k:{"k":"b","p":1}': {".": {}, "f:k": {}}}},
            "m2": {"f:mapl": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}}, 'k:{"k":"b","p":1}': {".": {}, "f:k": {}}}},
        },
    ),
    (
        "Who creates by update owns all, and keeps what an applier agrees to.",
        [("u*", {"text": "t", "gran": {"a": "1"}}), ("m1", {"text": "t", "gran": {"b": "2"}}), ("m1", {})],
        {"text": "t", "gran": {"a": "1"}},
        {"m1": {}, "u*": {".": {}, "f:gran": {".": {}, "f:a": {}}, "f:text": {}}},
    ),
    (
        "An updater that removes an item takes it from all.",
        [
            ("m1", {"mapl": [{"k": "a", "v": "1"}, {"k": "b"}]}),
            ("u*", {"mapl": [{"k": "b"}]}),
            ("m1", {"mapl": [{"k": "a", "v": "1"}, {"k": "b"}]}),
        ],
        {"mapl": [{"k": "a", "v": "1"}, {"k": "b"}]},
        {
            "m1": {
                "f:mapl": {
                    'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:v": {}},
                    'k:{"k":"b","p":1}': {".": {}, "f:k": {}},
                }
            }
        },
    ),
    (
        "Unknown fields are refused where the schema knows its fields.",
        [("m1", {"zz": 1})],
        "failed to create typed patch object (/n; x.io/v1, Kind=Foo): .spec.zz: field not declared in schema",
        None,
    ),
    (
        "Wrong types are refused with their path.",
        [("m1", {"mapl": [{"k": "a", "v": 1}], "set": "x"})],
        (
            "failed to create typed patch object (/n; x.io/v1, Kind=Foo): errors:\n"
            '  .spec.mapl[k="a",p=1].v: expected string, got &value.valueUnstructured{Value:1}\n'
            "  .spec.set: expected list, got &{x}"
        ),
        None,
    ),
    (
        "The conflicts of all owners come together.",
        [
            ("m1", {"text": "1", "num": 1}),
            ("u*", {"text": "1", "num": 1, "boo": True}),
            ("m2", {"text": "2", "num": 2, "boo": False}),
        ],
        (
            'Apply failed with 3 conflicts: conflicts with "m1":\n'
            "- .spec.num\n"
            "- .spec.text\n"
            'conflicts with "u" using x.io/v1:\n'
            "- .spec.boo"
        ),
        None,
    ),
]


@pytest.mark.parametrize(("fact", "steps", "left", "owned"), SEQUENCES, ids=[case[0] for case in SEQUENCES])
def test_recorded_sequences(fact: str, steps: list[tuple[str, Any]], left: Any, owned: Any) -> None:
    """Each sequence has the recorded result."""
    live: Any = None
    try:
        for who, spec in steps:
            live = _step(live, who, {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "n"}, "spec": spec})
    except ApiError as error:
        assert error.message == left
        return
    # A value that has lost all its members is null until the object is normalized.
    assert _without_nulls(live["spec"]) == _without_nulls(left)
    entries = live["metadata"].get("managedFields", [])
    assert {
        e["manager"] + "*" * (e["operation"] == "Update"): e["fieldsV1"].get("f:spec", {}) for e in entries
    } == owned


def _step(live: Any, who: str, obj: Any) -> Any:
    name = who.rstrip("*!")
    if who.endswith("*"):
        entries = on_write(TARGET, live, obj, manager=name, now=1.0)
        obj = {**obj, "metadata": {"name": "n", **({"managedFields": entries} if entries else {})}}
    else:
        obj = on_apply(TARGET, live, obj, manager=name, force=who.endswith("!"), now=1.0)
    return {**obj, "metadata": {**obj["metadata"], "uid": "u"}}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return value
