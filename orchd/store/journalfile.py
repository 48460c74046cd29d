"""Detects commits in the write-ahead log of a database that SQLite would ignore.

SQLite takes a log up to the first frame that does not fit and ignores the rest, which is right for the torn end of a
crash. Frames of the log's present generation carry its two salts. So when two or more commits with these salts follow
the last frame that SQLite accepts, a frame in the middle was garbled: each of these commits was synced before the next
one began. (https://www.sqlite.org/fileformat2.html, "The Write-Ahead Log"; https://www.sqlite.org/walformat.html for
the index.)
"""

from __future__ import annotations

import os
import struct
from typing import Final

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = (0x377F0682, 0x377F0683)
#: Offsets in the index of the number of valid frames, and of the initialised flag.
_INDEX_MAX_FRAME: Final = 16
_INDEX_INIT: Final = 12


def lost_commits(path: str) -> int:
    """Number of commits in the log of the database `path` that follow a garbled frame.

    Call it while a connection that has read the database is open (its index says how far the log is valid) and no
    process writes. 0 for an intact log; a log with a garbled header counts as one commit.
    """
    try:
        with open(path + "-wal", "rb") as file:
            head = file.read(_HEADER)
            size = os.fstat(file.fileno()).st_size
            if size <= _HEADER:
                return 0
            if not _good(head):
                # A log extended only by zeros has no commits.
                return 1 if head.strip(b"\0") or file.read(_FRAME).strip(b"\0") else 0
            page, salts = struct.unpack(">I", head[8:12])[0], head[16:24]
            good = _good_frames(path)
            commits = 0
            for number in range(good, (size - _HEADER) // (_FRAME + page)):
                file.seek(_HEADER + number * (_FRAME + page))
                frame = file.read(_FRAME)
                if frame[8:16] == salts and frame[4:8] != b"\0\0\0\0":
                    commits += 1
            return commits if commits > 1 else 0
    except FileNotFoundError:
        return 0


def _good(head: bytes) -> bool:
    """True if the checksum of a log's header is correct."""
    magic = struct.unpack(">I", head[:4])[0]
    if magic not in _MAGIC:
        return False
    one = two = 0
    words = struct.unpack(">6I" if magic & 1 else "<6I", head[:24])
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return struct.pack(">II", one, two) == head[24:32]


def _good_frames(path: str) -> int:
    """Number of frames that SQLite has accepted, from its index. 0 without an index: then all frames are checked."""
    try:
        with open(path + "-shm", "rb") as file:
            index = file.read(_INDEX_MAX_FRAME + 4)
    except FileNotFoundError:
        return 0
    if len(index) < _INDEX_MAX_FRAME + 4 or not index[_INDEX_INIT]:
        return 0
    return int(struct.unpack("=I", index[_INDEX_MAX_FRAME:])[0])
