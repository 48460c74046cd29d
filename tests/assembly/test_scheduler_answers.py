"""The media type of responses to the scheduler's client, from its configuration file."""

from __future__ import annotations

import pytest

from orchd.assembly.scheduler_process import choose_responses
from orchd.dialect import KUBERNETES
from orchd.scheduler.config.model import ConfigError

PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", "application/json"),
        ("application/json", "application/json"),
        ("application/json, application/vnd.kubernetes.protobuf", "application/json"),
        ("application/vnd.kubernetes.protobuf,application/json", PROTOBUF),
        ("application/yaml, application/vnd.kubernetes.protobuf;q=0.5", PROTOBUF),
        ("*/*", "application/json"),
    ],
)
def test_first_readable_media_type_is_chosen(accepted: str, expected: str) -> None:
    """The client asks for the first media type of the list that it can decode."""
    assert choose_responses(accepted, KUBERNETES) == expected


def test_media_types_that_cannot_be_read_are_rejected() -> None:
    """The error names the field and both media types."""
    with pytest.raises(ConfigError, match="acceptContentTypes: 'text/plain' has neither application/json nor"):
        choose_responses("text/plain", KUBERNETES)
