"""One server process per module, in each dialect that the module names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.dialect import DIALECTS, KUBERNETES
from orchd.testing.processes.daemon import DaemonProcess
from tests.wire.wire_cli import Cli, complaints, in_new_namespace

#: A file for --token-auth-file with a plain user and an administrator.
TOKENS = 'alice-token,alice,alice-uid,"dev,qa"\nadmin-token,root,root-uid,"system:masters"\n'

_counter = itertools.count(1)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running server in the stock dialect, or in each of the module's `DIALECT_NAMES`."""
    dialect = DIALECTS[getattr(request, "param", KUBERNETES.name)]
    folder = tmp_path_factory.mktemp("wire")
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    with DaemonProcess(folder, f"--token-auth-file={tokens}", dialect=dialect) as process:
        yield process
    assert process.status == 0
    assert complaints(process.log) == []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    dialects = getattr(metafunc.module, "DIALECT_NAMES", None)
    if dialects and "server" in metafunc.fixturenames:
        metafunc.parametrize("server", dialects, indirect=True, scope="module")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def cli(server: DaemonProcess, home: Path) -> Cli:
    """The stock client in a namespace of the test."""
    cli = Cli(server, home)
    cli.namespace = in_new_namespace(server, f"wire-{next(_counter)}")
    return cli
