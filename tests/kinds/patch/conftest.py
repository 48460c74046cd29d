"""Types and recorded exchanges for the tests of patches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.kinds.ir import Field, Type

_ROOT = Path(__file__).resolve().parents[3]
#: Recorded exchanges that tests name, and all of them where they are at hand.
_EXCHANGE = _ROOT / "tests" / "reference" / "exchange"
_ALL_EXCHANGES = _ROOT.parent / "shared" / "exchange"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return builtin_catalog(KUBERNETES)


@pytest.fixture(scope="session")
def type_of(catalog: Catalog) -> Callable[[str, str], Type | None]:
    """The type of a kind by apiVersion and kind, None if it is not built in."""

    def find(api_version: str, kind: str) -> Type | None:
        return next((r.type for r in catalog.resources if r.api_version == api_version and r.kind == kind), None)

    return find


@pytest.fixture(scope="session")
def exchange() -> Callable[[str], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Load a recorded scenario by name: pairs of (request as written, response)."""

    def load(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        responses = json.loads((_EXCHANGE / "golden" / f"{name}.json").read_text())["steps"]
        steps = yaml.safe_load((_EXCHANGE / "scenarios" / f"{name}.yaml").read_text())["steps"]
        requests = {step["id"]: step.get("request", {}) for step in steps}
        return [(requests.get(response["id"], {}), response) for response in responses]

    return load


@pytest.fixture(scope="session")
def recordings() -> Callable[[], Iterator[tuple[str, list[dict[str, Any]]]]]:
    """Every recorded scenario: (name, responses)."""

    def load() -> Iterator[tuple[str, list[dict[str, Any]]]]:
        folder = _ALL_EXCHANGES if _ALL_EXCHANGES.exists() else _EXCHANGE
        for path in sorted((folder / "golden").glob("*/*.json")):
            yield path.stem, json.loads(path.read_text())["steps"]

    return load


def struct(**fields: Any) -> Type:
    """A custom kind's object: members by name, each a Type or a (Type, default) pair."""
    members = []
    for name, spec in fields.items():
        type_, default = spec if isinstance(spec, tuple) else (spec, None)
        members.append(Field(name, type_, default=default, omit=True))
    return Type("struct", members=members)


@pytest.fixture(scope="session")
def foo(catalog: Catalog) -> Type:
    """The custom kind of the recorded scenario about list types."""
    text = Type("string")
    item = struct(k=text, p=(Type("int64"), 1), v=text, w=text)
    spec = struct(
        plain=Type("list", element=text),
        set=Type("list", element=text, list_type="set"),
        map=Type("list", element=item, list_type="map", list_keys=("k", "p")),
        granular=Type("map", element=text),
        atomicmap=Type("map", element=text, atomic=True),
        obj=struct(a=text, b=(text, "bd")),
        atomicobj=struct(a=text, b=text).with_semantics(atomic=True),
        free=Type("struct", members=(), preserve_unknown=True),
        ios=Type("int-or-string"),
    )
    return struct(apiVersion=text, kind=text, metadata=catalog.type("meta/v1.ObjectMeta"), spec=spec)
