"""The Debian package and the container image agree with the distribution."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.config.table import COMPONENTS
from orchd.manuals import manual_pages
from orchd.tap import Options

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def distribution() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(comment_prefixes="#")
    parsed.read(ROOT / "setup.cfg", encoding="utf-8")
    return parsed


def programs(distribution: configparser.ConfigParser) -> set[str]:
    """The console programs."""
    lines = distribution["options.entry_points"]["console_scripts"].strip().splitlines()
    return {line.partition("=")[0].strip() for line in lines}


def extras(text: str) -> set[str]:
    """The extras that a text installs from this folder."""
    (extras,) = re.findall(r"'(?:\.|/src)\[([\w,]+)\]'", text)
    return set(extras.split(","))


def test_debian_has_the_version(distribution: configparser.ConfigParser) -> None:
    """The newest entry of debian/changelog has the version of the distribution."""
    first = (ROOT / "debian/changelog").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"orchd ({distribution['metadata']['version']}) ")


def test_debian_installs_programs_and_pages(distribution: configparser.ConfigParser) -> None:
    """Each program that /usr/bin links to is a program of the distribution, in the folder that the units name. Each has
    a manual page except orchctl, whose commands are documented by --help."""
    links = [line.split() for line in (ROOT / "debian/orchd.links").read_text(encoding="utf-8").splitlines()]
    names = {Path(target).name for _, target in links}
    assert {source for source, _ in links} == {f"opt/orchd/bin/{name}" for name in names}
    assert names <= programs(distribution)
    assert {*(f"{name}.8" for name in names - {"orchctl"}), "orchctl.1"} == set(manual_pages())
    installed = (ROOT / "debian/orchd.manpages").read_text(encoding="utf-8").split()
    assert {Path(pattern).suffix for pattern in installed} == {Path(page).suffix for page in manual_pages()}
    units = [path.read_text(encoding="utf-8") for path in (ROOT / "systemd").glob("*.service")]
    assert all("ExecStart=/opt/orchd/bin/" in unit for unit in units)


def test_flag_files_of_the_units_are_installed() -> None:
    """debian/rules installs every flag file that a unit names into /etc/orchd."""
    rules = (ROOT / "debian/rules").read_text(encoding="utf-8")
    for unit in (ROOT / "systemd").glob("*.service"):
        (name,) = re.findall(
            r"^ExecStart=.*--flagfile=/etc/orchd/(\S+)$", unit.read_text(encoding="utf-8"), re.MULTILINE
        )
        source = "apiserver.flags" if name.removesuffix(".flags") not in COMPONENTS else name
        assert f"conf/{source}" in rules
        assert f"/etc/orchd/{name}" in rules or source == name


@pytest.mark.parametrize("name", ["debian/rules", "Dockerfile"])
def test_package_extras_exist(distribution: configparser.ConfigParser, name: str) -> None:
    """A package installs all extras of the distribution except those for tests and lint."""
    chosen = extras((ROOT / name).read_text(encoding="utf-8"))
    assert chosen <= set(distribution["options.extras_require"]) - {"test", "lint", "docs"}
    assert "scheduler" in chosen


def test_build_context_is_complete() -> None:
    """The build context of the container has exactly the files from which a wheel is built."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    taken = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / name).exists() for name in taken)
    assert {
        "orchd",
        "twisted/plugins/orchd_plugin.py",
        "contrib/backend",
        "setup.cfg",
        "pyproject.toml",
        "README.md",
    } <= taken


def test_image_runs_unprivileged() -> None:
    """The last stage sets a numeric user, and its command is a program of the distribution."""
    last = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+):\d+$", last, re.MULTILINE)
    assert int(user) > 0
    assert '\nENTRYPOINT ["orchd", "--data-dir=/var/lib/orchd"]' in last


def servers() -> dict[str, Any]:
    """The services of compose.yaml that run this server."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return {name: service for name, service in services.items() if service["image"] == "orchd"}


def test_compose_has_three_servers_on_one_etcd() -> None:
    """Their flags are valid, all use the one etcd, and each has its own data folder and port."""
    services = servers()
    assert len(services) == 3
    prefixes = set()
    for service in services.values():
        options = Options()
        options.parseOptions(service["command"])
        assert options.settings is not None
        assert options.settings.storage.etcd is not None
        prefixes.add((tuple(options.value("etcd-servers")), options.settings.storage.etcd.prefix))
    assert len(prefixes) == 1
    assert (
        len({service["volumes"][0] for service in services.values()})
        == len({service["ports"][0] for service in services.values()})
        == 3
    )


def test_containers_are_read_only() -> None:
    """Every server has a read-only root, no capabilities, and cannot gain privileges."""
    for service in servers().values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_joining_servers_copy_the_ca_keys() -> None:
    """All servers but the first copy its keys before they start, and wait until it is ready."""
    for name, service in servers().items():
        if name != "server-1":
            assert "cp -a /first/pki" in service["entrypoint"][2]
            assert "server-1:/first:ro" in service["volumes"]
            assert service["depends_on"] == {"server-1": {"condition": "service_healthy"}}
