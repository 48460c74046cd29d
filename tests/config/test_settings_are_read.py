"""No flag is accepted and ignored: production code reads every setting."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import orchd
from orchd.config import sections, settings
from orchd.config.table import COMPONENTS, table
from orchd.controllers.settings import ControllerSettings

_ROOT = Path(orchd.__file__).parent
#: Fields that only select which of several others is used.
_INNER = {"backend"}


def test_every_setting_is_read() -> None:
    """Code outside the configuration reads each field of the settings."""
    code = "\n".join(path.read_text() for path in _ROOT.rglob("*.py") if not path.is_relative_to(_ROOT / "config"))
    code += inspect.getsource(settings.object_settings)
    asked = set(re.findall(r"\.([a-z_0-9]+)\b", code))
    modules = [
        settings,
        *(import_module(f"{sections.__name__}.{module.name}") for module in iter_modules(sections.__path__)),
    ]
    groups: set[type[Any]] = {
        each
        for module in modules
        for each in vars(module).values()
        if is_dataclass(each) and isinstance(each, type) and each.__name__.endswith("Settings")
    }
    assert len(groups) > 15
    unread = {f"{group.__name__}.{field.name}" for group in groups for field in fields(group)} - {
        f"{group.__name__}.{name}" for group in groups for name in asked | _INNER
    }
    assert not unread


def test_every_settable_flag_is_used() -> None:
    """Each flag that accepts other values than its default, and is not merely deprecated or without effect, is named
    where settings are made from values or read by name elsewhere."""
    code = "\n".join(path.read_text() for path in _ROOT.rglob("*.py") if path.parent.name != "rows")
    named = set(re.findall(r'"([a-z0-9{}-]+)"', code))
    named |= {
        prefix + rest
        for rest in re.findall(r'"\{prefix\}(-[a-z-]+)"', code)
        for prefix in ("audit-log", "audit-webhook")
    }
    named |= {
        prefix + rest
        for prefix in named
        if prefix.startswith("cluster-signing")
        for rest in ("-cert-file", "-key-file")
    }
    named |= {f"{name}-flagfile" for name in COMPONENTS}
    # Settings of controllers are named as their flags.
    named |= {each.name.replace("_", "-") for each in fields(ControllerSettings)}
    silent = {
        flag.name for flag in table() if flag.settable and not (flag.deprecated or flag.noop) and flag.name not in named
    }
    assert not silent
