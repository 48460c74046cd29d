"""Selection of authorizers by --authorization-mode."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.server.authz import modes as authorizer_modes
from orchd.server.authz.modes import make_union
from orchd.testing.doubles.informers import MemoryInformers
from orchd.txkit import dropins


def union(*modes: Any, **more: Any) -> Any:
    return make_union(modes, dialect=ORCH, informers=MemoryInformers(), flags={}, **more)


def test_modes_follow_the_privileged_group_in_order() -> None:
    """The privileged group is checked first, then the modes in the order of the flag."""
    assert [a.name for a in union("Node", "RBAC").authorizers] == ["privileged", "Node", "RBAC", "selfreviews"]


@pytest.mark.parametrize(
    ("modes", "text"),
    [
        ((), "at least one"),
        (("RBAC", "RBAC"), "twice"),
        (("Rbac",), "the nearest is 'RBAC'"),
        (("Webhook",), "not configured"),
    ],
)
def test_invalid_modes_are_refused(modes: Any, text: str) -> None:
    """No mode, a repeated or unknown mode, and a mode without its configuration are errors."""
    with pytest.raises(ValueError, match=text):
        union(*modes)


def test_drop_in_authorizer_is_selected_by_mode() -> None:
    """A drop-in factory is used for the mode of its name."""

    class Factory:
        def make(self, flags: Any) -> Any:
            return self

    factory = Factory()
    assert union("Mine", more={"Mine": factory}).authorizers[-1] is factory


def test_a_drop_in_without_the_interface_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factory that does not provide its interface is an error that names it."""

    class Mine:
        name = "Mine"

    monkeypatch.setattr(dropins, "drop_ins", lambda interface, package: [Mine()])
    with pytest.raises(ValueError, match=r"Mine object at .* cannot be used"):
        authorizer_modes.drop_ins()
