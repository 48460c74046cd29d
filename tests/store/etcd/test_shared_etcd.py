"""Several stores, and foreign clients, on one etcd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from twisted.internet.task import deferLater

from orchd.store.etcd.failures import ValueTooLargeError
from orchd.store.etcd.feed import tells_progress
from orchd.store.etcd.servers import TlsFiles, make_servers
from orchd.store.interfaces import CompactedError, EventType, RevisionConflictError, StoreError, UnavailableError
from orchd.store.open_errors import DialectMismatchError, ForeignFileError
from orchd.testing.contracts.store import Seen, outcomes, present, raises
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from orchd.testing.processes.served_store import ServedStore
from tests.etcd import KINDS, etcd_program
from tests.store.etcd.etcd_support import Open, until


@pytest_twisted.ensureDeferred
async def test_two_stores_share_revisions_and_watches(etcd: Etcd, opened: Open) -> None:
    """What one store writes the other reads at once, gets in its watches and checks in guards, under the same
    revisions."""
    async with opened(etcd.url) as one, opened(etcd.url) as two:
        seen = Seen()
        seen.watch(two, "/", two.revision)
        revision = await one.create("/a", b"1")
        assert await two.current_revision() >= revision
        assert (await present(two, "/a")).revision == revision
        await until(lambda: seen.revisions() == [revision])
        changed = await two.update("/a", b"2", expected=revision)
        conflict = await raises(RevisionConflictError, one.update("/a", b"3", expected=revision))
        assert (conflict.current.revision, conflict.current.value) == (changed, b"2")
        gone = await one.delete("/a", expected=changed)
        await until(lambda: seen.revisions() == [revision, changed, gone])
        assert seen.events[-1].type is EventType.DELETE
        assert seen.events[-1].previous is not None and seen.events[-1].previous.value == b"2"


@pytest_twisted.ensureDeferred
async def test_guarded_updates_of_two_stores_lose_nothing(etcd: Etcd, opened: Open) -> None:
    """No guarded update through two stores is lost, and both have the same history."""
    async with opened(etcd.url) as one, opened(etcd.url) as two:
        await one.create("/n", b"0")
        first, second = Seen(), Seen()
        begin = await two.current_revision()
        first.watch(one, "/", begin)
        second.watch(two, "/", begin)

        async def count(store: Any) -> int:
            updates = 0
            while updates < 20:
                there = await present(store, "/n")
                try:
                    await store.update("/n", b"%d" % (int(there.value) + 1), expected=there.revision)
                    updates += 1
                except RevisionConflictError:
                    await deferLater(reactor, 0)
            return updates

        await outcomes([count(store) for store in (one, two, one, two)])
        await until(lambda: len(first.events) == len(second.events) == 80)
        assert [int(event.value) for event in first.events] == list(range(1, 81))
        assert first.events == second.events


@pytest.mark.parametrize("trusted", [False, True])
@pytest_twisted.ensureDeferred
async def test_foreign_writes_raise_the_revision(etcd: Etcd, opened: Open, trusted: bool) -> None:
    """Writes of foreign clients raise the revision; consistent reads reach it, and watches report progress."""
    async with opened(etcd.url, trust_progress=trusted) as store, opened(etcd.url, prefix="/elsewhere") as other:
        seen, late = Seen(), Seen()
        revision = await store.create("/a", b"1")
        seen.watch(store, "/", 1 if revision == 2 else revision - 1)
        for i in range(5):
            key = f"/{trusted}/{i}"
            await other.create(key, b"")
        now = await store.current_revision()
        assert now > revision
        await until(lambda: store.revision >= now and seen.progress[-1] >= now)
        assert seen.revisions() == [revision]
        assert [item.key for item in (await store.range("/")).items] == ["/a"]
        late.watch(store, "/", revision)
        again = await store.update("/a", b"2", expected=revision)
        assert late.revisions() == [again]


@pytest_twisted.ensureDeferred
async def test_new_store_serves_earlier_revisions(etcd: Etcd, opened: Open) -> None:
    """A new store serves watches and ranges from revisions before its start, among foreign writes."""
    async with opened(etcd.url) as store, opened(etcd.url, prefix="/elsewhere-2") as other:
        begin = store.revision
        revisions = []
        for i in range(20):
            revisions.append(await store.create(f"/{'ab'[i % 2]}/{i}", b"x" * 1000))
            await other.create(f"/{i}", b"")
        middle = revisions[9]
    async with opened(etcd.url) as store:
        every, only = Seen(), Seen()
        every.watch(store, "/", begin)
        only.watch(store, "/b/", middle)
        await until(lambda: bool(every.progress and only.progress))
        assert every.revisions() == revisions
        assert only.revisions() == revisions[11::2]
        assert len((await store.range("/a/", revision=middle)).items) == 5
        last = await store.create("/b/x", b"")
        assert every.revisions() == [*revisions, last] and only.revisions()[-1] == last


@pytest_twisted.ensureDeferred
async def test_large_range_has_one_revision(etcd: Etcd, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range in several responses is of one revision, also with a limit."""
    monkeypatch.setattr("orchd.store.etcd.store._PAGE", 7)
    async with opened(etcd.url) as store:
        await outcomes([store.create(f"/n/{i:03}", b"") for i in range(50)])
        reading = ensureDeferred(store.range("/n/"))
        await store.create("/n/0005", b"")
        page = await reading
        assert [item.key for item in page.items if item.revision <= page.revision] == [item.key for item in page.items]
        assert {item.key for item in page.items} >= {f"/n/{i:03}" for i in range(50)}
        page = await store.range("/n/", limit=20, start="/n/010")
        assert [item.key for item in page.items] == [f"/n/{i:03}" for i in range(10, 30)]
        assert page.remaining == 20


