"""No flag is accepted and ignored: production code reads every setting."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import orchd
from orchd.config import settings
from orchd.config.table import table

_ROOT = Path(orchd.__file__).parent
#: Fields that only select which of several others is used.
_INNER = {"backend"}


def test_every_setting_is_read() -> None:
    """Code outside the configuration reads each field of the settings."""
    code = "\n".join(path.read_text() for path in _ROOT.rglob("*.py") if path.parent.name != "config")
    asked = set(re.findall(r"\.([a-z_0-9]+)\b", code))
    groups: list[type[Any]] = [
        each for each in vars(settings).values() if is_dataclass(each) and isinstance(each, type) and each.__name__.endswith("Settings")
    ]
    assert len(groups) > 5
    unread = {f"{group.__name__}.{field.name}" for group in groups for field in fields(group)} - {
        f"{group.__name__}.{name}" for group in groups for name in asked | _INNER
    }
    assert not unread


def test_every_built_flag_is_used() -> None:
    """Each flag that is marked built, and not merely deprecated, is named where settings are made from values or read
    by name elsewhere."""
    code = "\n".join(path.read_text() for path in _ROOT.rglob("*.py") if path.name not in ("apiserver.py", "shared.py"))
    named = set(re.findall(r'"([a-z0-9{}-]+)"', code))
    named |= {prefix + rest for rest in re.findall(r'"\{prefix\}(-[a-z-]+)"', code) for prefix in ("audit-log", "audit-webhook")}
    silent = {flag.name for flag in table() if flag.built and not flag.deprecated and flag.name not in named}
    assert not silent
