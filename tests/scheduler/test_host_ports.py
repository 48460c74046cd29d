"""Conflicts of host ports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.scheduler.plugins.nodeports import REFUSED, NodePorts


@pytest.mark.parametrize(
    ("requested", "conflict"),
    [
        ([], False),
        ([("0.0.0.0", "TCP", 80)], True),
        ([("10.0.0.1", "TCP", 80)], True),
        ([("10.0.0.2", "TCP", 80)], False),
        ([("10.0.0.1", "UDP", 80)], False),
        ([("10.0.0.1", "TCP", 81)], False),
        ([("10.0.0.1", "TCP", 81), ("10.0.0.1", "TCP", 80)], True),
    ],
)
def test_a_used_port_refuses_a_pod(requested: list[tuple[str, str, int]], conflict: bool) -> None:
    """A host port is used once per protocol and address; 0.0.0.0 conflicts with every address."""
    plugin: Any = NodePorts(SimpleNamespace(snapshot=None), None)  # type: ignore[arg-type]
    users = {"idle": _pod([]), "busy": _pod([("10.0.0.1", "TCP", 80)])}
    status = plugin.filter(None, _pod(requested), SimpleNamespace(pods=users))
    assert status is (REFUSED if conflict else None)


def test_a_node_without_pods_refuses_no_port() -> None:
    plugin: Any = NodePorts(SimpleNamespace(snapshot=None), None)  # type: ignore[arg-type]
    assert plugin.filter(None, _pod([("0.0.0.0", "TCP", 80)]), SimpleNamespace(pods={})) is None


def _pod(ports: list[tuple[str, str, int]]) -> Any:
    return SimpleNamespace(template=SimpleNamespace(ports=ports))
