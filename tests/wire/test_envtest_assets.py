"""The programs of ``orchd-envtest-assets``, started as controller-runtime's envtest does."""

from __future__ import annotations

import datetime
import http.client
import json
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.config.settings import object_settings
from orchd.dialect import KUBERNETES
from orchd.kinds.release import SPECIFICATION
from orchd.kinds.strictness import GATE, field_validation
from orchd.pki.certificates import CLIENT, SERVER, chain_pem, issue_pair, new_authority, subject
from orchd.pki.keys import private_pem
from orchd.testing.envtest.apiserver import read_settings
from orchd.testing.envtest.assets import main, write_assets
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.ports import free_port
from tests.waiting import until


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    write_assets(folder, SPECIFICATION)
    return folder


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Both programs with envtest's flags and certificates of the framework."""
    folder = tmp_path_factory.mktemp("certs")
    now = datetime.datetime.now(datetime.UTC)
    serving_ca, client_ca, accounts = (new_authority(name, now=now) for name in ("serving", "clients", "accounts"))
    serving = issue_pair(serving_ca, subject("apiserver"), usages=[SERVER], names=["127.0.0.1", "localhost"], now=now)
    client = issue_pair(client_ca, subject("admin", ["system:masters"]), usages=[CLIENT], now=now)
    for name, data in {
        "apiserver.crt": chain_pem(serving.certificate),
        "apiserver.key": private_pem(serving.key),
        "client-cert-auth-ca.crt": chain_pem(client_ca.certificate),
        "ca.pem": chain_pem(serving_ca.certificate),
        "sa-signer.crt": chain_pem(accounts.certificate),
        "sa-signer.key": private_pem(accounts.key),
        "admin.pem": chain_pem(client.certificate) + private_pem(client.key),
    }.items():
        (folder / name).write_bytes(data)
    etcd_port, port = free_port(), free_port()
    url = f"http://127.0.0.1:{etcd_port}"
    etcd = subprocess.Popen(
        [
            assets / "etcd",
            f"--advertise-client-urls={url}",
            f"--data-dir={folder}/etcd",
            f"--listen-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync=true",
        ]
    )
    try:
        until(lambda: fetch(etcd_port, "/health", None)[0] == 200)
        server = subprocess.Popen(
            [
                assets / KUBERNETES("{short}-apiserver"),
                "--allow-privileged=true",
                "--authorization-mode=RBAC",
                "--bind-address=127.0.0.1",
                f"--cert-dir={folder}",
                f"--client-ca-file={folder}/client-cert-auth-ca.crt",
                "--disable-admission-plugins=ServiceAccount",
                f"--etcd-servers={url}",
                "--insecure-port=0",
                f"--secure-port={port}",
                f"--service-account-issuer=https://127.0.0.1:{port}/",
                f"--service-account-key-file={folder}/sa-signer.crt",
                f"--service-account-signing-key-file={folder}/sa-signer.key",
                "--service-cluster-ip-range=10.0.0.0/24",
            ]
        )
        try:
            anyone = ssl._create_unverified_context()
            until(lambda: fetch(port, "/healthz", anyone)[0] == 200)
            until(lambda: fetch(port, "/readyz", anyone)[0] == 200)
            yield {"port": port, "folder": folder, "etcd": etcd_port}
        finally:
            server.terminate()
            assert server.wait(PATIENCE) == 0
    finally:
        etcd.terminate()
        assert etcd.wait(PATIENCE) == 0


def fetch(
    port: int, path: str, context: ssl.SSLContext | None, method: str = "GET", body: Any = None
) -> tuple[int, Any]:
    """One request; (0, None) while nothing listens."""
    connection: http.client.HTTPConnection
    if context is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    else:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if "json" in (response.getheader("Content-Type") or "") else text
    except ConnectionError:
        return 0, None
    finally:
        connection.close()


