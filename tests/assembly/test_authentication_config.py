"""Client and proxy certificate authorities: reloaded from their files, and published for extension API servers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.pki.certificates import CLIENT, Signed, chain_pem, issue_pair, new_authority, subject
from orchd.server.authn.interfaces import Credentials
from orchd.server.reconcilers.authentication_config import combine
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run

THEN = datetime.fromtimestamp(NOW, UTC)
ONE, TWO = new_authority("one", now=THEN), new_authority("two", now=THEN)
MAPS = ResourceRef("", "v1", "configmaps")


def pem(*authorities: Signed) -> str:
    return chain_pem(*(authority.certificate for authority in authorities)).decode()


def published(server: InProcessServer) -> dict[str, str]:
    client = server.client("admin", "system:masters")
    config_map: dict[str, str] = run(client.get(MAPS, ORCH.system_namespace, "extension-apiserver-authentication"))[
        "data"
    ]
    return config_map


def authenticates(server: InProcessServer, authority: Signed, **headers: str) -> bool:
    pair = issue_pair(authority, subject("proxy"), usages=(CLIENT,), now=THEN, lifetime=timedelta(hours=1))
    shown = {name.replace("_", "-"): (value,) for name, value in headers.items()}
    credentials = Credentials(headers=shown, certificates=(pair.certificate.public_bytes(Encoding.DER),))
    try:
        run(server.server.access.authentication.chain.authenticate(credentials))
    except Exception as error:
        assert getattr(error, "code", 0) == 401
        return False
    return True


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    clients, proxies = tmp_path / "clients.pem", tmp_path / "proxies.pem"
    clients.write_text(pem(ONE))
    proxies.write_text(pem(TWO))
    return clients, proxies


def make_configured_server(tmp_path: Path, files: tuple[Path, Path]) -> InProcessServer:
    return make_server(
        tmp_path / "server",
        f"--client-ca-file={files[0]}",
        f"--requestheader-client-ca-file={files[1]}",
        "--requestheader-username-headers=X-Remote-User,X-Other",
        "--requestheader-group-headers=X-Remote-Group",
    )


def test_config_map_has_the_authorities_and_header_names(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """The ConfigMap holds both CA bundles and the names of the request headers."""
    server = make_configured_server(tmp_path, files)
    assert published(server) == {
        "client-ca-file": pem(ONE),
        "requestheader-client-ca-file": pem(TWO),
        "requestheader-allowed-names": "[]",
        "requestheader-extra-headers-prefix": "[]",
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-username-headers": '["X-Remote-User","X-Other"]',
    }
    server.stop()


def test_changed_ca_files_are_reloaded(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """New authorities are trusted within seconds and removed ones no longer; an invalid file changes nothing."""
    server = make_configured_server(tmp_path, files)
    assert (
        authenticates(server, ONE) and authenticates(server, TWO, x_remote_user="a") and not authenticates(server, TWO)
    )
    files[0].write_text("broken")
    server.clock.advance(10)
    assert authenticates(server, ONE)
    files[0].write_text(pem(TWO) + "\n")
    files[1].write_text(pem(ONE) + "\n")
    server.clock.advance(10)
    assert (
        authenticates(server, TWO) and not authenticates(server, ONE) and authenticates(server, ONE, x_remote_user="a")
    )
    assert published(server)["client-ca-file"] == pem(ONE, TWO)
    server.stop()
    assert not server.clock.getDelayedCalls()


def test_config_map_is_restored(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """A deleted or damaged ConfigMap is restored within a minute; entries that others added to it stay."""
    server = make_configured_server(tmp_path, files)
    admin, name = server.client("admin", "system:masters"), "extension-apiserver-authentication"
    whole = published(server)
    run(admin.delete(MAPS, ORCH.system_namespace, name))
    server.clock.advance(60)
    assert published(server) == whole
    config_map = run(admin.get(MAPS, ORCH.system_namespace, name))
    own = {**whole, "requestheader-group-headers": '["X-Theirs"]', "client-ca-file": pem(TWO)}
    run(admin.update(MAPS, ORCH.system_namespace, name, {**config_map, "data": own}))
    server.clock.advance(60)
    assert published(server) == {
        **whole, "requestheader-group-headers": '["X-Theirs","X-Remote-Group"]', "client-ca-file": pem(TWO, ONE),
    }  # fmt: skip
    server.stop()
    assert not server.clock.getDelayedCalls()


def test_without_ca_files_nothing_is_published(tmp_path: Path) -> None:
    """Without a CA for front proxies, the names of the request headers are not published."""
    server = make_server(tmp_path)
    assert list(published(server)) == ["client-ca-file"]
    server.stop()


OLD = new_authority("old", now=THEN - timedelta(days=20000), lifetime=timedelta(days=1))


@pytest.mark.parametrize(("found", "own", "result"), [
    ({}, {"client-ca-file": pem(ONE)}, {"client-ca-file": pem(ONE)}),
    ({"client-ca-file": pem(ONE, TWO)}, {"client-ca-file": pem(TWO)}, {"client-ca-file": pem(ONE, TWO)}),
    ({"client-ca-file": "garbage"}, {"client-ca-file": pem(TWO)}, {"client-ca-file": pem(TWO)}),
    ({"client-ca-file": pem(OLD)}, {"client-ca-file": pem(ONE)}, {"client-ca-file": pem(ONE)}),
    ({"requestheader-group-headers": '["a"]', "mine": "x"}, {"client-ca-file": pem(ONE)}, {"client-ca-file": pem(ONE)}),
])  # fmt: skip
def test_entries_of_other_servers_are_kept(found: dict[str, str], own: dict[str, str], result: dict[str, str]) -> None:
    """Certificates that other servers published stay unless they have expired or cannot be parsed."""
    assert combine(found, own, now=THEN) == result


@pytest.mark.parametrize(("theirs", "ours", "both"), [
    ('["a","b"]', '["b","c"]', ["a", "b", "c"]), ("nonsense", '["c"]', ["c"]), ("3", "[]", []), ('["a",3]', "[]", ["a"]),
])  # fmt: skip
def test_header_names_are_merged_without_duplicates(theirs: str, ours: str, both: list[str]) -> None:
    """Each header name is published once, in the order in which the names were found."""
    key, bundle = "requestheader-username-headers", {"requestheader-client-ca-file": pem(ONE)}
    combined: Any = combine({key: theirs, **bundle}, {key: ours, **bundle}, now=THEN)
    assert json.loads(combined[key]) == both


@pytest.mark.parametrize(("flag", "text"), [
    ("client-ca-file", "no certificate in PEM form"),
    ("requestheader-client-ca-file", "no certificate in PEM form"),
    ("oidc-ca-file", "no certificate in PEM form"),
    ("authorization-policy-file", r"error reading policy file .*wrong, line 1: nonsense: couldn't get version/kind"),
    ("authorization-webhook-config-file", "wrong: not a mapping"),
    ("authentication-token-webhook-config-file", "wrong: not a mapping"),
    ("token-auth-file", "wrong:1: at least 3 columns"),
])  # fmt: skip
@pytest.mark.parametrize("there", [True, False])
def test_invalid_ca_files_fail_the_start(tmp_path: Path, flag: str, text: str, there: bool) -> None:
    """The server does not start with invalid CA files, and the error names the flag."""
    file = tmp_path / "wrong"
    if there:
        file.write_text("nonsense")
    more = {
        "oidc-ca-file": ("--oidc-issuer-url=https://i", "--oidc-client-id=c"),
        "authorization-policy-file": ("--authorization-mode=ABAC",),
        "authorization-webhook-config-file": ("--authorization-mode=Webhook",),
    }.get(flag, ())
    with pytest.raises(ValueError, match=f"^--{flag}: .*{text if there else 'No such file'}"):
        make_server(tmp_path / "server", f"--{flag}={file}", *more)
