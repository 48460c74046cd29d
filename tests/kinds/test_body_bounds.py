"""The work on a request body is bounded by its number of values and linear in its length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import MAX_CAUSES, ApiError, Cause, invalid
from orchd.kinds.bounds import (
    MAX_ADDED,
    MAX_OBJECT_VALUES,
    MAX_SENT,
    MAX_VALUES,
    Growth,
    check_json,
    cost_of,
    exceeds,
    is_too_large,
    json_values,
    too_large,
)
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import json_, protobuf, yaml_
from orchd.kinds.codec.mediatype import parse_content_type
from orchd.kinds.codec.wire import ProtobufError
from orchd.kinds.gotext.durations import parse_duration
from orchd.kinds.gotext.json_syntax import syntax_error
from orchd.kinds.objects.owner_references import single_owners
from orchd.kinds.objects.schema_check.compiled import compile_schema
from orchd.kinds.objects.selectors import MAX_LENGTH, FieldSelector, LabelSelector
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.limits import create_quota
from orchd.kinds.objects.validate.meta import owner_references
from orchd.kinds.objects.validate.paths import METADATA
from orchd.kinds.objects.validate.report import Report

CATALOG = builtin_catalog(ORCH)


def lines(work: Callable[[], object]) -> int:
    """Executed lines of Python during `work`: a measure of time that is the same on every machine."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except (ValueError, ApiError):
        pass
    finally:
        sys.settrace(before)
    return count


