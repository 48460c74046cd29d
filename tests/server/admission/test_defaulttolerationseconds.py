"""DefaultTolerationSeconds."""

from __future__ import annotations

from collections.abc import Callable

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from tests.server.admission.conftest import World


def test_default_not_ready_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Missing tolerations are added after the pod's own; an empty key or effect includes them."""
    w = world(only=["DefaultTolerationSeconds"])
    keys = [ORCH("node.{long}.io/not-ready"), ORCH("node.{long}.io/unreachable")]
    tolerations = w.run("pods", pod())["spec"]["tolerations"]
    assert [(t["key"], t["tolerationSeconds"]) for t in tolerations] == [(k, 300) for k in keys]
    assert w.run("pods", pod(tolerations=[{"operator": "Exists"}]))["spec"]["tolerations"] == [{"operator": "Exists"}]
    one = {"key": keys[0], "operator": "Exists", "effect": "NoExecute"}
    assert [t["key"] for t in w.run("pods", pod(tolerations=[one]))["spec"]["tolerations"]] == keys
