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
    found: dict[str, Any] = yaml.safe_load(ctl("create", *words, "--dry-run=client", "-o", "yaml").out)
    return found


def test_config_maps_of_literals_files_and_variables(ctl: Ctl, tmp_path: Path) -> None:
    """Literals, files and variables are merged; a key with two values and a missing file are rejected."""
    (tmp_path / "f").write_text("text\n")
    (tmp_path / "bin").write_bytes(b"\xff")
    found = build_object(ctl, "cm", "m", "--from-literal=a=b=c", f"--from-file={tmp_path / 'f'}", f"--from-file=k={tmp_path / 'bin'}")
    assert found["data"] == {"a": "b=c", "f": "text\n"}
    assert found["binaryData"] == {"k": base64.b64encode(b"\xff").decode()}
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
    found = json.loads(ctl("get", "secret/t", "-o", "json").out)
    assert found["type"].endswith(".io/tls") and sorted(found["data"]) == ["tls.crt", "tls.key"]
    assert base64.b64decode(found["data"]["tls.key"]) == (tmp_path / "a.key").read_bytes()
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
    found = build_object(ctl, "secret", "docker-registry", "d", "--docker-username=u", "--docker-password=p", "--docker-email=e", "--docker-server=h")
    assert found["type"].endswith(".io/dockerconfigjson")
    entry = json.loads(base64.b64decode(found["data"][".dockerconfigjson"]))["auths"]["h"]
    assert entry == {"username": "u", "password": "p", "email": "e", "auth": base64.b64encode(b"u:p").decode()}
    (tmp_path / "c").write_text("{}")
    assert ctl("create", "secret", "docker-registry", "d", f"--from-file=.dockerconfigjson={tmp_path / 'c'}").out == "secret/d created\n"
    (tmp_path / "c").write_text("no json")
    bad = ctl("create", "secret", "docker-registry", "e", f"--from-file=.dockerconfigjson={tmp_path / 'c'}", status=1)
    assert "is JSON" in bad.error
    assert "needs --docker-username" in ctl("create", "secret", "docker-registry", "e", "--docker-username=u", status=1).error


@pytest.mark.parametrize("words", [("generic", "g"), ("g",)])
def test_generic_secrets(ctl: Ctl, words: tuple[str, ...]) -> None:
    """The word generic may be omitted."""
    assert ctl("create", "secret", *words, "--from-literal=a=b", "--type=x/y").out == "secret/g created\n"
    assert ctl("get", "secret/g", "-o", "go-template={{.type}} {{.data.a | base64decode}}").out == "x/y b"


def test_created_objects_keep_their_configuration(ctl: Ctl) -> None:
    """With --save-config an annotation has the object; --field-manager owns its fields."""
    ctl("create", "cm", "m", "--from-literal=a=b", "--save-config", "--field-manager=me")
    found = json.loads(ctl("get", "cm/m", "-o", "json", "--show-managed-fields").out)
    [text] = found["metadata"]["annotations"].values()
    assert json.loads(text)["data"] == {"a": "b"} and json.loads(text)["metadata"] == {"annotations": {}, "name": "m"}
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == ["me"]


def test_raw_requests(ctl: Ctl) -> None:
    """--raw sends a file unchanged to a path, and prints the response."""
    path = "/api/v1/namespaces/default/configmaps"
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "%s"}}'
    assert json.loads(ctl("create", "--raw", path, "-f", "-", send=body % 1).out)["data"] == {"a": "1"}
    assert json.loads(ctl("replace", "--raw", f"{path}/m", "-f", "-", send=body % 2).out)["data"] == {"a": "2"}
    assert json.loads(ctl("delete", "--raw", f"{path}/m").out)["status"] == "Success"
    assert "a path begins with /" in ctl("create", "--raw", "x", "-f", "-", status=1, send=body).error
    assert "--raw takes one file" in ctl("replace", "--raw", path, status=1).error
    assert "leave out types" in ctl("delete", "cm", "--raw", path, status=1).error


def test_edited_and_selected_creation(ctl: Ctl) -> None:
    """`create --edit` opens the objects before their creation; -l selects objects of the files."""
    text = "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {n}, labels: {{is: {n}}}}}\n" for n in "ab")
    assert ctl("create", "-f", "-", "-l", "is=b", send=text).lines == ["configmap/b created"]
    ctl.edit = lambda shown: shown.replace("name: a", "name: c")
    assert ctl("create", "-f", "-", "-l", "is=a", "--edit", send=text).lines == ["configmap/c created"]
    ctl.edit = lambda shown: None
    assert "edit cancelled" in ctl("create", "-f", "-", "--edit", status=1, send=text).error
    assert "no object of the files has the labels is=z" in ctl("create", "-f", "-", "-l", "is=z", status=1, send=text).error