class Compared(str):
    """A text that counts its comparisons."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"1," * MAX_VALUES + b"1]",
        b"{}," * MAX_VALUES,
        b"[" * (MAX_VALUES + 1),
        b'"a"' * (2 * MAX_VALUES + 2) + b"," * (MAX_VALUES + 10_000),
    ],
)
def test_json_of_too_many_values_is_refused(text: bytes) -> None:
    """JSON with too many values is rejected before it is decoded, whether it is valid or not."""
    with pytest.raises(ApiError) as refused:
        check_json(text)
    assert refused.value.code == 413


@pytest.mark.parametrize("inside", [b",[{", b'\\",', b"\\\\"])
def test_text_in_strings_counts_as_one_value(inside: bytes) -> None:
    """A string with many commas and brackets counts as one value."""
    text = b'{"a":"' + inside * MAX_VALUES + b'","b":[1,2]}'
    assert json_values(text) < 10
    check_json(text)


@pytest.mark.parametrize(
    "document",
    [
        b"a: [" + b"1," * (MAX_VALUES + 10) + b"1]",
        b"a: &a [1,1,1,1,1,1,1,1]\n" + b"b: [" + b"*a," * 2 + b"1]\n" + b"c: [" + b"1," * MAX_VALUES + b"1]",
        b"a: &a x\nb: " + b"[" * 9000 + b"*a," * 20_000,
    ],
)
def test_yaml_of_too_many_values_is_refused(document: bytes) -> None:
    """YAML with too many values is rejected; aliases and nesting depth count as well, which libyaml limits itself from
    0.2.6 on."""
    with pytest.raises(yaml_.YAMLError, match=r"more than|exceeded maximum nesting depth"):
        yaml_.decode(document)


@pytest.mark.parametrize("anchored", [False, True])
def test_alias_cost_does_not_depend_on_the_depth(anchored: bool) -> None:
    """The cost of an alias does not depend on its depth."""

    def document(depth: int) -> bytes:
        opening = b"".join(b"&n%d [" % i for i in range(depth)) if anchored else b"[" * depth
        return b"a: &a x\nb: " + opening + b",".join([b"*a"] * 300) + b"]" * depth

    def cost(depth: int) -> int:
        nesting = document(depth).replace(b"*a,", b"").replace(b"*a", b"x")
        return lines(lambda: yaml_.decode(document(depth))) - lines(lambda: yaml_.decode(nesting))

    assert cost(400) <= cost(4) * 1.2


@pytest.mark.parametrize(
    "raw",
    [
        b"\x70\x01" * (MAX_VALUES + 1),
        b"\x73" * (MAX_VALUES + 1),
        b"\x73\x74" * (MAX_VALUES + 1),
        b"\x12\x00" * (MAX_VALUES + 1),
        b"\x12\x06\x70\x01\x70\x01\x70\x01" * (MAX_VALUES // 2),
        b"\x0a\x02\x72\x00" * (MAX_VALUES // 2 + 1),
    ],
)
def test_protobuf_of_too_many_fields_is_refused(raw: bytes) -> None:
    """Protobuf with too many fields is rejected, known or unknown, in groups or in nested messages."""
    kind = CATALOG.kind("v1", "ConfigMap")
    assert kind is not None
    with pytest.raises(ProtobufError, match="more than"):
        protobuf.decode_message(raw, kind.type)
    # Each message is counted separately.
    assert protobuf.decode_message(b"", kind.type) is not None


@pytest.mark.parametrize(
    ("work", "unit"),
    [
        (lambda n: syntax_error(b'["' + b"a" * n + b'",x'), 1000),
        (lambda n: syntax_error(b'["' + b"\\u0041" * n + b'",x'), 1000),
        (lambda n: syntax_error(b" " * n + b"x"), 1000),
        (lambda n: syntax_error(b"1" * n + b"x"), 1000),
        (lambda n: json_.decode(b'["' + b"\xff" * n + b'"]'), 1000),
        (lambda n: json_.decode(b'["' + b"\\ud800" * n + b'"]'), 1000),
    ],
)
def test_json_repair_steps_depend_on_values_not_bytes(work: Callable[[int], object], unit: int) -> None:
    """Locating and repairing errors of JSON takes steps per value, not per byte."""
    assert lines(lambda: work(10 * unit)) == lines(lambda: work(unit))


def report() -> Report:
    return Report(ObjectSettings(dialect=ORCH))


@pytest.mark.parametrize(
    "work",
    [
        lambda n: parse_content_type("a/b" + ";a=b" * n),
        lambda n: parse_duration("1ns" * n),
        lambda n: single_owners({"metadata": {"ownerReferences": [{"uid": str(i)} for i in range(n)]}}, lambda _: None),
        lambda n: owner_references(
            [{"controller": True, "name": "a", "uid": str(i)} for i in range(n)], METADATA, report()
        ),
        lambda n: create_quota(
            {"spec": {"hard": {}, "scopeSelector": {"matchExpressions": [{"values": ["a"]}] * n}}}, report()
        ),
    ],
)
def test_steps_grow_in_proportion(work: Callable[[int], object]) -> None:
    """Twice the input takes about twice the steps."""
    assert lines(lambda: work(400)) < 2.5 * lines(lambda: work(200))


def test_duplicate_owners_are_found_in_linear_time() -> None:
    """Duplicate owner references are found without comparing all pairs."""
    owners = [{"uid": Compared(i)} for i in range(100)]
    Compared.times = 0
    single_owners({"metadata": {"ownerReferences": owners}}, lambda _: None)
    assert Compared.times == 0


def test_enum_check_takes_constant_time() -> None:
    """The cost of a value does not grow with its enum; numbers and booleans are distinguished."""

    def cost(n: int) -> int:
        check = compile_schema({"enum": [f"e{i}" for i in range(n)]}, ObjectSettings(dialect=ORCH))
        return lines(lambda: check(f"e{n - 1}"))

    assert cost(1000) == cost(10)
    check = compile_schema({"enum": [1, "a", [1, {"b": 2.0}], None]}, ObjectSettings(dialect=ORCH))
    assert not check(1.0) and not check([1, {"b": 2}]) and not check(None)
    assert check(True) and check([True, {"b": 2}])


def test_number_of_causes_is_bounded() -> None:
    """The number of causes in a rejection is bounded."""
    error = invalid(
        "", "A", "a", [Cause("FieldValueInvalid", f"wrong {i}", f"spec.a{i}") for i in range(MAX_CAUSES + 1)]
    )
    assert len((error.details or {})["causes"]) == MAX_CAUSES and f"wrong {MAX_CAUSES}" not in str(error)


def test_size_of_causes_is_bounded() -> None:
    """Causes that quote a long value are fewer: a rejection has at most some megabytes."""
    causes = [Cause("FieldValueInvalid", "x" * 30_000, f"spec.a{i}") for i in range(MAX_CAUSES)]
    assert [len((invalid("", "A", "a", some).details or {})["causes"]) for some in (causes[:9], causes)] == [9, 18]


def test_long_selectors_are_refused() -> None:
    """A selector beyond the limit of length is rejected before it is parsed."""
    pods = CATALOG.resource("", "v1", "pods")
    assert pods is not None
    for parse in (LabelSelector.parse, lambda text: FieldSelector.parse(text, pods)):
        with pytest.raises(ApiError, match="longer than") as refused:
            parse("a" * (MAX_LENGTH + 1))
        assert refused.value.code == 400


def test_defaults_are_counted_while_they_are_added() -> None:
    """Defaults of list items that would exceed what can be stored are refused before they are all added."""
    growth = Growth()
    added = 0
    with pytest.raises(ApiError) as refused:
        for _ in range(1_000_000):
            growth.spend(cost_of({"t": "x" * 10_000}))
            added += 1
    assert added * 10_000 <= MAX_ADDED and is_too_large(refused.value) and refused.value.code == 500
    growth.begin()
    with pytest.raises(ApiError) as refused:
        for _ in range(MAX_OBJECT_VALUES):
            growth.spend(cost_of({"a": 1, "b": 2}))
    assert refused.value.code == 413


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (MAX_SENT, "etcdserver: request is too large"),
        (
            MAX_SENT + 1,
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097153 vs. 2097152)",
        ),
    ],
)
def test_refusals_of_large_objects(size: int, message: str) -> None:
    """An object too large for the store has the error of the reference, by its size; clients recognize both."""
    error = too_large(size)
    assert (error.code, error.message) == (500, message) and is_too_large(error)
    assert not is_too_large(ApiError(500, "InternalError", "Internal error occurred: etcd"))


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ({}, False),
        ({"a": "x" * 500}, False),
        ({"a": "x" * 2000}, True),
        ({"x" * 2000: 1}, True),
        ([{"a": [1] * 100}], False),
        ([[1, 2, 3] for _ in range(200)], True),
        ({"a": {"b": [["x" * 400], {"c": "x" * 700}]}}, True),
    ],
)
def test_size_of_a_value_is_estimated(value: object, more: bool) -> None:
    assert exceeds(value, 1000) is more
