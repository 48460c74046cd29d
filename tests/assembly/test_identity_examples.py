"""The authenticator and the authorizer of docs/extending, dropped into a server."""

from __future__ import annotations

import hmac
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchd.plugins
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.server.authn.interfaces import Credentials
from orchd.testing.doubles.server import make_server, run

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
KEY = b"k" * 40
MAPS = ResourceRef("", "v1", "configmaps")


@pytest.fixture(autouse=True)
def dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "dropped"
    folder.mkdir()
    names = ("authenticator", "authorizer")
    for name in names:
        (folder / f"drop_in_example_{name}.py").write_bytes((EXAMPLES / f"{name}.py").read_bytes())
    (tmp_path / "key").write_bytes(KEY)
    monkeypatch.setenv("SESSION_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(folder)])
    yield
    for name in names:
        sys.modules.pop(f"orchd.plugins.drop_in_example_{name}", None)


def token(user: str, *groups: str, ends: int = 4_000_000_000, key: bytes = KEY) -> str:
    encoded = [urlsafe_b64encode(each.encode()).decode() for each in (user, *groups)]
    signed = f"session.{encoded[0]}.{'+'.join(encoded[1:])}.{ends}"
    return f"{signed}.{hmac.digest(key, signed.encode(), 'sha256').hex()}"


def test_example_authenticator(tmp_path: Path) -> None:
    """A signed token names user and groups; a forged, an expired and a malformed one get 401, and no token at all
    remains anonymous."""
    server = make_server(tmp_path / "data")
    chain = server.server.access.authentication.chain

    def user(bearer: str) -> tuple[str, tuple[str, ...]]:
        user = run(chain.authenticate(Credentials(headers={"authorization": (f"Bearer {bearer}",)}))).user
        return user.name, tuple(user.groups)

    assert user(token("ann", "team:blue")) == ("ann", ("team:blue", "system:authenticated"))
    assert user(token("ann")) == ("ann", ("system:authenticated",))
    for wrong in (
        token("ann", key=b"x" * 40),
        token("ann", ends=1),
        token("ann") + "0",
        "session.",
        "session.a.b",
        "other",
    ):
        with pytest.raises(ApiError) as refused:
            user(wrong)
        assert refused.value.code == 401, wrong
    assert run(chain.authenticate(Credentials(headers={}))).user.name == "system:anonymous"
    server.stop()


def test_example_authorizer(tmp_path: Path) -> None:
    """A team may do everything in its namespaces, nothing elsewhere, and RBAC counts as well."""
    server = make_server(tmp_path / "data", "--authorization-mode=RBAC,TeamNamespaces")
    ann, admin = server.client("ann", "team:blue", "system:authenticated"), server.client("admin", "system:masters")
    namespaces = ResourceRef("", "v1", "namespaces")
    for name in ("blue-web", "bluebell", "red-web"):
        run(admin.create(namespaces, "", {"metadata": {"name": name}}))
    assert run(ann.create(MAPS, "blue-web", {"metadata": {"name": "a"}}))["metadata"]["name"] == "a"
    for namespace in ("bluebell", "red-web", ""):
        with pytest.raises(ApiError) as refused:
            run(ann.list(MAPS, namespace))
        assert refused.value.code == 403, namespace
    server.stop()
