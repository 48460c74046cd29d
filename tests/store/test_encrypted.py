"""Encryption at rest: contents of the files, decrypted values, rotated and missing keys."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from orchd.config.documents import types
from orchd.config.documents.decoding import decode_document
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.store.compaction import HistoryLimits
from orchd.store.encrypted import EncryptedStore, EncryptionStateError, is_object, refuse_encrypted
from orchd.store.encryption import AesCbc, AesGcm, DecryptionError, Identity, Rule, SecretBox
from orchd.store.encryption_config import make_rules, mark_of
from orchd.store.interfaces import IStore, RevisionConflictError, UnavailableError
from orchd.store.memory import MemoryStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import CHECKS, Seen, Subject, present, raises
from orchd.testing.doubles.server import run

MARK = mark_of(ORCH)
SECRET = b'{"data":{"password":"correct horse battery staple"}}'


def key(number: int, size: int = 32) -> str:
    return b64encode(bytes([number]) * size).decode()


def config(*providers: str, resources: str = "secrets") -> str:
    listed = "".join(f"\n  - {provider}" for provider in providers)
    header = f"apiVersion: {ORCH('apiserver.config.{abbr}.io/v1')}\nkind: EncryptionConfiguration\n"
    return f"{header}resources:\n- resources: [{resources}]\n  providers:{listed}\n"


def parse_encryption(text: str, dialect: Dialect, key_of: Callable[[str], str]) -> dict[str, Rule]:
    return make_rules(decode_document(text.encode(), types.ENCRYPTION, dialect), dialect, key_of)


def keyed(kind: str, *numbers: int) -> str:
    keys = ", ".join(f"{{name: key{n}, secret: {key(n)}}}" for n in numbers)
    return f"{kind}: {{keys: [{keys}]}}"


def key_of(resource: str) -> str:
    return resource.partition(".")[0]


def sealed(inner: Any, *providers: str, resources: str = "secrets") -> EncryptedStore:
    rules = parse_encryption(config(*providers, resources=resources), ORCH, key_of)
    return EncryptedStore(inner, rules, mark=MARK, plausible=is_object)


def sealers() -> dict[str, Callable[[bytes], Any]]:
    return {
        "aescbc": lambda raw: AesCbc(b"p:", raw),
        "aesgcm": lambda raw: AesGcm(b"p:", raw),
        "secretbox": lambda raw: SecretBox(b"p:", raw),
    }


def need(kind: str) -> None:
    if kind == "secretbox":
        pytest.importorskip("nacl", reason="PyNaCl is not installed")


@given(
    kind=st.sampled_from([kind for kind in sealers() if kind != "secretbox" or find_spec("nacl")]),
    value=st.binary(max_size=100),
    context=st.binary(max_size=20),
)
def test_sealed_values_round_trip(kind: str, value: bytes, context: bytes) -> None:
    """Encrypted values are decrypted to the same value; two ciphertexts differ, and neither contains the value."""
    sealer = sealers()[kind](b"k" * 32)
    one, two = sealer.seal(value, context), sealer.seal(value, context)
    assert one.startswith(b"p:") and one != two
    assert len(value) < 8 or value not in one
    assert sealer.open(one[2:], context) == value


@pytest.mark.parametrize("kind", ["aesgcm", "secretbox"])
def test_tampering_is_detected(kind: str) -> None:
    """Another key, a changed byte, and (AES-GCM) another path are detected."""
    need(kind)
    sealer = sealers()[kind](b"k" * 32)
    data = sealer.seal(SECRET, b"/secrets/a")[2:]
    for wrong in (data[:-1] + bytes([data[-1] ^ 1]), data[:5], b"", b"x" * 100):
        with pytest.raises(DecryptionError):
            sealer.open(wrong, b"/secrets/a")
    with pytest.raises(DecryptionError):
        sealers()[kind](b"j" * 32).open(data, b"/secrets/a")
    if kind == "aesgcm":
        with pytest.raises(DecryptionError):
            sealer.open(data, b"/secrets/b")


def test_known_ciphertexts() -> None:
    """The formats are the reference's: prefix, random part, ciphertext; the standards' test vectors are reproduced."""
    # NIST SP 800-38A, F.2.1: the first block of CBC-AES128.
    raw = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    first = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    got = AesCbc(b"p:", raw, lambda size: first[:size]).seal(bytes.fromhex("6bc1bee22e409f96e93d7e117393172a"), b"")
    assert got[:34] == b"p:" + first + bytes.fromhex("7649abac8119b246cee98e9b12e9197d")
    # The GCM specification's test case 2.
    got = AesGcm(b"p:", bytes(16), lambda size: bytes(size)).seal(bytes(16), b"")
    assert got == b"p:" + bytes(12) + bytes.fromhex("0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf")


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=["default", "other"])
def test_value_prefixes(dialect: Any) -> None:
    """Encrypted values begin with the dialect's word, the provider, its version and the key's name."""
    text = config(keyed("aescbc", 1)).replace(ORCH("{abbr}.io"), dialect("{abbr}.io"))
    rule = parse_encryption(text, dialect, key_of)["/secrets/"]
    assert rule.seal(b"x", "/secrets/a").startswith(dialect("{abbr}:enc:aescbc:v1:key1:").encode())


@pytest.mark.parametrize(("text", "message"), [
    ("[", "yaml: "),
    ("a: 1", "Object 'Kind' is missing; expected EncryptionConfiguration of apiserver.config.orch.io/v1"),
    ("kind: EncryptionConfiguration", "Object 'apiVersion' is missing"),
    (config("identity: {}") + "extra: 1", 'unknown field "extra"'),
    (config("identity: {}") + "resources: []", 'key "resources" already set in map'),
    (config("identity: {key: 1}"), 'unknown field "resources[0].providers[0].identity.key"'),
    (config(), "resources[0].providers: must have at least one element"),
    (config("identity: {}", resources=""), "resources[0].resources: must have at least one element"),
    (config("identity: {}", resources="''"), "resources[0].resources[0]: needs a resource"),
    (config("kms: {name: a, endpoint: b}"), "resources[0].providers[0].kms: not built yet"),
    (config("rot13: {}"), 'unknown field "resources[0].providers[0].rot13"'),
    (config("{identity: {}, aescbc: {}}"), "needs exactly one of"),
    (config("aescbc: {keys: []}"), "providers[0].aescbc.keys: must have at least one element"),
    (config("aescbc: {keys: [{name: a, secret: 17}]}"), "cannot unmarshal number into Go struct field Key.resources.providers.aescbc.keys.secret"),
    (config("aescbc: {keys: [{name: a, secret: ä}]}"), "keys[0].secret: is not base64"),
    (config("aescbc: {keys: [{name: a, secret: '*'}]}"), "keys[0].secret: is not base64"),
    (config("aesgcm: {keys: [{name: a, secret: " + key(1, 17) + "}]}"), "must be 16 or 24 or 32 bytes in base64, is 17"),
    (config("aesgcm: {keys: [{secret: " + key(1) + "}]}"), "keys[0].name: must be text"),
    (config(keyed("aesgcm", 1, 1)), "keys[1].name: 'key1' is given twice"),
])  # fmt: skip
def test_invalid_configurations_are_refused(text: str, message: str) -> None:
    """The error for an invalid file names the field, and never contains a secret."""
    with pytest.raises(ValueError, match=r".") as refused:
        parse_encryption(text, ORCH, key_of)
    assert message in str(refused.value)
    assert key(1) not in str(refused.value)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest_twisted.ensureDeferred
async def test_encrypted_store_passes_the_contract(check: Any) -> None:
    """An encrypted store passes the contract: values are decrypted, and revisions are those of the inner store."""
    rule = Rule("all", (AesGcm(b"s:", b"k" * 16), Identity()), b"s:")
    store = EncryptedStore(MemoryStore(reactor), {"/": rule}, mark=b"s:")
    # Only the record of encrypted resources is written first; the suite begins after it.
    store._record = _nothing  # type: ignore[method-assign,assignment]  # as above
    verifyObject(IStore, store)
    await store.start()
    try:
        await check(Subject(store=store, reactor=reactor, many=2000))
    finally:
        await store.stop()


async def _nothing(*arguments: Any) -> None:
    """Stands for a write that does not happen."""


@pytest.mark.parametrize("provider", [keyed("aescbc", 1), keyed("aesgcm", 1), keyed("secretbox", 1)])
@pytest_twisted.ensureDeferred
async def test_files_contain_no_plaintext(provider: str, tmp_path: Path) -> None:
    """No file of the store has a secret in plaintext, including its log and after compaction; other resources are not
    encrypted."""
    need(provider.partition(":")[0])
    inner = SqliteStore(reactor, tmp_path / "store", dialect_name="any", history=HistoryLimits(compaction_interval=0))
    store = sealed(inner, provider)
    await store.start()
    seen = Seen()
    seen.watch(store, "/", store.revision)
    plain = b'{"data":"a config map"}'
    revision = await store.create("/secrets/default/a", SECRET)
    await store.create("/configmaps/default/a", plain)
    changed = await store.update("/secrets/default/a", SECRET + b"2", expected=revision)
    conflict = await raises(RevisionConflictError, store.update("/secrets/default/a", b"", expected=revision))
    assert conflict.current.value == SECRET + b"2"
    await store.create("/secrets/default/gone", SECRET)
    await store.delete("/secrets/default/gone", expected=store.revision)

    def bytes_on_disk() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    assert (await present(store, "/secrets/default/a")).value == SECRET + b"2"
    assert (await present(store, "/secrets/default/a", revision=revision)).value == SECRET
    assert [event.value for event in seen.events] == [SECRET, plain, SECRET + b"2", SECRET, b""]
    assert [event.previous and event.previous.value for event in seen.events] == [None, None, SECRET, None, SECRET]
    assert plain in bytes_on_disk()
    assert b"battery" not in bytes_on_disk()
    assert MARK + provider.partition(":")[0].encode() + b":v1:key1:" in bytes_on_disk()
    await store.compact(changed)
    assert b"battery" not in bytes_on_disk()
    await store.stop()
    assert b"battery" not in bytes_on_disk()


class Kept(MemoryStore):
    """A memory store that can be stopped and started again, like a file."""

    def __init__(self) -> None:
        super().__init__(Clock(), compaction_interval=0)

    def stop(self) -> Deferred[None]:
        return succeed(None)


def restarted(inner: Kept, *providers: str, resources: str = "secrets") -> EncryptedStore:
    store = sealed(inner, *providers, resources=resources)
    run(store._start())
    return store


def raw(inner: Kept, name: str) -> bytes:
    item = run(inner.get(name))
    assert item is not None
    return item.value


def test_key_rotation() -> None:
    """A new key is added, then moved first; values are re-encrypted at start, and the old key can be removed."""
    inner = Kept()
    store = restarted(inner, "identity: {}")
    run(store.create("/secrets/a", SECRET))
    assert raw(inner, "/secrets/a") == SECRET
    store = restarted(inner, keyed("aescbc", 1), "identity: {}")
    assert raw(inner, "/secrets/a").startswith(MARK + b"aescbc:v1:key1:")
    run(store.create("/secrets/b", SECRET))
    before = inner.revision
    restarted(inner, keyed("aescbc", 1, 2), "identity: {}")
    assert inner.revision == before, "nothing is written when nothing changes"
    restarted(inner, keyed("aescbc", 2, 1), "identity: {}")
    for name in ("/secrets/a", "/secrets/b"):
        assert raw(inner, name).startswith(MARK + b"aescbc:v1:key2:")
    restarted(inner, keyed("aesgcm", 3), keyed("aescbc", 2))
    store = restarted(inner, keyed("aesgcm", 3))
    assert run(present(store, "/secrets/a")).value == SECRET
    restarted(inner, "identity: {}", keyed("aesgcm", 3))
    assert raw(inner, "/secrets/b") == SECRET
    run(refuse_encrypted(inner, MARK))


@pytest.mark.parametrize(("providers", "why"), [
    ((keyed("aesgcm", 2),), "no key of the configuration has its name"),
    (("identity: {}",), "no key of the configuration has its name"),
    (("aesgcm: {keys: [{name: key1, secret: " + key(9) + "}]}",), "wrong key"),
    ((keyed("aescbc", 1),), "no key of the configuration has its name"),
])  # fmt: skip
def test_wrong_key_fails_the_start(providers: tuple[str, ...], why: str) -> None:
    """With a wrong or missing key the store does not start; the error names the resource."""
    inner = Kept()
    run(restarted(inner, keyed("aesgcm", 1)).create("/secrets/a", SECRET))
    with pytest.raises(EncryptionStateError) as refused:
        restarted(inner, *providers)
    assert str(refused.value).startswith("secrets: ") and why in str(refused.value)
    assert key(9) not in str(refused.value)


def test_missing_configuration_is_detected() -> None:
    """Encrypted values are detected if the file, or the resource in it, is missing."""
    inner = Kept()
    run(restarted(inner, keyed("aesgcm", 1)).create("/secrets/a", SECRET))
    with pytest.raises(EncryptionStateError, match="secrets: "):
        run(refuse_encrypted(inner, MARK))
    with pytest.raises(EncryptionStateError, match="secrets: "):
        restarted(inner, keyed("aesgcm", 1), resources="configmaps")


def test_wrong_key_without_authentication() -> None:
    """AES-CBC does not detect every wrong key, but no wrong key gives an object."""
    for number in range(2, 200):
        inner = Kept()
        run(restarted(inner, keyed("aescbc", 1)).create("/secrets/a", SECRET))
        with pytest.raises(EncryptionStateError):
            restarted(inner, "aescbc: {keys: [{name: key1, secret: " + key(number) + "}]}")


def test_plaintext_needs_the_identity_provider() -> None:
    """A plaintext value is accepted only if the configuration has the identity provider."""
    inner = Kept()
    run(restarted(inner, "identity: {}").create("/secrets/a", SECRET))
    with pytest.raises(EncryptionStateError, match="without provider identity"):
        restarted(inner, keyed("aesgcm", 1))


def test_unreadable_value_ends_the_watch() -> None:
    """A later value that cannot be decrypted ends the watch, and the server becomes unready."""
    inner = Kept()
    store = restarted(inner, keyed("aesgcm", 1))
    seen, others = Seen(), Seen()
    seen.watch(store, "/", inner.revision)
    others.watch(store, "/configmaps/", inner.revision)
    other = sealed(inner, keyed("aesgcm", 2))
    revision = run(other.create("/secrets/a", SECRET))
    assert [type(each) for each in seen.ends] == [UnavailableError]
    assert not others.ends
    assert "secrets" in store.healthy()
    with pytest.raises(EncryptionStateError):
        run(store.get("/secrets/a"))
    run(inner.update("/secrets/a", store._seal("/secrets/a", SECRET), expected=revision))
    assert run(present(store, "/secrets/a")).value == SECRET
    assert store.healthy() == ""


def test_nonces_come_from_the_operating_system() -> None:
    """Nonces come from the operating system."""
    assert AesGcm(b"", b"k" * 16)._randomness is os.urandom
