"""Folders of killed test runs are removed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from orchd.testing.forking.run_folder import make_folder, remove_abandoned, run_folder


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_folder_is_removed_once_its_lock_is_free(tmp_path: Path) -> None:
    """A copied descriptor, as in a process that inherited it, holds the lock, too."""
    folder, handle = make_folder("orchd-a-")
    (folder / "log").write_text("a")
    copy = os.dup(handle)
    os.close(handle)
    remove_abandoned("orchd-a-")
    assert (folder / "log").exists()
    os.close(copy)
    remove_abandoned("orchd-b-")
    assert (folder / "log").exists()
    remove_abandoned("orchd-a-")
    assert not folder.exists()
    assert tmp_path.exists()


def test_other_folders_stay(tmp_path: Path) -> None:
    """A folder without a lock may be another program's, and links are not followed."""
    (tmp_path / "orchd-a-plain").mkdir()
    target, handle = make_folder("other-")
    os.close(handle)
    (tmp_path / "orchd-a-link").symlink_to(target)
    (tmp_path / "orchd-a-file").write_text("")
    remove_abandoned("orchd-a-")
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "orchd-a-plain",
        target.name,
        "orchd-a-link",
        "orchd-a-file",
    }
    assert (target / "lock").exists()


def test_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shared folder such as /tmp, folders of other users stay."""
    folder, handle = make_folder("orchd-a-")
    os.close(handle)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    remove_abandoned("orchd-a-")
    assert folder.exists()


def test_folder_of_a_process(tmp_path: Path) -> None:
    """A process's folder is removed when it is no longer needed; abandoned ones are removed when it is created."""
    left, handle = make_folder("orchd-a-")
    os.close(handle)
    with run_folder("orchd-a-") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert not left.exists()
        (folder / "log").write_text("a")
    assert not list(tmp_path.iterdir())
