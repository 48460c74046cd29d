"""``wait``."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.ctl.commands.wait import parse_test
from orchd.ctl.errors import CommandError
from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


def test_wait_ends_with_the_condition_or_the_timeout(ctl: Ctl) -> None:
    """Wait ends when the condition is true, and fails at the timeout."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("wait", "cm/m", "--for=jsonpath={.data.a}=b").lines == ["configmap/m condition met"]
    assert "timed out" in ctl("wait", "cm/m", "--for=condition=Ready", "--timeout=3s", status=1).error

    def remove(second: int) -> None:
        if second == 2:
            Ctl(ctl.server)("delete", "cm", "m", "--no-wait")

    ctl.while_waiting = remove
    assert ctl("wait", "cm/m", "--for=delete").lines == ["configmap/m condition met"]
    assert ctl("wait", "cm/m", "--for=delete").out == ""
    assert "write condition=NAME" in ctl("wait", "cm/m", "--for=frob", status=1).error


def test_condition_counts_for_its_observed_generation() -> None:
    """A condition of an older observed generation is not counted."""
    obj: dict[str, Any] = {
        "metadata": {"generation": 2},
        "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]},
    }
    assert not parse_test("condition=ready")(obj)
    obj["status"]["conditions"][0]["observedGeneration"] = 2
    assert parse_test("condition=Ready")(obj)
    assert not parse_test("condition=Ready=false")(obj)
    assert parse_test('jsonpath={.status.conditions[?(@.type=="Ready")].status}=True')(obj)
    with pytest.raises(CommandError):
        parse_test("condition=")


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("jsonpath={.data.a}", True), ("jsonpath={.data.x}", False), ("jsonpath={.data.a}=b", True), ("jsonpath={.data.a}=c", False),
        ("jsonpath={.data.a}='b'", True), ('jsonpath={.data.a}=="b"', True), ("jsonpath=.data.a=b", True), ("jsonpath=.data.a", True),
        ("jsonpath=.data.x", False), ('jsonpath=.list[?(@.k=="v")].n=1', True), ('jsonpath=.list[?(@.k=="v")].n=2', False),
        ("condition=ready", False), ("create", True),
    ],
)  # fmt: skip
def test_paths(text: str, met: bool) -> None:
    """A path may have braces; the value is behind the first = outside of brackets."""
    obj = {"metadata": {}, "data": {"a": "b"}, "list": [{"k": "v", "n": 1}, {"k": "w", "n": 2}]}
    assert parse_test(text)(obj) is met


@pytest.mark.parametrize("text", ["create=x", "condition", "jsonpath", "jsonpath="])
def test_conditions_that_are_none(text: str) -> None:
    with pytest.raises(CommandError, match="write condition=NAME, delete, create or jsonpath=PATH=VALUE"):
        parse_test(text)


def test_objects_that_are_waited_for(ctl: Ctl) -> None:
    """Those of a selector, which have to be there; objects that are to be created need not be."""
    ctl("apply", "-f", "-", send=MAP.replace("{name: m}", "{name: m, labels: {x: z}}"))
    for words in (("cm", "-l", "x=z"), ("cm", "--all"), ("-f", "-")):
        assert ctl("wait", *words, "--for=jsonpath={.data.a}", send=MAP).lines == ["configmap/m condition met"]
    assert "no matching objects" in ctl("wait", "cm", "-l", "x=q", "--for=create", status=1).error
    assert 'configmaps "n" not found' in ctl("wait", "cm/n", "--for=condition=x", status=1).error
    assert ctl.waited == 0

    def create(second: int) -> None:
        if second == 2:
            Ctl(ctl.server)("create", "cm", "n")

    ctl.while_waiting = create
    assert ctl("wait", "cm/n", "--for=create").lines == ["configmap/n condition met"]
    ctl.while_waiting = lambda second: None
    error = ctl("wait", "cm/o", "--for=create", "--timeout=2s", status=1).error
    assert "timed out waiting for create of configmap/o" in error and ctl.waited == 2
    assert ctl("wait", "cm/m", "cm/n", "--for=create", "--timeout=0s", "-o", "name").lines == [
        "configmap/m",
        "configmap/n",
    ]
