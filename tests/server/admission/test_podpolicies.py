"""AlwaysPullImages and ExtendedResourceToleration."""

from __future__ import annotations

from collections.abc import Callable

from orchd.kinds.jsonvalues import Object
from tests.server.admission.conftest import World


def test_always_pull_images_and_extended_resource_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Images are always pulled, and extended resources get tolerations."""
    w = world(only=["AlwaysPullImages", "ExtendedResourceToleration"])
    given = pod()
    given["spec"]["containers"][0].update(imagePullPolicy="Never", resources={"requests": {"acme.com/gpu": "1"}})
    spec = w.run("pods", given)["spec"]
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert spec["tolerations"] == [{"key": "acme.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
