"""AlwaysDeny, and refusals of plugins."""

from __future__ import annotations

from orchd.errors import ApiError
from tests.server.admission.conftest import World, configmap


def test_always_deny_refuses_everything(world: type[World]) -> None:
    """Every request is rejected."""
    assert "denying all" in world(enable=["AlwaysDeny"]).refusal("configmaps", configmap()).message


def test_refusals_name_the_object(world: type[World]) -> None:
    """The message has the object's name, or its generateName."""
    error = world(enable=["AlwaysDeny"]).refusal("configmaps", {"metadata": {"generateName": "gen-"}})
    assert isinstance(error, ApiError) and error.message.startswith('configmaps "gen-" is forbidden: ')
