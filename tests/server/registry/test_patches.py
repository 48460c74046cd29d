"""Patches applied to an object: strict decoding, results that do not fit, and their bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST
from orchd.kinds.strictness import Strictness
from orchd.server.registry.operations import Patch
from orchd.server.registry.patches import apply_patch
from tests.server.registry.test_strategy_rules import custom

MERGE, STRATEGIC, OPERATIONS = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
)
CATALOG = builtin_catalog(KUBERNETES, NEWEST)
KINDS = {
    "map": CATALOG.resource("", "v1", "configmaps"),
    "pod": CATALOG.resource("", "v1", "pods"),
    "revision": CATALOG.resource("apps", "v1", "controllerrevisions"),
    "thing": custom().resource,
}
LIVE: dict[str, dict[str, Any]] = {
    "map": {"data": {"b": "x"}},
    "pod": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    "revision": {"revision": 1},
    "thing": {"spec": {}},
}


class Patched:
    """The object that a patch makes of another one, and the warnings."""

    def __init__(
        self, kind: str, media: str, patch: Any, mode: str = "Ignore", *, located: bool = True, **live: Any
    ) -> None:
        resource: Any = KINDS[kind]
        self.warnings: list[str] = []
        operation = Patch(
            name="a",
            media_type=media,
            data=patch if isinstance(patch, bytes) else json.dumps(patch).encode(),
            strictness=Strictness(mode, self.warnings.append, located),
        )
        self.live = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a"}, **LIVE[kind]}
        self.live |= live
        settings = ObjectSettings(dialect=KUBERNETES, release=NEWEST)
        self.object = apply_patch(operation, resource, self.live, CATALOG, settings)


PROBLEMS: list[tuple[str, str, Any, list[str], list[str]]] = [
    ("map", MERGE, {"foo": 1}, ['unknown field "foo"'], ['unknown field "foo"']),
    ("map", MERGE, b'{"data":{"a":"1","a":"2"}}', ['duplicate field "data.a"'], ['duplicate field "a"']),
    ("map", STRATEGIC, {"foo": 1}, ['unknown field "foo"'], ['unknown field "foo"']),
    ("map", STRATEGIC, b'{"data":{"a":"1","a":"2"}}', ['duplicate field "data.a"'], ['duplicate field "a"']),
    ("map", OPERATIONS, [{"op": "add", "path": "/foo", "value": 1}], ['unknown field "foo"'], ['unknown field "foo"']),
    (
        *("map", OPERATIONS, [{"op": "add", "path": "/data/a", "value": "1", "foo": 1}]),
        ['json patch unknown field "[0].foo"'],
        ['json patch unknown field "foo"'],
    ),
    ("pod", MERGE, {"spec": {"foo": 1}}, ['unknown field "spec.foo"'], ['unknown field "foo"']),
    ("pod", STRATEGIC, {"spec": {"foo": 1}}, ['unknown field "spec.foo"'], ['unknown field "spec.foo"']),
    ("thing", MERGE, {"spec": {"a": 1}}, ['unknown field "spec.a"'], ['unknown field "spec.a"']),
    ("thing", MERGE, {"metadata": {"foo": 1}}, ['unknown field "metadata.foo"'], []),
]


@pytest.mark.parametrize(("kind", "media", "patch", "located", "plain"), PROBLEMS)
def test_strict_decoding_of_patches(kind: str, media: str, patch: Any, located: list[str], plain: list[str]) -> None:
    """Unknown and repeated members are ignored, warned of or refused, with their paths in later releases."""
    assert Patched(kind, media, patch).warnings == []
    for paths, texts in ((True, located), (False, plain)):
        assert Patched(kind, media, patch, "Warn", located=paths).warnings == texts
        if texts:
            with pytest.raises(ApiError) as refused:
                Patched(kind, media, patch, "Strict", located=paths)
            assert refused.value.code == 422 and refused.value.message.endswith(": strict decoding error: " + texts[0])
        else:
            Patched(kind, media, patch, "Strict", located=paths)


MAP = r'"{\"apiVersion\":\"v1\",\"data\":{%s},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}": '
NUMBER = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"


@pytest.mark.parametrize(
    ("kind", "media", "patch", "why"),
    [
        ("map", MERGE, {"data": {"a": 1}}, MAP % r"\"a\":1,\"b\":\"x\"" + NUMBER),
        ("map", OPERATIONS, [{"op": "add", "path": "/data/a", "value": 1}], MAP % r"\"a\":1,\"b\":\"x\"" + NUMBER),
        ("map", STRATEGIC, {"data": {"a": 1}}, '"map[data:map[a:1]]": cannot convert int64 to string'),
        ("map", STRATEGIC, {"kind": 5}, '"map[kind:5]": cannot convert int64 to string'),
        ("map", STRATEGIC, {"apiVersion": 5}, '"map[apiVersion:5]": cannot convert int64 to string'),
        (
            *("map", MERGE, {"apiVersion": "v2"}),
            (MAP % r"\"b\":\"x\"").replace("v1", "v2")
            + 'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        ("revision", MERGE, b'{"data":{"a":1e400}}', "cannot unmarshal number 1e400 into Go value of type float64"),
    ],
)
def test_results_that_do_not_fit_are_refused(kind: str, media: str, patch: Any, why: str) -> None:
    """The error has the result with sorted members, for a strategic merge patch the patch, and the reason."""
    with pytest.raises(ApiError) as refused:
        Patched(kind, media, patch)
    assert refused.value.code == 422 and refused.value.message.endswith(why)


@pytest.mark.parametrize(
    ("media", "patch", "ignored", "checked"),
    [
        (
            MERGE,
            b"[]",
            "couldn't get version/kind; json parse error",
            "error decoding patch: json: cannot unmarshal array",
        ),
        (MERGE, b"{", "Invalid JSON Patch", "error decoding patch: unexpected end of JSON input"),
        (
            OPERATIONS,
            b"{}",
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
            "[]handlers.jsonPatchOp",
        ),
        (OPERATIONS, b"[", "unexpected end of JSON input", "error decoding patch: unexpected end of JSON input"),
    ],
)
def test_malformed_patches(media: str, patch: bytes, ignored: str, checked: str) -> None:
    """Strict decoding has its own errors, which come first."""
    for mode, text in (("Ignore", ignored), ("Warn", checked), ("Strict", checked)):
        with pytest.raises(ApiError) as refused:
            Patched("map", media, patch, mode)
        assert text in refused.value.message
        assert ("decoding patch" in refused.value.message) == (mode != "Ignore")


def test_results_of_patches() -> None:
    """A strategic merge patch merges lists by their keys, a merge patch replaces them; what changes nothing returns the
    object."""
    containers = {"spec": {"containers": [{"name": "d", "image": "j"}]}}
    for media, names in ((STRATEGIC, ["d", "c"]), (MERGE, ["d"])):
        made = Patched("pod", media, containers).object
        assert [each["name"] for each in made["spec"]["containers"]] == names
        assert made["spec"]["dnsPolicy"] == "ClusterFirst" and (made["apiVersion"], made["kind"]) == ("v1", "Pod")
    assert Patched("map", STRATEGIC, {"kind": "Other"}).object["kind"] == "ConfigMap"
    same = Patched("map", OPERATIONS, [])
    assert same.object is same.live


def test_results_are_bounded() -> None:
    """An object of too many values, or of too many levels, cannot be made by patches."""
    with pytest.raises(ApiError) as refused:
        Patched("thing", MERGE, {"spec": {"b": [0] * 60_000}}, spec={"a": [0] * 150_000})
    assert refused.value.code == 413

    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = {"a": value}
        return value

    deep = [
        {"op": "add", "path": "/spec/a", "value": nested(200)},
        {"op": "add", "path": "/spec" + "/a" * 150, "value": nested(150)},
    ]
    with pytest.raises(ApiError, match="the server rejected our request due to an error in our request"):
        Patched("thing", OPERATIONS, deep)
