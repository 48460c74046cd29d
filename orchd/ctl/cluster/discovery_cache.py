"""Discovery documents on disk, so that most commands send one request.

A folder per server, named by a hash of its address and authority: a new server at an old address has another authority.
A document older than `MAX_AGE` is read from the server again, as is everything once a name is not found
(`Discovery.find`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from orchd.pki.clientconfig import ClientConfig

#: Seconds for which a document is used, and after which the folder of a server that is no longer asked is removed.
MAX_AGE: Final = 600.0
_LONGEST_KEPT: Final = 7 * 24 * 3600.0
#: Bytes of a document, and characters of the name of its file.
_MOST: Final = 4 * 1024 * 1024
_LONGEST_NAME: Final = 200


def server_key(config: ClientConfig) -> str:
    """The name of the folder for a server."""
    parts = (config.server.rstrip("/").encode(), config.server_name.encode(), config.authority)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]


class DiscoveryCache:
    """The documents of one server in `folder`. `now` is epoch seconds. A folder that cannot be read or written is as an
    empty one."""

    def __init__(self, folder: Path, now: float) -> None:
        self._folder = folder
        self._now = now
        #: True once a document was read, so that the server may say something else by now.
        self.used = False

    def read(self, path: str) -> dict[str, Any] | None:
        """The document at a path of the server, None without a recent one."""
        file = self._file(path)
        try:
            status = file.stat()
            if not 0 <= self._now - status.st_mtime < MAX_AGE or status.st_size > _MOST:
                return None
            value = orjson.loads(file.read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(value, dict):
            return None
        self.used = True
        return value

    def write(self, path: str, document: dict[str, Any]) -> None:
        """Keep a document that the server sent just now."""
        file, data = self._file(path), orjson.dumps(document)
        if len(data) > _MOST or len(file.name) > _LONGEST_NAME:
            return
        with contextlib.suppress(OSError):
            if not self._folder.exists():
                self._folder.mkdir(mode=0o700, parents=True)
                self._remove_old_folders()
            descriptor, name = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(descriptor, "wb") as out:
                    out.write(data)
                os.replace(name, file)
            except OSError:
                os.unlink(name)
                raise

    def forget(self) -> None:
        """Remove all documents."""
        self.used = False
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, path: str) -> Path:
        return self._folder / quote(path, safe="")

    def _remove_old_folders(self) -> None:
        for each in self._folder.parent.iterdir():
            if each.is_dir() and self._now - each.stat().st_mtime > _LONGEST_KEPT:
                shutil.rmtree(each, ignore_errors=True)
