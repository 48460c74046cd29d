"""``scale``."""

from __future__ import annotations

import pytest

from tests.ctl.ctl_runner import Ctl


def replicas(ctl: Ctl) -> str:
    return ctl("get", "deploy/web", "-o", "jsonpath={.spec.replicas}").out


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--current-replicas=2"], "deployment.apps/web has 1 replicas, not 2: nothing was changed"),
        (["--current-replicas=0"], "deployment.apps/web has 1 replicas, not 0: nothing was changed"),
        (["--resource-version=1"], "the object has been modified"),
    ],
)
def test_conditions_that_do_not_hold(web: Ctl, flags: list[str], says: str) -> None:
    """The number stays if the object is not as it is expected to be."""
    assert says in web("scale", "deploy/web", "--replicas=3", *flags, status=1).error
    assert replicas(web) == "1"


def test_conditions_that_hold(web: Ctl) -> None:
    version = web("get", "deploy/web", "-o", "jsonpath={.metadata.resourceVersion}").out
    assert web("scale", "deploy/web", "--replicas=3", "--current-replicas=1").lines == ["deployment.apps/web scaled"]
    assert (
        "the object has been modified"
        in web("scale", "deploy/web", "--replicas=4", f"--resource-version={version}", status=1).error
    )
    version = web("get", "deploy/web", "-o", "jsonpath={.metadata.resourceVersion}").out
    web("scale", "deploy/web", "--replicas=0", f"--resource-version={version}")
    assert replicas(web) == "0"


def test_dry_runs(web: Ctl) -> None:
    for mode, suffix in (("client", "dry run"), ("server", "server dry run")):
        ran = web("scale", "deploy/web", "--replicas=3", f"--dry-run={mode}", "--timeout=9s")
        assert ran.lines == [f"deployment.apps/web scaled ({suffix})"]
    assert replicas(web) == "1"


def test_scale_waits_for_the_replicas(web: Ctl) -> None:
    """With --timeout scale waits until the status has the number, and says if it does not get there."""
    late = web("scale", "deploy/web", "--replicas=3", "--timeout=3s", status=1)
    assert "timed out: deployment.apps/web does not have 3 replicas yet" in late.error
    assert 3 <= web.waited <= 5
    web("patch", "deploy/web", "--subresource=status", "--type=merge", "-p", '{"status": {"replicas": 2}}')
    assert web("scale", "deploy/web", "--replicas=2", "--timeout=3s").lines == ["deployment.apps/web scaled"]
    assert web.waited == 0
    web("scale", "deploy/web", "--replicas=3")
    assert web.waited == 0


def test_kinds_without_a_scale(ctl: Ctl) -> None:
    ctl("create", "configmap", "m")
    error = ctl("scale", "cm/m", "--replicas=3", status=1).error
    assert "configmaps cannot be scaled: choose a type with a scale subresource" in error


def test_several_objects(web: Ctl) -> None:
    """An object that cannot be scaled does not keep others from it, but nothing is waited for then."""
    web("create", "configmap", "m")
    ran = web("scale", "cm/m", "deploy/web", "--replicas=3", "--timeout=9s", status=1)
    assert ran.lines == ["deployment.apps/web scaled"] and web.waited == 0
    assert "configmaps cannot be scaled" in ran.error and replicas(web) == "3"
    assert (
        web("scale", "deploy/web", "--replicas=2", "--current-replicas=3", "-o", "jsonpath={.spec.replicas}").out == "2"
    )
    web("scale", "deploy/web", "--replicas=0")
    assert web("scale", "deploy/web", "--replicas=1", "--current-replicas=0").lines == ["deployment.apps/web scaled"]
