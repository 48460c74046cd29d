"""Conversion between every pair of versions of a kind preserves the object."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.ir import Type
from orchd.kinds.objects.convert import convert
from orchd.kinds.objects.default import apply
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import canonical

CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))
SETTINGS = ObjectSettings(dialect=ORCH)
#: Kinds that have their own properties elsewhere: one version cannot represent another, or can in two ways.
_ELSEWHERE = frozenset(
    (
        "HorizontalPodAutoscaler", "CustomResourceDefinition", "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )
)  # fmt: skip
_DEEPEST = 6
_TIME = "2020-01-01T00:00:00Z"

words = st.text("abc", min_size=1, max_size=3)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": words,
    "bool": st.booleans(),
    "int32": st.integers(0, 99),
    "int64": st.integers(0, 99),
    "uint32": st.integers(0, 99),
    "uint64": st.integers(0, 99),
    "int64ns": st.integers(0, 99),
    "number": st.just(0.5),
    "quantity": st.sampled_from(["1", "500m", "2Gi"]),
    "int-or-string": st.integers(0, 99) | st.just("25%"),
    "time": st.just(_TIME),
    "microtime": st.just("2020-01-01T00:00:00.000001Z"),
    "bytes": st.just("YWJj"),
    "duration": st.just("1m0s"),
}
#: Labels that are fields in later versions.
TOPOLOGY = st.dictionaries(
    words | st.sampled_from([ORCH("topology.{long}.io/zone"), ORCH("{long}.io/hostname")]), words, max_size=3
)


def _values(type: Type, depth: int) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if type.kind in SCALARS:
        return SCALARS[type.kind]
    if type.kind == "list":
        return st.lists(_values(type.element, depth), max_size=2)
    if type.kind == "map":
        return st.dictionaries(words, _values(type.element, depth), max_size=2)
    if type.kind == "struct" and depth < _DEEPEST:
        members = {
            name: TOPOLOGY if name == "topology" else _values(field.type, depth + 1)
            for name, field in type.fields.items()
            if name not in ("apiVersion", "kind", "metadata") or depth
        }
        return st.fixed_dictionaries({}, optional=members)
    return st.just({})


def _pairs() -> list[tuple[Resource, Resource]]:
    kinds: dict[tuple[str, str], list[Resource]] = defaultdict(list)
    for resource in CATALOG.resources:
        if resource.stored and resource.kind not in _ELSEWHERE:
            kinds[resource.key, resource.kind].append(resource)
    return [pair for served in kinds.values() for pair in permutations(served, 2)]


PAIRS = _pairs()


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[dict[str, Any], Resource, Resource]:
    """An object of one version, that version, and another."""
    one, other = draw(st.sampled_from(PAIRS))
    labels = draw(st.dictionaries(words, words, max_size=1))
    head = {
        "apiVersion": one.api_version,
        "kind": one.kind,
        "metadata": {"name": "a", **({"labels": labels} if labels else {})},
    }
    body = draw(_values(one.type, 0))
    return apply(canonical({**body, **head}, one.type), one, SETTINGS), one, other


@settings(max_examples=max(400, settings().max_examples))
@given(exchanges())
def test_conversion_between_versions_is_lossless(exchange: tuple[dict[str, Any], Resource, Resource]) -> None:
    """An object is unchanged after conversion and back, and each result is canonical in its version."""
    obj, one, other = exchange
    there = convert(obj, other.api_version, CATALOG)
    assert there["apiVersion"] == other.api_version
    assert canonical(there, other.type) == there
    assert convert(there, one.api_version, CATALOG) == obj


def test_convertible_version_pairs() -> None:
    """Events are in two groups; budgets, slices, flow schemas and cron jobs have two versions."""
    assert {pair[0].kind for pair in PAIRS} >= {
        "CronJob",
        "EndpointSlice",
        "Event",
        "FlowSchema",
        "PodDisruptionBudget",
        "PriorityLevelConfiguration",
        "RuntimeClass",
    }


def test_storage_versions_are_the_references(reference: Any) -> None:
    """Every kind is stored in the version in which the reference stores it."""
    versions = {
        (r["group"], r["version"], r["kind"]): r["storage_version"]
        for r in reference("resources")["resources"]
        if r.get("storage_version")
    }
    have = {
        (r.group, r.version, r.kind): r.announced_version or r.storage_version for r in CATALOG.resources if r.stored
    }
    assert versions
    for key, version in versions.items():
        # Conversion to a version requires that it is served.
        if key in have and CATALOG.kind(version, key[2]) is not None:
            assert have[key] == version, key
