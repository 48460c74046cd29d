"""Commands that need no server: ``convert``, ``completion``, ``store``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from orchd.ctl.program import cli
from tests.ctl.ctl_runner import Ctl

HPA = """
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: w}, targetCPUUtilizationPercentage: 50}
"""


def test_convert_between_built_in_versions(ctl: Ctl) -> None:
    """Built-in kinds are converted locally; the error for an unknown version lists the existing ones."""
    done = yaml.safe_load(ctl("convert", "-f", "-", "--output-version=v2", send=HPA).out)
    assert done["apiVersion"] == "autoscaling/v2"
    assert done["spec"]["metrics"][0]["resource"]["target"] == {"averageUtilization": 50, "type": "Utilization"}
    assert "status" not in done
    assert "autoscaling/v2beta2" in ctl("convert", "-f", "-", "--output-version=v9", status=1, send=HPA).error


def test_completion_scripts_for_every_shell(ctl: Ctl) -> None:
    """Each shell has a script, which the program answers."""
    for shell in ("bash", "zsh", "fish"):
        assert "_ORCHCTL_COMPLETE" in ctl("completion", shell).out
    done = CliRunner().invoke(
        cli,
        [],
        prog_name="orchctl",
        env={"_ORCHCTL_COMPLETE": "bash_complete", "COMP_WORDS": "orchctl roll", "COMP_CWORD": "1"},
    )
    assert done.output == "plain,rollout\n"


def test_store_commands_pass_the_exit_status_on(ctl: Ctl, tmp_path: Path) -> None:
    """The commands of orchd-store are available, with their exit status."""
    with pytest.raises(AssertionError, match="orchd-store: "):
        ctl("store", "check", f"--data-dir={tmp_path}")
