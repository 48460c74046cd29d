"""``create configmap`` and ``create secret``."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import private_pem
from tests.ctl.ctl_runner import Ctl


def build_object(ctl: Ctl, *words: str) -> dict[str, Any]:
    """The object that a command would create."""
    built: dict[str, Any] = yaml.safe_load(ctl("create", *words, "--dry-run=client", "-o", "yaml").out)
    return built


def test_config_maps_of_literals_files_and_variables(ctl: Ctl, tmp_path: Path) -> None:
    """Literals, files and variables are merged; a key with two values and a missing file are rejected."""
    (tmp_path / "f").write_text("text\n")
    (tmp_path / "bin").write_bytes(b"\xff")
    config_map = build_object(
        ctl, "cm", "m", "--from-literal=a=b=c", f"--from-file={tmp_path / 'f'}", f"--from-file=k={tmp_path / 'bin'}"
    )
    assert config_map["data"] == {"a": "b=c", "f": "text\n"}
    assert config_map["binaryData"] == {"k": base64.b64encode(b"\xff").decode()}
    assert "data" not in build_object(ctl, "cm", "m")
    twice = ctl("create", "cm", "m", "--from-literal=a=1", "--from-literal=a=2", status=1)
    assert "there is a value for a already" in twice.error
    both = ctl("create", "cm", "m", "--from-literal=f=1", f"--from-file={tmp_path / 'f'}", status=1)
    assert "more than one value for f" in both.error
    assert "check the path of --from-file" in ctl("create", "cm", "m", "--from-file=/nope", status=1).error


def test_hash_of_the_contents_is_appended_to_the_name(ctl: Ctl) -> None:
    """Names with --append-hash equal those of kustomize and kubectl."""
    words = ("--from-literal=a=b", "--append-hash", "--dry-run=client", "-o", "name")
    assert ctl("create", "configmap", "cm4", *words).out == "configmap/cm4-7bdh9ktg4c\n"
    assert ctl("create", "secret", "generic", "s3", *words).out == "secret/s3-tbfb75h694\n"


def test_tls_secrets_hold_a_matching_pair(ctl: Ctl, tmp_path: Path) -> None:
    """A TLS secret is created from a certificate and its key; the error for others names the flag."""
    for name in ("a", "b"):
        signed = self_signed(name, names=(), now=datetime.now(UTC))
        (tmp_path / f"{name}.crt").write_bytes(chain_pem(signed.certificate))
        (tmp_path / f"{name}.key").write_bytes(private_pem(signed.key))
    cert, key, other = f"--cert={tmp_path / 'a.crt'}", f"--key={tmp_path / 'a.key'}", f"--key={tmp_path / 'b.key'}"
    assert ctl("create", "secret", "tls", "t", cert, key).out == "secret/t created\n"
    secret = json.loads(ctl("get", "secret/t", "-o", "json").out)
    assert secret["type"].endswith(".io/tls") and sorted(secret["data"]) == ["tls.crt", "tls.key"]
    assert base64.b64decode(secret["data"]["tls.key"]) == (tmp_path / "a.key").read_bytes()
    for flags, says in (
        ((cert,), "needs --cert and --key"),
        ((cert, other), "--key is not the key of the certificate"),
        ((f"--cert={tmp_path / 'a.key'}", key), "--cert: not a certificate"),
        ((cert, f"--key={tmp_path / 'a.crt'}"), "--key: not a private key"),
        ((cert, "--key=/nope"), "check the path of --key"),
    ):
        assert says in ctl("create", "secret", "tls", "u", *flags, status=1).error


def test_registry_secrets_hold_a_client_configuration(ctl: Ctl, tmp_path: Path) -> None:
    """A registry secret is created from a user and a password, or from a configuration file."""
    secret = build_object(
        ctl,
        "secret",
        "docker-registry",
        "d",
        "--docker-username=u",
        "--docker-password=p",
        "--docker-email=e",
        "--docker-server=h",
    )
    assert secret["type"].endswith(".io/dockerconfigjson")
    entry = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))["auths"]["h"]
    assert entry == {"username": "u", "password": "p", "email": "e", "auth": base64.b64encode(b"u:p").decode()}
    (tmp_path / "c").write_text("{}")
    assert (
        ctl("create", "secret", "docker-registry", "d", f"--from-file=.dockerconfigjson={tmp_path / 'c'}").out
        == "secret/d created\n"
    )
    (tmp_path / "c").write_text("no json")
    bad = ctl("create", "secret", "docker-registry", "e", f"--from-file=.dockerconfigjson={tmp_path / 'c'}", status=1)
    assert "is JSON" in bad.error
    assert (
        "needs --docker-username"
        in ctl("create", "secret", "docker-registry", "e", "--docker-username=u", status=1).error
    )


@pytest.mark.parametrize("words", [("generic", "g"), ("g",)])
def test_generic_secrets(ctl: Ctl, words: tuple[str, ...]) -> None:
    """The word generic may be omitted."""
    assert ctl("create", "secret", *words, "--from-literal=a=b", "--type=x/y").out == "secret/g created\n"
    assert ctl("get", "secret/g", "-o", "go-template={{.type}} {{.data.a | base64decode}}").out == "x/y b"


def test_create_from_files_of_variables(ctl: Ctl, tmp_path: Path) -> None:
    """Comments and empty lines are ignored; an invalid line, or another source besides the file, is rejected."""
    file = tmp_path / "env"
    file.write_text("\ufeffA=1\n# no\n\n  B=two = words \nABSENT\n")
    ctl("create", "configmap", "vars", f"--from-env-file={file}")
    assert yaml.safe_load(ctl("get", "cm/vars", "-o", "yaml").out)["data"] == {
        "A": "1",
        "B": "two = words ",
        "ABSENT": "",
    }
    ctl("create", "secret", "generic", "vars", f"--from-env-file={file}")
    assert yaml.safe_load(ctl("get", "secret/vars", "-o", "yaml").out)["data"]["A"] == "MQ=="
    refused = ctl("create", "configmap", "w", f"--from-env-file={file}", "--from-literal=a=b", status=1).error
    assert "--from-env-file cannot be combined" in refused
    file.write_text("A=1\n1 B=2\n")
    assert (
        "line 2: '1 B' is not the name of a variable"
        in ctl("create", "cm", "w", f"--from-env-file={file}", status=1).error
    )
    assert "No such file" in ctl("create", "cm", "w", "--from-env-file=/none", status=1).error
