"""Temporary folders of test runs. Each has a file that is locked while a process of its run lives, so that later runs
can remove the folders of runs that were killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = "lock"


def make_folder(prefix: str) -> tuple[Path, int]:
    """A new folder, and the descriptor of its lock: the lock ends when all processes that inherited the descriptor have
    ended or closed it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    early = folder / f".{_LOCK}"
    handle = os.open(early, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    # Other runs look for the final name: they never see a folder that is about to be locked.
    early.rename(folder / _LOCK)
    return folder, handle


def remove_abandoned(prefix: str) -> None:
    """Remove this user's folders of runs of which no process is left."""
    for folder in _folders(Path(tempfile.gettempdir()), prefix):
        with suppress(OSError):
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(handle)


@contextmanager
def run_folder(prefix: str) -> Iterator[Path]:
    """A folder for as long as this process needs it. Those that killed processes left are removed first."""
    remove_abandoned(prefix)
    folder, handle = make_folder(prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _folders(parent: Path, prefix: str) -> Iterator[Path]:
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if (
                entry.name.startswith(prefix)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            ):
                yield Path(entry.path)
