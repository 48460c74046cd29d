"""One file that is followed while the process runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.testing.results import result_of
from orchd.txkit.config_file_watcher import ConfigFileWatcher, NotAppliedError, digest, read_limited


class Followed:
    """A file, and what became of its contents. `answers` are given in order: errors are raised, a Deferred is awaited."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, Clock()
        path.write_bytes(b"one")
        self.applied: list[bytes] = []
        self.answers: list[Exception | Deferred[None]] = []
        self.reloader = ConfigFileWatcher(str(path), b"one", self._apply, what="thing", clock=self.clock, wall=lambda: 7.0)
        result_of(self.reloader.start())

    async def _apply(self, data: bytes) -> None:
        self.applied.append(data)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            await answer

    def write(self, data: bytes) -> None:
        """Replace the file, so that its identity changes whatever the resolution of its times."""
        new = self.path.with_suffix(".new")
        new.write_bytes(data)
        new.replace(self.path)

    def tick(self) -> None:
        self.clock.advance(1)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    made = Followed(tmp_path / "file")
    yield made
    result_of(made.reloader.stop())
    assert not made.clock.getDelayedCalls()


def test_changed_contents_are_applied_once(followed: Followed) -> None:
    """The contents in use at the start are not applied, changed ones are, once."""
    for data in (b"one", b"two", b"two"):
        followed.write(data)
        followed.tick()
        followed.tick()
    assert followed.applied == [b"two"]
    counts = followed.reloader.counts
    assert (counts.succeeded, counts.failed, counts.last_success, counts.digest) == (1, 0, 7.0, digest(b"two"))


def test_invalid_contents_are_tried_once(followed: Followed) -> None:
    """What was in use stays; the file is tried again when it changes."""
    followed.answers.append(ValueError("field x"))
    followed.write(b"bad")
    for _ in range(3):
        followed.tick()
    counts = followed.reloader.counts
    assert followed.applied == [b"bad"] and (counts.failed, counts.last_failure) == (1, 7.0)
    assert counts.digest == digest(b"one")
    followed.write(b"good")
    followed.tick()
    assert followed.applied[1:] == [b"good"] and counts.succeeded == 1


def test_failed_application_is_retried(followed: Followed) -> None:
    """A failure that may pass is tried again without another change."""
    followed.answers += [NotAppliedError("away"), NotAppliedError("away")]
    followed.write(b"two")
    for _ in range(4):
        followed.tick()
    assert followed.applied == [b"two"] * 3
    assert (followed.reloader.counts.failed, followed.reloader.counts.succeeded) == (2, 1)


def test_a_missing_file_changes_nothing(followed: Followed) -> None:
    """A file that is away counts as one failure, and is read when it is back."""
    followed.path.unlink()
    for _ in range(3):
        followed.tick()
    assert followed.applied == [] and followed.reloader.counts.failed == 1
    followed.path.write_bytes(b"two")
    followed.tick()
    assert followed.applied == [b"two"]


def test_one_reload_at_a_time(followed: Followed) -> None:
    """A change during a reload waits for its end; stopping cancels what runs."""
    slow: Deferred[None] = Deferred()
    followed.answers.append(slow)
    followed.write(b"two")
    followed.tick()
    followed.write(b"three")
    followed.tick()
    assert followed.applied == [b"two"]
    slow.callback(None)
    followed.tick()
    assert followed.applied == [b"two", b"three"]
    followed.answers.append(Deferred())
    followed.write(b"four")
    followed.tick()
    result_of(followed.reloader.stop())
    assert followed.reloader.counts.succeeded == 2


def test_file_size_is_bounded(tmp_path: Path) -> None:
    """A file of any size is not read into memory."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate((3 << 20) + 1)
    with pytest.raises(ValueError, match="longer than"):
        read_limited(str(path))
