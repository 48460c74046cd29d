"""``cp``: copies files and folders to and from containers, with the tar program of the container."""

from __future__ import annotations

import os
import posixpath
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.pods import containers_of
from orchd.ctl.printing import output
from orchd.ctl.streams.remote_process import RemoteProcess, Write
from orchd.kinds.jsonvalues import Object
from orchd.txkit.coroutines import start

_PIECE = 256 * 1024
#: Bytes of a failed command's complaint that are kept.
_MOST_COMPLAINT = 4096
#: Bytes after which the room on the disk is looked at, and bytes that stay free.
_CHECKED = 16 * 1024 * 1024
_LEAST_ROOM = 256 * 1024 * 1024
#: Bytes of a header that is read as a whole: long names, and extended headers.
_MOST_HEADER = 1024 * 1024
_WHOLE_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A path in a container, or with `pod` "" a local one."""

    path: str
    pod: str = ""
    namespace: str = ""


def parse_place(text: str) -> Place:
    """``PATH`` or ``[NAMESPACE/]POD:PATH``. Raises CommandError."""
    before, colon, path = text.partition(":")
    if not colon or before.startswith((".", "/")) or before.count("/") > 1:
        return Place(text)
    namespace, _, pod = before.rpartition("/")
    if not pod or not path:
        raise CommandError(f"{text!r}: write [NAMESPACE/]POD:PATH for a path in a container")
    return Place(path, pod, namespace)


@click.command(cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default.")
@click.option("--no-preserve", is_flag=True, help="Do not preserve the owners of files in the container.")
@click.option(
    "--retries", type=int, hidden=True, expose_value=False, help="Without effect: a copy that breaks off is an error."
)
@pass_session
def cp(session: Session, source: str, target: str, container: str, no_preserve: bool) -> None:
    """Copy a file or folder to or from a container, which needs a tar program. FROM and TO are PATH or
    [NAMESPACE/]POD:PATH, one of each."""
    origin, goal = parse_place(source), parse_place(target)
    if bool(origin.pod) == bool(goal.pod):
        raise CommandError("one of FROM and TO is local, the other [NAMESPACE/]POD:PATH")
    remote = origin if origin.pod else goal
    if goal.pod and not os.path.lexists(origin.path):
        raise CommandError(f"{origin.path}: No such file or directory: check the path")

    async def work(api: Api) -> None:
        pods = await api.discovery.find("pods")
        pod = await api.get(pods, remote.pod, remote.namespace)
        side = _Container(api, pods, pod, containers_of(pod, container, False)[0])
        with tempfile.TemporaryFile() as archive:
            if goal.pod:
                await _upload(side, Path(origin.path), goal.path, archive, keep_owners=not no_preserve)
            else:
                await side.run(["tar", "cf", "-", origin.path], out=BoundedWriter(archive).write)
                archive.seek(0)
                extract(archive, origin.path, Path(goal.path))

    session.run(work)


class BoundedWriter:
    """Writes to a temporary file as long as the disk has room: what a container sends may have no end."""

    def __init__(
        self, file: IO[bytes], room: Callable[[], int] = lambda: shutil.disk_usage(tempfile.gettempdir()).free
    ) -> None:
        self._file = file
        self._room = room
        self._unchecked = 0

    def write(self, data: bytes) -> None:
        """Raises CommandError when too little room is left."""
        self._unchecked += len(data)
        if self._unchecked >= _CHECKED:
            self._unchecked = 0
            if self._room() < _LEAST_ROOM:
                raise CommandError(
                    f"the container sends more than fits into {tempfile.gettempdir()}: set TMPDIR to a larger disk"
                )
        self._file.write(data)


class _Container:
    """Runs programs in a container."""

    def __init__(self, api: Api, pods: Resource, pod: Object, name: str) -> None:
        self._api, self._pods, self._pod, self._name = api, pods, pod, name

    async def status(
        self, command: list[str], *, out: Write | None = None, send: IO[bytes] | None = None
    ) -> tuple[int, str]:
        """The exit status of a command, and what it says on standard error."""
        complaint = bytearray()

        def complain(data: bytes) -> None:
            complaint.extend(data[: _MOST_COMPLAINT - len(complaint)])

        process = await RemoteProcess.open(
            self._api, self._pods, self._pod, self._name, command=command, stdin=send is not None
        )
        try:
            sending = start(_send(process, send)) if send is not None else None
            try:
                status = await process.run(out or (lambda data: None), complain)
            finally:
                if sending is not None:
                    sending.addErrback(lambda failure: None)
                    sending.cancel()
        finally:
            process.close()
        return status, complaint.decode("utf-8", "replace").strip()

    async def run(self, command: list[str], *, out: Write | None = None, send: IO[bytes] | None = None) -> None:
        """`status`, but raises CommandError if the exit status is not 0."""
        status, complaint = await self.status(command, out=out, send=send)
        if status:
            raise CommandError(
                f"{command[0]} in container {self._name} ended with {status}: {complaint or 'it does not say why'}"
            )


async def _send(process: RemoteProcess, data: IO[bytes]) -> None:
    while piece := data.read(_PIECE):
        await process.write(piece)
    # Where the protocol has no way to say so, tar knows the end from the archive.
    await process.end_input()


async def _upload(side: _Container, source: Path, target: str, archive: IO[bytes], *, keep_owners: bool) -> None:
    path = target.rstrip("/") or "/"
    status, _ = await side.status(["test", "-d", path])
    if status == 0:
        path = posixpath.join(path, source.resolve().name)

    def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=archive, mode="w") as writing:
        writing.add(source, arcname=posixpath.basename(path), filter=None if keep_owners else without_owner)
    archive.seek(0)
    flags = ["xmf", "-"] if keep_owners else ["--no-same-permissions", "--no-same-owner", "-xmf", "-"]
    await side.run(["tar", *flags, "-C", posixpath.dirname(path) or "."], send=archive)


class _Member(tarfile.TarInfo):
    """A member that is no header of unlimited size, which tarfile reads as a whole. Negative sizes are errors of
    streams, which cannot be read backwards."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _WHOLE_HEADERS and member.size > _MOST_HEADER:
            raise tarfile.ReadError(f"a header has more than {_MOST_HEADER} bytes")
        return member


