"""The shared page with the newest revision of a served store."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor

from orchd.store.etcd import messages
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.store.revision_page import RevisionPage, RevisionReader, page_file, read_page
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.served_store import ServedStore
from tests.waiting import until_true


class Ends:
    """Both ends of a Unix socket that this process listens on."""

    def __init__(self, path: str) -> None:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(path)
        listening.listen()
        self.client = socket.socket(socket.AF_UNIX)
        self.client.connect(path)
        self.sockets = (listening, self.client)

    @property
    def transport(self) -> Any:
        return SimpleNamespace(getHandle=lambda: self.client)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "s")


@pytest.fixture
def transport(path: str) -> Iterator[Any]:
    ends = Ends(path)
    yield ends.transport
    for each in ends.sockets:
        each.close()


def reader_of(path: str, transport: Any) -> RevisionReader:
    page = read_page(path, transport)
    assert page is not None
    return page


def test_reader_sees_what_the_writer_wrote(path: str, transport: Any) -> None:
    """A write is seen at once, and nothing after the end of the writer, until another one begins in the same file."""
    page = RevisionPage(path, 5)
    assert os.stat(page_file(path)).st_mode & 0o777 == 0o600
    reader = reader_of(path, transport)
    assert reader.read() == 5
    for revision in (6, 2**40, 2**63):
        page.write(revision)
        assert reader.read() == revision
    page.close()
    assert reader.read() is None
    RevisionPage(path, 7)
    assert reader.read() == 7


def test_half_written_page_says_nothing(path: str, transport: Any) -> None:
    """A revision that was read in the middle of its write is not used."""
    RevisionPage(path, 5)
    reader = reader_of(path, transport)
    with open(page_file(path), "r+b") as file:
        file.seek(16)
        file.write(struct.pack("=Q", 6))
    assert reader.read() is None


def test_page_of_another_process_says_nothing(path: str, transport: Any) -> None:
    """The page is that of the process behind the connection, or it is not used."""
    RevisionPage(path, 5)
    reader = reader_of(path, transport)
    with open(page_file(path), "r+b") as file:
        file.seek(8)
        file.write(struct.pack("=Q", os.getpid() + 1))
    assert reader.read() is None


@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_without_a_page_clients_ask(path: str, transport: Any, content: bytes | None) -> None:
    """A server without the file, such as etcd on a Unix socket, or with another one, has no page."""
    if content is not None:
        Path(page_file(path)).write_bytes(content)
    assert read_page(path, transport) is None


def store_at(url: str) -> EtcdStore:
    options = EtcdOptions(prefix="/", timeout=PATIENCE, health_timeout=PATIENCE, start_timeout=PATIENCE)
    return EtcdStore(reactor, make_servers(reactor, [url]), dialect_name="orch", options=options, random=Random(1))


def count_reads(store: EtcdStore) -> list[str]:
    """The paths of the calls that the store makes from now on, other than writes."""
    calls: list[str] = []
    original_call = store._channel.call

    async def call(path: str, *arguments: Any, **more: Any) -> Any:
        calls.append(path)
        return await original_call(path, *arguments, **more)

    store._channel.call = call  # type: ignore[method-assign]  # observed
    return calls


@pytest_twisted.ensureDeferred
async def test_consistent_read_needs_no_message(tmp_path: Path) -> None:
    """Through the socket every write that another client was told of is known without a call; through a port it is
    asked for."""
    server = ServedStore(tmp_path / "s")
    server.start()
    one, two, remote = store_at(server.socket), store_at(server.socket), store_at(server.url)
    for store in (one, two, remote):
        await store.start()
    try:
        calls, asked = count_reads(two), count_reads(remote)
        for number in range(50):
            revision = await one.create(f"/{number}", b"1")
            assert await two.current_revision() == revision
            assert await remote.current_revision() >= revision
        assert messages.RANGE not in calls
        assert asked.count(messages.RANGE) == 50
        await until_true(reactor, lambda: two.revision == revision)
    finally:
        for store in (one, two, remote):
            await store.stop()
        server.kill()


@pytest_twisted.ensureDeferred
async def test_page_after_a_kill(tmp_path: Path) -> None:
    """After the end of the store nothing is read from its page; after its return its writes are known again."""
    server = ServedStore(tmp_path / "s")
    server.start()
    store = store_at(server.socket)
    await store.start()
    try:
        revision = await store.create("/a", b"1")
        for number in (signal.SIGKILL, signal.SIGTERM):
            server.stop(number)
            await until_true(reactor, lambda: store.healthy())
            assert store._channel.shared_revision() is None
            server.start()
            await until_true(reactor, lambda: not store.healthy())
            assert store._channel.shared_revision() == revision
            revision = await store.update("/a", b"2", expected=revision)
            assert store._channel.shared_revision() == revision
    finally:
        await store.stop()
        server.kill()
