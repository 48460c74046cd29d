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