@pytest_twisted.ensureDeferred
async def test_leases_are_shared(etcd: Etcd, opened: Open) -> None:
    """Keys with the same time to live share a lease and expire in one revision; watches get all of them together."""
    async with opened(etcd.url) as store:
        seen = Seen()
        seen.watch(store, "/", store.revision)
        assert {type(each) for each in await outcomes([store.create(f"/{i}", b"", ttl=1) for i in range(10)])} == {int}
        await until(lambda: len(seen.events) == 20)
        gone = seen.events[10:]
        assert {event.type for event in gone} == {EventType.DELETE}
        assert len({event.revision for event in gone}) == 1
        assert all(event.previous is not None for event in gone)
        assert seen.batches[-1] == 10


@pytest_twisted.ensureDeferred
async def test_foreign_compaction_is_noticed(etcd: Etcd, opened: Open) -> None:
    """A store detects compacted history, at start and in requests."""
    async with opened(etcd.url) as one, opened(etcd.url, recent_events=1) as two:
        first = await one.create("/a", b"1")
        second = await one.update("/a", b"2", expected=first)
        third = await one.update("/a", b"3", expected=second)
        await until(lambda: two.revision >= third)
        await one.compact(second)
        assert two.compacted < second
        error = await raises(CompactedError, two.range("/", revision=first))
        assert error.revision == first
        seen = Seen()
        seen.watch(two, "/", first)
        await until(lambda: bool(seen.ends))
        assert isinstance(seen.ends[0], CompactedError)
        async with opened(etcd.url) as three:
            assert three.compacted == second
            assert (await present(three, "/a", revision=second)).value == b"2"
            await raises(CompactedError, three.range("/", revision=first))


@pytest_twisted.ensureDeferred
async def test_foreign_prefixes_are_refused(etcd: Etcd, opened: Open, prefix: str) -> None:
    """A prefix of the other dialect, or with keys of another program, is rejected; the messages say what to do."""
    async with opened(etcd.url, dialect_name="one"):
        pass

    async def opening(**more: Any) -> None:
        async with opened(*more.pop("urls", [etcd.url]), **more):
            raise AssertionError("opened")

    error = await raises(DialectMismatchError, opening(dialect_name="two"))
    assert "--dialect=one" in str(error) and prefix in str(error)
    async with opened(etcd.url, prefix=f"{prefix}-more/below") as other:
        await other.create("/a", b"")
    await raises(ForeignFileError, opening(prefix=f"{prefix}-more"))
    error = await raises(UnavailableError, opening(urls=["http://127.0.0.1:1"], start_timeout=0.3))
    assert "http://127.0.0.1:1" in str(error) and "--etcd-servers" in str(error)
    for wrong in ("ftp://a:1", "http://", "http://a:b", "http://a:1/path", "http://u:p@a:1"):
        with pytest.raises(StoreError):
            make_servers(reactor, [wrong])


@pytest_twisted.ensureDeferred
async def test_oversized_value_names_the_flag(etcd: Etcd, opened: Open) -> None:
    """A value above etcd's limit is rejected with the flag to change; other writes are not affected."""
    async with opened(etcd.url) as store:
        error = await raises(ValueTooLargeError, store.create("/large", b"x" * 5_000_000))
        assert "--max-request-bytes" in str(error)
        await raises(ValueTooLargeError, store.create("/large", b"x" * 4_194_304))
        await store.create("/large", b"x" * 4_000_000)
        assert store.healthy() == ""


