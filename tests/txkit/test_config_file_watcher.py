"""A file that is watched for changes while the process runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.testing.doubles.results import result_of
from orchd.txkit.config_file_watcher import ConfigFileWatcher, NotAppliedError, digest, read_limited


class Followed:
    """A file and the contents that were applied. `answers` are used in order: errors are raised, a Deferred is
    awaited."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, Clock()
        path.write_bytes(b"one")
        self.applied: list[bytes] = []
        self.answers: list[Exception | Deferred[None]] = []
        self.reloader = ConfigFileWatcher(
            str(path), b"one", self._apply, what="thing", clock=self.clock, wall=lambda: 7.0
        )
        result_of(self.reloader.start())

    async def _apply(self, data: bytes) -> None:
        self.applied.append(data)
        response = self.answers.pop(0) if self.answers else None
        if isinstance(response, Exception):
            raise response
        if response is not None:
            await response

    def write(self, data: bytes) -> None:
        """Replace the file, so that its identity changes whatever the resolution of its times."""
        new = self.path.with_suffix(".new")
        new.write_bytes(data)
        new.replace(self.path)

    def tick(self) -> None:
        self.clock.advance(1)


@pytest.fixture
def make_followed(tmp_path: Path) -> Iterator[Followed]:
    followed = Followed(tmp_path / "file")
    yield followed
    result_of(followed.reloader.stop())
    assert not followed.clock.getDelayedCalls()


def test_changed_contents_are_applied_once(make_followed: Followed) -> None:
    """The contents in use at the start are not applied again; changed ones are applied once."""
    for data in (b"one", b"two", b"two"):
        make_followed.write(data)
        make_followed.tick()
        make_followed.tick()
    assert make_followed.applied == [b"two"]
    counts = make_followed.reloader.counts
    assert (counts.succeeded, counts.failed, counts.last_success, counts.digest) == (1, 0, 7.0, digest(b"two"))


def test_invalid_contents_are_tried_once(make_followed: Followed) -> None:
    """Invalid contents leave the previous ones in use; the file is read again when it changes."""
    make_followed.answers.append(ValueError("field x"))
    make_followed.write(b"bad")
    for _ in range(3):
        make_followed.tick()
    counts = make_followed.reloader.counts
    assert make_followed.applied == [b"bad"] and (counts.failed, counts.last_failure) == (1, 7.0)
    assert counts.digest == digest(b"one")
    make_followed.write(b"good")
    make_followed.tick()
    assert make_followed.applied[1:] == [b"good"] and counts.succeeded == 1


def test_invalid_contents_that_are_written_again_are_not_tried_again(make_followed: Followed) -> None:
    """A file that is replaced by one of the same invalid contents is not applied and counted again."""
    make_followed.answers += [ValueError("field x")] * 2
    for _ in range(2):
        make_followed.write(b"bad")
        make_followed.tick()
    assert make_followed.applied == [b"bad"] and make_followed.reloader.counts.failed == 1


def test_failed_application_is_retried(make_followed: Followed) -> None:
    """A temporary failure is retried without another change."""
    make_followed.answers += [NotAppliedError("away"), NotAppliedError("away")]
    make_followed.write(b"two")
    for _ in range(4):
        make_followed.tick()
    assert make_followed.applied == [b"two"] * 3
    assert (make_followed.reloader.counts.failed, make_followed.reloader.counts.succeeded) == (2, 1)


def test_a_missing_file_changes_nothing(make_followed: Followed) -> None:
    """A missing file counts as one failure, and is read when it exists again."""
    make_followed.path.unlink()
    for _ in range(3):
        make_followed.tick()
    assert make_followed.applied == [] and make_followed.reloader.counts.failed == 1
    make_followed.path.write_bytes(b"two")
    make_followed.tick()
    assert make_followed.applied == [b"two"]


def test_one_reload_at_a_time(make_followed: Followed) -> None:
    """A change during a reload waits for its end; stopping cancels a running reload."""
    slow: Deferred[None] = Deferred()
    make_followed.answers.append(slow)
    make_followed.write(b"two")
    make_followed.tick()
    make_followed.write(b"three")
    make_followed.tick()
    assert make_followed.applied == [b"two"]
    slow.callback(None)
    make_followed.tick()
    assert make_followed.applied == [b"two", b"three"]
    make_followed.answers.append(Deferred())
    make_followed.write(b"four")
    make_followed.tick()
    result_of(make_followed.reloader.stop())
    assert make_followed.reloader.counts.succeeded == 2


def test_file_size_is_bounded(tmp_path: Path) -> None:
    """A file above the size limit is not read."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate((3 << 20) + 1)
    with pytest.raises(ValueError, match="longer than"):
        read_limited(str(path))
