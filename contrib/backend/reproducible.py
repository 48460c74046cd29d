"""PEP 517 build backend: setuptools, with archives that depend on nothing but the sources.

With SOURCE_DATE_EPOCH (seconds since the epoch) in the environment every member of a wheel or an sdist has that time,
mode 0644 or 0755 and no owner, and members are sorted by name. Without it the archives are those of setuptools.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.build_meta import build_sdist as _build_sdist
from setuptools.build_meta import build_wheel as _build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

#: The first second that a zip archive can name, 1980-01-01.
_ZIP_START = 315532800


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; returns its file name."""
    name: str = _build_wheel(wheel_directory, config_settings, metadata_directory)
    epoch = _epoch()
    if epoch is not None:
        _rewrite_zip(Path(wheel_directory, name), epoch)
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Build an sdist; returns its file name."""
    name: str = _build_sdist(sdist_directory, config_settings)
    epoch = _epoch()
    if epoch is not None:
        _rewrite_tar(Path(sdist_directory, name), epoch)
    return name


def _epoch() -> int | None:
    text = os.environ.get("SOURCE_DATE_EPOCH")
    return None if text is None else int(text)


def _mode(executable: int) -> int:
    return 0o755 if executable & 0o100 else 0o644


def _rewrite_zip(path: Path, epoch: int) -> None:
    when = time.gmtime(max(epoch, _ZIP_START))[:6]
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: (info.external_attr >> 16, archive.read(info)) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # Metadata last, as PEP 427 recommends.
        for name in sorted(members, key=lambda name: (".dist-info/" in name, name)):
            mode, content = members[name]
            info = zipfile.ZipInfo(name, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100000 | _mode(mode)) << 16
            archive.writestr(info, content)


def _rewrite_tar(path: Path, epoch: int) -> None:
    with tarfile.open(path) as archive:
        members = [(info, _content(archive, info)) for info in archive.getmembers()]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for old, content in sorted(members, key=lambda pair: pair[0].name):
            info = tarfile.TarInfo(old.name)
            info.type, info.size, info.mtime = old.type, len(content), epoch
            info.mode = 0o755 if old.isdir() else _mode(old.mode)
            archive.addfile(info, io.BytesIO(content))
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed:
        packed.write(out.getvalue())


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info) if info.isfile() else None
    return b"" if file is None else file.read()
