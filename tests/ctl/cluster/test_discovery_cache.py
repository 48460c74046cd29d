"""Discovery documents that are kept on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.cluster.discovery_cache import MAX_AGE, DiscoveryCache, server_key
from orchd.dialect import DIALECTS
from orchd.pki.clientconfig import ClientConfig
from tests.ctl.ctl_runner import Ctl

NOW = 1_700_000_000.0
DEFINITION = """
apiVersion: apiextensions.{abbr}.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.example.org}}
spec:
  group: example.org
  scope: Namespaced
  names: {{plural: gadgets, singular: gadget, kind: Gadget}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-{long}-preserve-unknown-fields: true}}}}}}]
"""


@pytest.fixture
def requests(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that commands ask for."""
    asked: list[str] = []
    make = ctl.server.client

    def client(*user: str, **more: Any) -> Any:
        inner: Any = make(*user, **more)
        exchange = inner.exchange

        async def counted(call: Call) -> RawResponse:
            asked.append(call.path)
            response: RawResponse = await exchange(call)
            return response

        inner.exchange = counted
        return inner

    monkeypatch.setattr(ctl.server, "client", client)
    return asked


def _definition(ctl: Ctl) -> str:
    dialect = ctl.server.dialect
    return DEFINITION.format(abbr=dialect.abbr, long=dialect.long)


def _recent(folder: Path) -> DiscoveryCache:
    """A cache for which all files of the folder were written just now."""
    for each in folder.iterdir() if folder.exists() else ():
        os.utime(each, (NOW, NOW))
    return DiscoveryCache(folder, NOW)


def test_a_later_command_asks_only_for_objects(ctl: Ctl, requests: list[str], tmp_path: Path) -> None:
    """The documents of the first command serve the second one; api-resources reads them again."""
    folder = tmp_path / "server"
    for first in (True, False):
        requests.clear()
        ctl.cache = _recent(folder)
        ctl("get", "deployments.apps")
        assert ("/apis" in requests) == first
        assert requests[-1].endswith("/deployments")
    requests.clear()
    ctl.cache = _recent(folder)
    ctl("api-resources", "--cached")
    assert "/apis/apps/v1" not in requests
    ctl.cache = _recent(folder)
    ctl("api-resources")
    assert "/apis/apps/v1" in requests
    requests.clear()
    ctl.cache = _recent(folder)
    ctl("api-versions")
    assert "/apis" in requests


def test_what_is_not_found_is_looked_up_on_the_server(ctl: Ctl, requests: list[str], tmp_path: Path) -> None:
    """A name or kind that the kept documents do not have makes the command read them again, once."""
    folder = tmp_path / "server"
    ctl.cache = _recent(folder)
    ctl("get", "deployments.apps")
    definition = _definition(ctl)
    ctl.cache = None
    ctl("create", "-f", "-", send=definition)
    ctl.cache = _recent(folder)
    ctl("get", "gadgets")
    ctl.cache = _recent(folder)
    requests.clear()
    assert 'no resource type "nope"' in ctl("get", "nope", status=1).error
    assert requests.count("/apis") == 1


def test_a_changed_definition_empties_the_cache(ctl: Ctl, tmp_path: Path) -> None:
    """A definition that a command writes removes the kept documents."""
    folder = tmp_path / "server"
    ctl.cache = _recent(folder)
    ctl("create", "cm", "m")
    ctl.cache = _recent(folder)
    ctl("get", "crd")
    assert folder.exists()
    ctl.cache = _recent(folder)
    ctl("create", "-f", "-", send=_definition(ctl))
    assert not folder.exists()


def test_unknown_resources_without_kept_documents(ctl: Ctl, requests: list[str], tmp_path: Path) -> None:
    """What the server itself said is not asked again."""
    ctl.cache = _recent(tmp_path / "server")
    assert 'the server has no resource type "nosuch"' in ctl("get", "nosuch", status=1).error
    assert requests.count("/apis") == 1