def extract(archive: IO[bytes], path: str, target: Path) -> None:
    """Unpack what tar made of `path` as `target`, or into it where that is a folder and `path` is a file. Nothing is
    written outside: links and names that lead elsewhere are left out with a warning. Raises CommandError."""
    if not hasattr(tarfile, "data_filter"):
        raise CommandError("this Python unpacks archives without checking them: use one from 3.11.4 on")
    prefix = posixpath.normpath(path).lstrip("/")
    copied = False
    try:
        with tarfile.open(fileobj=archive, mode="r|", tarinfo=_Member) as reading:
            for member in reading:
                # They would all be kept.
                reading.members.clear()  # type: ignore[attr-defined]  # not in the stubs
                name = posixpath.normpath(member.name).lstrip("/")
                inside = "" if name == prefix else name.removeprefix(f"{prefix}/") if prefix != "." else name
                if inside == name and prefix not in (".", ""):
                    _warn(f"{member.name} is not below {path}")
                elif not (member.isfile() or member.isdir()) or member.issparse():
                    _warn(f"{member.name} is a link, a device or a sparse file")
                else:
                    copied = True
                    _extract_one(reading, member, inside, target, posixpath.basename(prefix))
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise CommandError(f"the container did not send a proper archive: {error}") from None
    except OSError as error:
        raise CommandError(f"{error.filename or target}: {error.strerror or error}") from None
    if not copied:
        raise CommandError(f"{path}: nothing that can be copied")


def _extract_one(reading: tarfile.TarFile, member: Any, inside: str, target: Path, own: str) -> None:
    if inside:
        folder, name = target, inside
    elif member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    else:
        folder, name = (target, own) if target.is_dir() else (target.parent, target.name)
    member.name = name
    try:
        reading.extract(member, folder, filter="data")
    except tarfile.FilterError as error:
        _warn(str(error))


def _warn(why: str) -> None:
    output.note(f"Warning: left out: {why}")
