"""What in-process servers of one test run need not make again: keys and certificates, and the store of a bootstrapped cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchd.config.settings import Settings
from orchd.pki.bootstrap import Files, write_private
from orchd.pki.keys import new_key, private_pem, public_pem
from orchd.store.memory import MemoryStore

#: Flags of what writes after the bootstrap.
_AFTER_BOOTSTRAP = ("--controllers=", "--scheduler=")

#: Attributes of `Files`.
_KEPT = (
    *("ca_certificate", "ca_key", "serving_certificate", "serving_key"),
    *("admin_certificate", "admin_key", "signing_key", "verification_key"),
)

_keys: dict[tuple[str, int], Mapping[str, bytes]] = {}
_stores: dict[tuple[str, ...], MemoryStore] = {}


def provide_keys(settings: Settings, now: float) -> None:
    """Give a server without keys those that `keep_keys` was given for servers of its dialect and time."""
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
    """Remember the keys and certificates that a server has made."""
    key = settings.dialect.name, int(now)
    if key not in _keys:
        files = _files(settings)
        _keys[key] = {name: getattr(files, name).read_bytes() for name in _KEPT}


def make_signing_key(files: Files) -> None:
    """Create an EC key for service account tokens unless one exists: an RSA key would take most of the start time."""
    if files.signing_key.exists():
        return
    files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = new_key()
    write_private(files.verification_key, public_pem(key.public_key()))
    write_private(files.signing_key, private_pem(key))


def _files(settings: Settings) -> Files:
    return Files.below(settings.storage.data_dir, settings.dialect, settings.serving.cert_dir)


class StoreTemplate:
    """Stores for servers with some flags: new ones, until `keep` was given one whose cluster has been bootstrapped; copies of
    that from then on, with which a server has nothing left to write at its start."""

    def __init__(self, flags: Sequence[str], now: float) -> None:
        deciding = tuple(flag for flag in flags if not flag.startswith(_AFTER_BOOTSTRAP))
        # Files may have changed since.
        self._usable = not any("/" in flag and Path(flag.partition("=")[2]).exists() for flag in deciding)
        self._key = (str(int(now)), *deciding)
        #: The flags that decide what a bootstrap writes.
        self.flags = deciding
        self._pristine = len(deciding) == len(flags)

    @property
    def needs_server(self) -> bool:
        """True if only a server with no more than `flags` can provide the template."""
        return self._usable and not self._pristine and self._key not in _stores

    def make(self, reactor: Any) -> MemoryStore:
        kept = _stores.get(self._key) if self._usable else None
        return MemoryStore(reactor) if kept is None else kept.copy(reactor)

    def keep(self, store: MemoryStore, reactor: Any) -> None:
        """Call it when the server has started. Without effect if anything but the bootstrap may have written."""
        if self._usable and self._pristine and self._key not in _stores:
            _stores[self._key] = store.copy(reactor)
