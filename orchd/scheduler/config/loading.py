"""Loading of a configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from orchd.dialect import Dialect
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.config.decoding import decode_configuration
from orchd.scheduler.config.model import SchedulerConfiguration
from orchd.scheduler.config.validation import validate


def load(
    data: bytes, dialect: Dialect, features: Mapping[str, bool] = MappingProxyType({}), release: Release = SPECIFICATION
) -> SchedulerConfiguration:
    """Decode, default and validate the text of a file. `features` are the feature gates that were given. Raises
    ConfigError."""
    config = decode_configuration(data, dialect, features, release)
    validate(config, dialect, features)
    return config
