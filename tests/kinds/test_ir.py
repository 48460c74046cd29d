"""Schema nodes: inlined structs, lazily loaded types, overrides of merge semantics."""

from __future__ import annotations

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.catalog import builtin_types
from orchd.kinds.ir import Field, Type, TypeTable


def test_inlined_structs() -> None:
    """`members` has an inlined struct as one member, `fields` has its fields by JSON name."""
    inner = Type("struct", members=[Field("a", Type("string"), number=1)])
    outer = Type("struct", members=[Field("", inner, inline=True), Field("b", Type("int32"))])
    assert list(outer.fields) == ["a", "b"] and [m.name for m in outer.members] == ["", "b"]
    assert outer.fields["a"] is inner.fields["a"]


def test_members_are_resolved_once_and_late() -> None:
    """A struct loads its members once, at the first access."""
    calls: list[int] = []

    def resolve() -> tuple[Field, ...]:
        calls.append(1)
        return (Field("a", Type("string")),)

    node = Type("struct", resolve=resolve)
    assert not calls
    assert list(node.fields) == list(node.fields) == ["a"] and calls == [1]


def test_walking_all_kinds_caches_no_members() -> None:
    """Walking over every kind leaves no members cached."""
    node = Type("struct", name="x/v1.A", resolve=lambda: (Field("a", Type("string")),))
    seen = node.uncached()
    assert list(seen.fields) == ["a"] and node.members_ is None and seen.name == node.name
    assert node.members and node.uncached() is node


def test_field_overrides_merge_semantics() -> None:
    """A field may override its type's merge semantics; the shape is the same."""
    node = Type("list", element=Type("string"), list_type="atomic")
    merged = node.with_semantics(list_type="set")
    assert (merged.list_type, node.list_type, merged.element) == ("set", "atomic", node.element)


def test_type_table_lookups() -> None:
    """A named type is created once; unknown names raise KeyError; recursive types are finite."""
    types: TypeTable = builtin_types(ORCH)
    pod = types.get("core/v1.Pod")
    assert pod is types.get("core/v1.Pod") and pod.fields["spec"].type.fields["containers"].type.merge_key == "name"
    schema = types.get("apiextensions/v1.JSONSchemaProps")
    assert schema.fields["not"].type.fields.keys() == schema.fields.keys()
    for unknown in ("core/v1.Nothing", "none/v1.Pod"):
        with pytest.raises(KeyError):
            types.get(unknown)


def test_names_are_spelled_in_the_dialect() -> None:
    """OpenAPI names and members with the product word are spelled in the dialect."""
    definitions = [builtin_types(d).get("core/v1.Pod").definition for d in (ORCH, KUBERNETES)]
    assert definitions[0] != definitions[1] and ORCH.long in definitions[0] and KUBERNETES.abbr in definitions[1]