@pytest.mark.parametrize(("age", "found"), [(0, True), (MAX_AGE - 1, True), (MAX_AGE, False), (-5, False)])
def test_documents_have_an_age(tmp_path: Path, age: float, found: bool) -> None:
    """A document is used for ten minutes; one of the future is not."""
    DiscoveryCache(tmp_path, NOW).write("/apis", {"a": 1})
    os.utime(tmp_path / "%2Fapis", (NOW - age, NOW - age))
    assert DiscoveryCache(tmp_path, NOW).read("/apis") == ({"a": 1} if found else None)


def test_unusable_files_are_as_none(tmp_path: Path) -> None:
    """A file that is no JSON object, and a folder that cannot be written, are as no cache."""
    DiscoveryCache(tmp_path / "a", NOW).write("/apis", {})
    for text in ("[]", "{"):
        (tmp_path / "a" / "%2Fapis").write_text(text)
        assert _recent(tmp_path / "a").read("/apis") is None
    (tmp_path / "file").write_text("")
    cache = DiscoveryCache(tmp_path / "file" / "b", NOW)
    cache.write("/apis", {})
    assert cache.read("/apis") is None


def test_folders_of_forgotten_servers_are_removed(tmp_path: Path) -> None:
    """A folder that was not written for a week goes when that of another server is made."""
    for name in ("old", "young"):
        DiscoveryCache(tmp_path / name, NOW).write("/apis", {})
    os.utime(tmp_path / "old", (NOW - 8 * 24 * 3600, NOW - 8 * 24 * 3600))
    os.utime(tmp_path / "young", (NOW - 3600, NOW - 3600))
    DiscoveryCache(tmp_path / "new", NOW).write("/apis", {})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new", "young"]


def test_servers_differ_by_address_and_authority() -> None:
    """Another authority at the same address is another server."""
    configs = [
        ClientConfig(server="https://a", authority=b"x"), ClientConfig(server="https://a", authority=b"y"),
        ClientConfig(server="https://b", authority=b"x"),
    ]  # fmt: skip
    assert len({server_key(each) for each in configs}) == 3
    assert server_key(configs[0]) == server_key(ClientConfig(server="https://a/", authority=b"x"))


@pytest.mark.parametrize(
    ("flag", "environment", "folder"),
    [
        (None, {"HOME": "/home/u"}, Path(f"/home/u/.{next(iter(DIALECTS.values())).short}/cache")), (None, {}, None), ("/x", {"HOME": "/home/u"}, Path("/x")),
        ("", {"HOME": "/home/u"}, None),
    ],
)  # fmt: skip
def test_the_folder_of_the_cache(flag: str | None, environment: dict[str, str], folder: Path | None) -> None:
    """--cache-dir names the folder, and keeps nothing when it is empty."""
    assert configuration.cache_folder(GlobalFlags(cache_dir=flag), environment) == folder


def test_documents_that_are_not_kept(tmp_path: Path) -> None:
    """Documents of more than four mebibytes, and those of paths that are no names of files."""
    cache = DiscoveryCache(tmp_path, NOW)
    room = 4 * 1024 * 1024 - len('{"a":""}')
    for path, size in (("/exact", room), ("/large", room + 1), ("/" + "n" * 197, 1), ("/" + "n" * 198, 1)):
        cache.write(path, {"a": "x" * size})
    kept = sorted(each.name for each in tmp_path.iterdir())
    assert kept == ["%2Fexact", "%2F" + "n" * 197]
    (tmp_path / "%2Flarge").write_bytes(b'{"a":"' + b"x" * (room + 1) + b'"}')
    assert _recent(tmp_path).read("/large") is None and _recent(tmp_path).read("/exact") is not None


def test_documents_are_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that cannot be written leaves nothing behind."""

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    cache = DiscoveryCache(tmp_path / "a" / "b", NOW)
    cache.write("/one", {"a": 1})
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "replace", full)
    cache.write("/two", {"a": 1})
    assert [each.name for each in (tmp_path / "a" / "b").iterdir()] == ["%2Fone"]
