"""Configurations for tests."""

from __future__ import annotations

import json
from typing import Any

from orchd.dialect import KUBERNETES, Dialect
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.config import types
from orchd.scheduler.config.decoding import decode_configuration
from orchd.scheduler.config.model import SchedulerConfiguration


def document(version: str = "v1beta3", dialect: Dialect = KUBERNETES, **members: Any) -> dict[str, Any]:
    return {"apiVersion": types.api_version(version, dialect), "kind": dialect(types.KIND), **members}


def read(
    value: dict[str, Any], dialect: Dialect = KUBERNETES, release: Release = SPECIFICATION
) -> SchedulerConfiguration:
    return decode_configuration(json.dumps(value).encode(), dialect, release=release)
