"""Loading of a configuration file."""

from __future__ import annotations

from orchd.dialect import Dialect
from orchd.scheduler.config.decoding import decode_configuration
from orchd.scheduler.config.model import SchedulerConfiguration
from orchd.scheduler.config.validation import validate


def load(data: bytes, dialect: Dialect) -> SchedulerConfiguration:
    """Decode, default and validate the text of a file. Raises ConfigError."""
    config = decode_configuration(data, dialect)
    validate(config, dialect)
    return config
