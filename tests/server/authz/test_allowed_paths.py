"""Paths of --authorization-always-allow-paths."""

from __future__ import annotations

import pytest

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision
from orchd.server.authz.paths import AllowedPaths
from orchd.testing.doubles.results import result_of


@pytest.mark.parametrize(
    ("paths", "path", "allowed"),
    [
        (["/healthz"], "/healthz", True),
        (["healthz"], "/healthz", True),
        (["/healthz"], "/healthz/etcd", False),
        (["/healthz"], "/healthz2", False),
        (["/healthz*"], "/healthz2", True),
        (["/healthz/*"], "/healthz/etcd", True),
        (["/healthz/*"], "/healthz", False),
        (["/a", "/b/*"], "/b/c", True),
        (["/a", "/b/*"], "/c", False),
        (["*"], "/metrics", True),
        (["*"], "", False),
        ([""], "", False),
    ],
)
def test_paths_are_allowed(paths: list[str], path: str, allowed: bool) -> None:
    """A path is allowed as it is, or by a prefix with a star; actions on resources have no path and are left to others."""
    action = Action(user=User(name="u"), verb="get", path=path, resource="" if path else "pods")
    decision = result_of(AllowedPaths(paths).authorize(action)).decision
    assert decision is (Decision.ALLOW if allowed else Decision.NO_OPINION)
