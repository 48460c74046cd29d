"""Reuse between in-process servers of one test run: keys and certificates, and the store of a bootstrapped cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchd.config.settings import Settings
from orchd.pki.bootstrap import Files, write_private
from orchd.pki.keys import new_key, private_pem, public_pem
from orchd.store.memory import MemoryStore

#: Flags of components that write after the bootstrap.
_AFTER_BOOTSTRAP = ("--controllers=", "--scheduler=")

#: Attributes of `Files` that are kept.
_KEY_FILES = (
    *("ca_certificate", "ca_key", "serving_certificate", "serving_key"),
    *("admin_certificate", "admin_key", "signing_key", "verification_key"),
)

_keys: dict[tuple[str, int], Mapping[str, bytes]] = {}
_stores: dict[tuple[str, ...], MemoryStore] = {}


def provide_keys(settings: Settings, now: float) -> None:
    """Write the keys that `keep_keys` kept for the same dialect and time into the folder of a server, unless it
    exists."""
    files = _files(settings)
    if files.folder.exists():
        return
    files.folder.mkdir(mode=0o700, parents=True)
    files.serving_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in _keys.get((settings.dialect.name, int(now)), {}).items():
        path: Path = getattr(files, name)
        path.touch(mode=0o600)
        path.write_bytes(content)
    make_signing_key(files)


def keep_keys(settings: Settings, now: float) -> None:
    """Keep the keys and certificates of a started server for `provide_keys`."""
    key = settings.dialect.name, int(now)
    if key not in _keys:
        files = _files(settings)
        _keys[key] = {name: getattr(files, name).read_bytes() for name in _KEY_FILES}


def make_signing_key(files: Files, *, durable: bool = False) -> None:
    """Create an EC key for service account tokens unless one exists: an RSA key would take most of the start time. With
    `durable` it is on disk when this returns."""
    if files.signing_key.exists():
        return
    files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = new_key()
    write_private(files.verification_key, public_pem(key.public_key()), durable=durable)
    write_private(files.signing_key, private_pem(key), durable=durable)


def _files(settings: Settings) -> Files:
    return Files.below(settings.storage.data_dir, settings.dialect, settings.serving.cert_dir)


class StoreTemplate:
    """Stores for servers with the same flags: empty ones until `keep` has been given the store of a bootstrapped
    cluster, then copies of that store, with which a server has nothing to write when it starts."""

    def __init__(self, flags: Sequence[str], now: float) -> None:
        bootstrap_flags = tuple(flag for flag in flags if not flag.startswith(_AFTER_BOOTSTRAP))
        # The content of a file that a flag names may change between servers.
        self._usable = not any("/" in flag and Path(flag.partition("=")[2]).exists() for flag in bootstrap_flags)
        self._key = (str(int(now)), *bootstrap_flags)
        #: The flags that determine what the bootstrap writes.
        self.flags = bootstrap_flags
        self._pristine = len(bootstrap_flags) == len(flags)

    @property
    def needs_server(self) -> bool:
        """True if there is no template yet and only a server with exactly `flags` can provide it."""
        return self._usable and not self._pristine and self._key not in _stores

    def make(self, reactor: Any) -> MemoryStore:
        kept = _stores.get(self._key) if self._usable else None
        return MemoryStore(reactor) if kept is None else kept.copy(reactor)

    def keep(self, store: MemoryStore, reactor: Any) -> None:
        """Keep the store of a started server. Does nothing if anything but the bootstrap may have written to it."""
        if self._usable and self._pristine and self._key not in _stores:
            _stores[self._key] = store.copy(reactor)
