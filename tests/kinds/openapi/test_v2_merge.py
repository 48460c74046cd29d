"""OpenAPI v2 documents of other servers: cut to a group version and merged with one's own."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.openapi.v2_merge import ForeignSpecification, SpecificationError, part_of, union
from orchd.kinds.openapi.v2_pieces import JSON, PROTOBUF, DocumentPieces

KIND = KUBERNETES("x-{long}-group-version-kind")


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


def get(schema: Any) -> dict[str, Any]:
    return {"get": {"responses": {"200": {"description": "OK", "schema": schema}}}}


def source(definitions: dict[str, Any], *, path: str = "/apis/g/v1/foos", of: str = "Foo") -> ForeignSpecification:
    return ForeignSpecification(paths={path: get(ref(of))}, definitions=definitions)


def no_definition(name: str) -> None:
    """A look-up that finds no definition."""


def test_group_version_part_is_complete() -> None:
    """The part has its paths, all definitions that they reach, cycles included; shared parameters are inlined."""
    definitions = {
        "Foo": {"properties": {"a": ref("Bar")}},
        "Bar": {"items": ref("Foo")},
        "Other": {},
        "Unused": ref("Foo"),
    }
    item = {**get(ref("Foo")), "parameters": [{"$ref": "#/parameters/p"}, {"name": "q"}]}
    document = {
        "paths": {"/apis/g/v1/foos": item, "/apis/g/v10/foos": get(ref("Other")), "/apis/h/v1/": {}},
        "definitions": definitions, "parameters": {"p": {"name": "pretty"}},
    }  # fmt: skip
    part = part_of(document, "g", "v1")
    assert set(part.paths) == {"/apis/g/v1/foos"} and set(part.definitions) == {"Foo", "Bar"}
    assert part.paths["/apis/g/v1/foos"]["parameters"] == [{"name": "pretty"}, {"name": "q"}]


@pytest.mark.parametrize(
    "document",
    [[], {"paths": []}, {"paths": {"/apis/g/v1/a": 1}}, {"paths": {"/apis/g/v1/a": get(ref("No"))}},
     {"definitions": []}, {"paths": {"/apis/g/v1/a": {"parameters": [{"$ref": "#/parameters/no"}]}}}],
)  # fmt: skip
def test_invalid_documents_are_refused(document: Any) -> None:
    """Wrong types and dangling references are rejected."""
    with pytest.raises(SpecificationError):
        part_of(document, "g", "v1")


def test_conflicting_definitions_are_renamed() -> None:
    """A different definition of the same name is renamed with all references to it; an equal one is shared."""
    own = {"Meta": {"type": "object"}, "Same": {"type": "string"}}
    first = source(
        {
            "Foo": {"properties": {"m": ref("Meta"), "s": ref("Same")}},
            "Meta": {"type": "string"},
            "Same": {"type": "string"},
        }
    )
    added = union([first], frozenset(), own.get)
    assert added.definitions == {
        "Foo": {"properties": {"m": ref("Meta_v2"), "s": ref("Same")}},
        "Meta_v2": {"type": "string"},
    }
    # An equal definition that was renamed before is reused, a third one gets the next number; names in the source are
    # unchanged.
    again = source({"Foo2": ref("Meta"), "Meta": {"type": "string"}}, path="/apis/h/v1/a", of="Foo2")
    third = source(
        {"Foo3": ref("Meta"), "Meta": {"type": "integer"}, "Meta_v3": {"type": "number"}},
        path="/apis/i/v1/a",
        of="Foo3",
    )
    added = union([first, again, third], frozenset(), own.get)
    assert added.definitions["Foo2"] == ref("Meta_v2")
    assert added.definitions["Foo3"] == ref("Meta_v4")
    assert added.definitions["Meta_v4"] == {"type": "integer"} and added.definitions["Meta_v3"] == {"type": "number"}


def test_definitions_with_different_kinds_are_merged() -> None:
    """Definitions that differ only in their group-version-kinds are merged."""
    one, two = (
        {"group": "", "kind": "DeleteOptions", "version": "v1"},
        {"group": "g", "kind": "DeleteOptions", "version": "v1"},
    )
    own = {"Options": {"type": "object", KIND: [one]}}
    added = union([source({"Options": {"type": "object", KIND: [two, one]}}, of="Options")], frozenset(), own.get)
    assert added.definitions == {"Options": {"type": "object", KIND: [one, two]}}
    assert own["Options"][KIND] == [one]


def test_first_of_two_equal_paths_wins() -> None:
    """Local paths, and those of servers with a higher priority, are kept."""
    path = "/apis/g/v1/foos"
    assert union([source({"Foo": {}}, path=path)], frozenset([path]), no_definition).paths == {}
    two = [source({"Foo": {"type": "string"}}, path=path), source({"Bar": {}}, path=path, of="Bar")]
    assert union(two, frozenset(), no_definition).paths == {path: get(ref("Foo"))}


def test_in_the_document_of_a_server() -> None:
    """Both encodings have the merged entries; without other servers the document is unchanged."""
    catalog = builtin_catalog(KUBERNETES)
    pieces = DocumentPieces(KUBERNETES)
    before = orjson.loads(b"".join(pieces.assemble(catalog)[JSON]))
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    foreign = source({
        "Foo": {"properties": {"o": ref(options), "m": ref("io.k8s.api.core.v1.Pod")}, KIND: [{"group": "g", "version": "v1", "kind": "Foo"}]},
        options: {**before["definitions"][options], KIND: [{"group": "g", "version": "v1", "kind": "DeleteOptions"}]},
        "io.k8s.api.core.v1.Pod": {"type": "string"},
    })  # fmt: skip
    made = {form: b"".join(parts) for form, parts in pieces.assemble(catalog, [foreign]).items()}
    after = orjson.loads(made[JSON])
    assert after["paths"]["/apis/g/v1/foos"] == get(ref("Foo"))
    assert after["definitions"]["Foo"]["properties"] == {"o": ref(options), "m": ref("io.k8s.api.core.v1.Pod_v2")}
    assert after["definitions"][options][KIND] == [
        *before["definitions"][options][KIND],
        {"group": "g", "version": "v1", "kind": "DeleteOptions"},
    ]
    assert after["definitions"]["io.k8s.api.core.v1.Pod"] == before["definitions"]["io.k8s.api.core.v1.Pod"]
    assert b"io.k8s.api.core.v1.Pod_v2" in made[PROTOBUF] and b"/apis/g/v1/foos" in made[PROTOBUF]
    assert orjson.loads(b"".join(pieces.assemble(catalog)[JSON])) == before
