"""The document assembled from cached pieces equals the whole document, while definitions are added, changed and
deleted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.openapi.v2 import document
from orchd.kinds.openapi.v2_pieces import JSON, PROTOBUF, DocumentPieces
from orchd.kinds.openapi.v2_protobuf import encode


def _resources(catalog: Catalog, plural: str, schema: Any) -> tuple[Resource, ...]:
    """The resources of a definition of a kind with a scale."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    }  # fmt: skip
    names = {"plural": plural, "kind": plural.capitalize()}
    definition = {"spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}}
    return custom_kind(definition, lambda: definition, catalog.types, catalog.dialect).resources


def _made(pieces: DocumentPieces, catalog: Catalog) -> dict[str, bytes]:
    return {form: b"".join(parts) for form, parts in pieces.assemble(catalog).items()}


def _extended(catalog: Catalog, dialect: Dialect) -> Any:
    """The whole document, with the group-version-kind extension under both names."""
    whole, gvk = document(catalog), dialect("x-{long}-group-version-kind")
    stock = KUBERNETES("x-{long}-group-version-kind")

    def twice(part: Any) -> Any:
        return {**part, stock: part[gvk]} if isinstance(part, dict) and gvk in part else part

    paths = {path: {verb: twice(part) for verb, part in item.items()} for path, item in whole["paths"].items()}
    return {**whole, "paths": paths, "definitions": {name: twice(part) for name, part in whole["definitions"].items()}}


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=lambda dialect: dialect.name)
def test_same_bytes_as_the_whole(dialect: Dialect) -> None:
    """Whatever is cached, the document has the bytes of one that is encoded at once, in both encodings."""
    base = builtin_catalog(dialect)
    bare = builtin_catalog(dialect, enabled=lambda group, version, default: default and group != "autoscaling")
    one, two = _resources(base, "ants", {"type": "string"}), _resources(base, "bees", {"type": "object"})
    changed = _resources(base, "ants", {"type": "integer"})
    pieces = DocumentPieces(dialect)
    for catalog in (base, base.adding(one), base.adding(one + two), base.adding(changed + two), base.adding(two),
                    bare.adding(two), base):  # fmt: skip
        made = _made(pieces, catalog)
        assert made[JSON] == orjson.dumps(document(catalog))
        assert made[PROTOBUF] == encode(_extended(catalog, dialect))


def test_only_what_is_new_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new definition encodes only its own paths and schemas."""
    base = builtin_catalog(ORCH)
    one, two = _resources(base, "ants", {"type": "string"}), _resources(base, "bees", {"type": "object"})
    pieces = DocumentPieces(ORCH)
    _made(pieces, base.adding(one))
    read: list[str] = []
    whole = vars(Resource)["type"].__get__

    class Watching:
        def __get__(self, resource: Any, owner: Any = None) -> Any:
            read.append(resource.plural)
            return whole(resource, owner)

    monkeypatch.setattr(Resource, "type", Watching())
    _made(pieces, base.adding(one + two))
    assert set(read) == {"bees"}


def test_deeply_nested_schemas_are_encoded() -> None:
    """A schema of the maximum depth is encoded."""
    base, schema = builtin_catalog(ORCH), {"type": "string"}
    for _ in range(118):
        schema = {"type": "object", "properties": {"a": schema}}  # type: ignore[dict-item]  # grows by nesting
    assert _made(DocumentPieces(ORCH), base.adding(_resources(base, "ants", schema)))[PROTOBUF]


def test_phrases_that_conformance_tests_look_for() -> None:
    """The reference's conformance tests search for these phrases to recognize parameters, lists and members of custom
    kinds."""
    base = builtin_catalog(KUBERNETES)
    whole = document(base.adding(_resources(base, "ants", {"type": "string"})))
    parameters = {each["name"]: each["description"] for each in whole["paths"]["/api/v1/services"]["parameters"]}
    assert "list of returned" in parameters["fieldSelector"]
    assert "Watch for changes to the described resources" in parameters["watch"]
    assert (
        "List of services"
        in whole["definitions"]["io.k8s.api.core.v1.ServiceList"]["properties"]["items"]["description"]
    )
    ants = whole["definitions"]["com.example.v1.Ants"]["properties"]
    assert ants["apiVersion"]["description"].startswith("APIVersion defines")
    metadata = whole["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    assert "Standard object's metadata" in metadata["description"]
    assert metadata["properties"]["creationTimestamp"]["description"].startswith("CreationTimestamp is a timestamp")
