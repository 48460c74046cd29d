"""The controllers' settings are filled from flags, and a controller reads each of them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import orchd.controllers
from orchd.assembly.controllers import controller_settings
from orchd.config.table import component_table, table
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH

_CODE = "\n".join(path.read_text() for path in Path(orchd.controllers.__file__).parent.rglob("*.py"))


def _flag(name: str) -> str:
    return name.replace("_", "-")


def test_every_setting_is_read_by_a_controller() -> None:
    """Some controller reads each field."""
    read = set(re.findall(r"settings\.([a-z_0-9]+)", _CODE))
    assert {field.name for field in fields(ControllerSettings)} - read == set()


def test_settings_and_flags_agree() -> None:
    """Each field has a flag with the same default in the combined server and in the controller manager."""
    for flags in (table(), component_table("controller-manager")):
        usual = flags.defaults(ORCH)
        assert controller_settings(usual) == ControllerSettings()
        settable = {flag.name for flag in flags if flag.settable}
        named = {_flag(field.name) for field in fields(ControllerSettings)}
        assert named <= settable


def test_controllers_read_the_values_of_flags() -> None:
    """The controllers read the values of the flags."""
    usual = table().defaults(ORCH)
    chosen = controller_settings({**usual, "concurrent-deployment-syncs": 9, "terminated-pod-gc-threshold": 3})
    assert (chosen.concurrent_deployment_syncs, chosen.terminated_pod_gc_threshold) == (9, 3)
