"""Authenticators that are loaded as plugins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import orchd.plugins
from orchd.errors import ApiError
from orchd.server.authn.interfaces import Credentials
from orchd.testing.doubles.server import make_server, run

MODULE = """
from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, IAuthenticator, IAuthenticatorFactory


@implementer(IAuthenticator)
class Badge:
    name = "badge"

    def __init__(self, port):
        self.port = port

    async def authenticate(self, credentials):
        shown = credentials.headers.get("x-badge")
        return Authenticated(user=User(name=f"{{shown[0]}}-{{self.port}}")) if shown else None


@implementer(IPlugin, IAuthenticatorFactory)
class Factory:
    name = "badge"
    help = "Believes badges."

    def make(self, configuration):
        return {made}


factory = Factory()
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "plugins"
    folder.mkdir()
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(folder)])
    yield folder


def test_drop_in_authenticates_after_the_built_in_methods(plugins: Path, tmp_path: Path) -> None:
    """A plugin runs after the built-in authenticators and before the anonymous one, and reads its flags."""
    (plugins / "drop_in_badge.py").write_text(MODULE.format(made='Badge(configuration["secure-port"])'))
    server = make_server(tmp_path / "server", "--secure-port=7443")
    chain = server.server.access.authentication.chain
    assert run(chain.authenticate(Credentials(headers={"x-badge": ("ann",)}))).user.name == "ann-7443"
    assert run(chain.authenticate(Credentials(headers={}))).user.name == "system:anonymous"
    with pytest.raises(ApiError):
        run(chain.authenticate(Credentials(headers={"authorization": ("Bearer x",)})))
    server.stop()


@pytest.mark.parametrize(
    ("name", "made"), [("drop_in_none", "None"), ("drop_in_wrong", "object()"), ("drop_in_raising", "1 / 0")]
)
def test_invalid_drop_in_is_named_at_the_start(plugins: Path, tmp_path: Path, name: str, made: str) -> None:
    """A factory may return None; one that raises or returns another type fails the start, and the error names it."""
    (plugins / f"{name}.py").write_text(MODULE.format(made=made))
    if made == "None":
        make_server(tmp_path / "server").stop()
    else:
        with pytest.raises(
            ValueError, match=f"authenticator <{'.'.join(['orchd.plugins', name])}.Factory .*cannot be used"
        ):
            make_server(tmp_path / "server")