def test_frameworks_certificates_are_used(plane: dict[str, Any]) -> None:
    """The certificate of --cert-dir is served, and clients of the framework's CA are authenticated."""
    context = ssl.create_default_context(cafile=str(plane["folder"] / "ca.pem"))
    assert fetch(plane["port"], "/api/v1/secrets", context)[0] == 403
    context.load_cert_chain(plane["folder"] / "admin.pem")
    assert fetch(plane["port"], "/api/v1/secrets", context)[0] == 200
    path = "/api/v1/namespaces/default"
    created = fetch(plane["port"], f"{path}/serviceaccounts", context, "POST", {"metadata": {"name": "a"}})
    assert created[0] == 201
    asked = fetch(
        plane["port"], f"{path}/serviceaccounts/a/token", context, "POST", {"spec": {"expirationSeconds": 3600}}
    )
    assert asked[0] == 201 and asked[1]["status"]["token"]


def test_controllers_do_not_run(plane: dict[str, Any]) -> None:
    """As in envtest, a pod can be created without a service account, which a controller would create."""
    context = ssl.create_default_context(cafile=str(plane["folder"] / "ca.pem"))
    context.load_cert_chain(plane["folder"] / "admin.pem")
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    assert fetch(plane["port"], "/api/v1/namespaces/default/pods", context, "POST", pod)[0] == 201


@pytest.mark.parametrize(
    ("flags", "runs"),
    [
        ([], False),
        (["--controllers=*"], True),
        (["--controllers=*,-namespace"], False),
        (["--controllers=namespace"], True),
    ],
)
def test_controllers_run_when_flags_say_so(flags: list[str], runs: bool, tmp_path: Path) -> None:
    """The flag overrides the default, under which no controller runs."""
    settings = read_settings(flags, tmp_path)
    assert ("namespace" in settings.controllers.names) is runs


@pytest.mark.parametrize(
    ("flags", "warns"),
    [
        (["--emulated-version=1.23"], True),
        (["--emulated-version=1.23", "--feature-gates=OpenAPIV3=true"], True),
        (["--emulated-version=1.23", f"--feature-gates={GATE}=false"], False),
        ([], True),
    ],
)
def test_unknown_fields_give_warnings_unless_flags_say_otherwise(flags: list[str], warns: bool, tmp_path: Path) -> None:
    """Unknown fields in requests that ask for no validation give warnings; the framework's gates override that."""
    settings = object_settings(read_settings(flags, tmp_path))
    assert field_validation(settings).default == ("Warn" if warns else "Ignore")


@pytest.mark.parametrize(
    ("words", "version"), [([], "v1.35."), (["--release=1.23"], "v1.23."), (["--release=1.35"], "v1.35.")]
)
def test_version_is_the_release(
    words: list[str], version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs say the release that they were written for, and a framework's flag takes precedence."""
    monkeypatch.setattr(sys, "argv", ["orchd-envtest-assets", *words, str(tmp_path)])
    main()
    program = tmp_path / KUBERNETES("{short}-apiserver")
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(KUBERNETES("{Long} ") + version)
    given = [str(program), "--emulated-version=1.23", "--version"]
    assert "v1.23." in subprocess.run(given, capture_output=True, text=True, check=True).stdout


def test_help_lists_current_flags(assets: Path) -> None:
    """`--help` succeeds and lists the flags of this release, without those of former ones."""
    text = subprocess.run(
        [assets / KUBERNETES("{short}-apiserver"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"(?m)^\s*--secure-port\b", text) and re.search(r"(?m)^\s*--kubelet-client-key\b", text)
    assert not re.search(r"(?m)^\s*--insecure-port\b", text)
    text = subprocess.run([assets / "etcd", "--help"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"(?m)^\s*--unsafe-no-fsync\b", text)


@pytest.mark.parametrize(
    ("program", "flag", "complaint"),
    [
        ("etcd", "--listen-client-urls=https://127.0.0.1:1", "listen-client-urls"),
        ("etcd", "--no-such-flag=1", "no-such-flag"),
        (KUBERNETES("{short}-apiserver"), "--insecure-port=8080", "insecure-port"),
        (KUBERNETES("{short}-apiserver"), "--no-such-flag=1", "no-such-flag"),
    ],
)
def test_invalid_flags_are_refused(assets: Path, program: str, flag: str, complaint: str) -> None:
    """An unknown flag, or an invalid value, ends the program with a message that names it."""
    done = subprocess.run([assets / program, flag], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0
    assert complaint in done.stderr