@pytest_twisted.ensureDeferred
async def test_unavailable_member_is_skipped(etcd: Etcd, opened: Open) -> None:
    """An unavailable member is skipped."""
    async with opened("http://127.0.0.1:1", etcd.url, "http://127.0.0.1:2") as store:
        await store.create("/a", b"")
        assert store.healthy() == ""


@pytest.mark.parametrize(
    ("version", "told"),
    [("3.4.23", False), ("3.4.25", True), ("3.5.0", False), ("3.5.7", False), ("3.5.8", True), ("3.6.0-rc.1", True),
     ("4.0.0", True), ("3.3.27", False), ("", False)],
)  # fmt: skip
def test_progress_is_requested_from_fixed_releases_only(version: str, told: bool) -> None:
    """Only releases with the fix of etcd issue 15220 are asked for the progress of a watch."""
    assert tells_progress(version) is told


def _certificates(folder: Path) -> dict[str, str]:
    """Create a CA, a server and a client certificate; returns the names of their files."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)
    names: dict[str, str] = {}
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    for name in ("ca", "server", "client"):
        key = authority if name == "ca" else ec.generate_private_key(ec.SECP256R1())
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
        )
        if name == "server":
            builder = builder.add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
            )
        (folder / f"{name}.crt").write_bytes(builder.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM))
        (folder / f"{name}.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        names[name], names[f"{name}-key"] = str(folder / f"{name}.crt"), str(folder / f"{name}.key")
    return names


@pytest.mark.parametrize("kind", KINDS)
@pytest_twisted.ensureDeferred
async def test_mutual_tls_with_etcd(kind: str, opened: Open, tmp_path: Path) -> None:
    """With https the server's certificate is verified, and the client certificate is sent."""
    names = _certificates(tmp_path)
    if kind == "etcd":
        server = Etcd(
            etcd_program(), tmp_path / "etcd",
            tls=[f"--cert-file={names['server']}", f"--key-file={names['server-key']}",
                 f"--trusted-ca-file={names['ca']}", "--client-cert-auth"],
        )  # fmt: skip
    else:
        server = ServedStore(
            tmp_path / "served", f"--tls-cert-file={names['server']}", f"--tls-private-key-file={names['server-key']}",
            f"--client-ca-file={names['ca']}",
        )  # fmt: skip
    server.start()
    try:
        files = TlsFiles(authorities=names["ca"], certificate=names["client"], key=names["client-key"])
        async with opened(server.url, tls=files) as store:
            revision = await store.create("/a", b"x" * 100_000)
            assert (await present(store, "/a")).revision == revision

        async def opening(tls: TlsFiles | None, seconds: float) -> None:
            async with opened(server.url, tls=tls, start_timeout=seconds):
                raise AssertionError("opened")

        async def opening_at(url: str) -> None:
            async with opened(url, start_timeout=3.0):
                raise AssertionError("opened")

        async def is_handshake_error(tls: TlsFiles | None, text: str) -> bool:
            """Whether the error says that a handshake failed within the time limit."""
            seconds = 0.5
            while text not in str(await raises(UnavailableError, opening(tls, seconds))):
                seconds *= 2
                if seconds > PATIENCE:
                    return False
            return True

        assert await is_handshake_error(TlsFiles(authorities=names["ca"]), "--etcd-certfile"), (
            "the message names what is missing"
        )
        (tmp_path / "others").mkdir()
        others = TlsFiles(authorities=_certificates(tmp_path / "others")["ca"])
        assert await is_handshake_error(others, "not signed by an authority of --etcd-cafile")
        await raises(UnavailableError, opening(None, 0.5))
        with pytest.raises(StoreError):
            make_servers(reactor, [server.url], TlsFiles(authorities=str(tmp_path / "none")))
        with pytest.raises(StoreError):
            make_servers(reactor, [server.url], TlsFiles(authorities=names["ca-key"]))
        foreign = TlsFiles(authorities=names["ca"], certificate=names["client"], key=names["ca-key"])
        with pytest.raises(
            StoreError, match=f"^--etcd-keyfile: the key {names['ca-key']} is not that of .* {names['client']}"
        ):
            make_servers(reactor, [server.url], foreign)
        (tmp_path / "none.key").write_text("no key")
        none = TlsFiles(authorities=names["ca"], certificate=names["client"], key=str(tmp_path / "none.key"))
        with pytest.raises(StoreError, match=r"none\.key: unsupported|none\.key: no start line"):
            make_servers(reactor, [server.url], none)
        plain = server.url.replace("https://", "http://")
        error = await raises(UnavailableError, opening_at(plain))
        assert "URL in --etcd-servers should begin with https://" in str(error)
    finally:
        server.kill()
