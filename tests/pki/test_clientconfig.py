"""Client configuration files are read and written as stock clients do it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.pki.clientconfig import ClientConfig, ClientConfigError, load, parse


def test_round_trip() -> None:
    """What is rendered is what is read."""
    config = ClientConfig(
        server="https://h:1",
        authority=b"ca",
        certificate=b"crt",
        key=b"key",
        token="t",
        namespace="n",
        cluster="c",
        user="u",
    )
    assert parse(config.render()) == config


def test_files_beside_it(tmp_path: Path) -> None:
    """Relative paths start where the file is."""
    (tmp_path / "ca.crt").write_bytes(b"authority")
    path = tmp_path / "config"
    path.write_text(
        "{kind: Config, apiVersion: v1, current-context: x, contexts: [{name: x, context: {cluster: c}}],"
        " clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]}"
    )
    assert load(path).authority == b"authority"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not YAML"),
        ("[]", "not a mapping"),
        ("{kind: Pod}", "not of kind Config"),
        ("{current-context: a}", "no context 'a'"),
        ("{current-context: a, contexts: [{name: a, context: {cluster: b}}]}", "no cluster 'b'"),
        (
            "{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b}]}",
            "has no server",
        ),
    ],
)
def test_unusable(text: str, message: str) -> None:
    """An error says what is missing."""
    with pytest.raises(ClientConfigError, match=message):
        parse(text)
