"""``cp``: files to and from containers, and archives of containers that lie."""

from __future__ import annotations

import io
import json
import os
import pwd
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred

from orchd.ctl.commands.cp import BoundedWriter, Place, extract, parse_place
from orchd.ctl.errors import CommandError
from tests.ctl.ctl_runner import Ctl
from tests.ctl.node_double import Socket, connect_node

#: Adds members to an archive.
Fill = Callable[[tarfile.TarFile], object]


def _add(
    archive: tarfile.TarFile,
    name: str,
    data: bytes = b"data",
    type_: bytes = tarfile.REGTYPE,
    link: str = "",
    **more: object,
) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = type_, link
    member.size = len(data) if type_ == tarfile.REGTYPE else 0
    for key, value in more.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))
    return member


def _archive(fill: Fill) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    out.seek(0)
    return out


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The local side of a copy; nothing may be written beside it."""
    (tmp_path / "outside").write_text("mine")
    return tmp_path / "target"


@pytest.mark.parametrize(
    "fill",
    [
        lambda a: _add(a, "logs/../../outside"), lambda a: _add(a, "/outside"), lambda a: _add(a, "../outside"), lambda a: _add(a, "logs/../outside"),
        lambda a: (_add(a, "logs/up", type_=tarfile.SYMTYPE, link=".."), _add(a, "logs/up/outside")),
        lambda a: (_add(a, "logs/f", type_=tarfile.SYMTYPE, link="../outside"), _add(a, "logs/f")),
        lambda a: (_add(a, "logs/f", type_=tarfile.LNKTYPE, link="../outside"), _add(a, "logs/f")),
        lambda a: _add(a, "logs/null", type_=tarfile.CHRTYPE, devmajor=1, devminor=3), lambda a: _add(a, "logs/pipe", type_=tarfile.FIFOTYPE),
        lambda a: _add(a, "logs/sparse", type_=tarfile.GNUTYPE_SPARSE), lambda a: _add(a, "elsewhere/outside"), lambda a: _add(a, "logs2/outside"), lambda a: _add(a, "logs/f", pax_headers={"path": "/outside"}),
    ],
)  # fmt: skip
def test_nothing_is_written_outside_the_target(
    tmp_path: Path, target: Path, fill: Fill, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names that lead elsewhere, links and devices are left out with a warning; the rest is copied."""

    def both(archive: tarfile.TarFile) -> None:
        fill(archive)
        _add(archive, "logs/good")

    extract(_archive(both), "/logs", target)
    assert "Warning: left out: " in capsys.readouterr().err
    assert (target / "good").read_bytes() == b"data" and not (target / "sparse").exists()
    assert (tmp_path / "outside").read_text() == "mine"
    assert not any(path.is_symlink() or path.is_fifo() or path.is_char_device() for path in tmp_path.rglob("*"))
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "target"}


@pytest.mark.parametrize("path", [".", "/", ".."])
def test_parts_of_the_path_do_not_lead_out(tmp_path: Path, target: Path, path: str) -> None:
    """A path without a name of its own does not let members out either."""
    target.mkdir()
    names = ("..", "../outside", "../../outside", "/../outside", "x")
    try:
        extract(_archive(lambda archive: [_add(archive, name) for name in names]), path, target)
    except CommandError as error:
        assert "nothing that can be copied" in str(error)
    assert (tmp_path / "outside").read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == {"outside", "target"}


def test_links_of_the_local_side_are_not_followed(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link in the local folder that leads out of it is not written through."""
    target.mkdir()
    (target / "link").symlink_to(tmp_path / "outside")
    extract(_archive(lambda a: (_add(a, "logs/link"), _add(a, "logs/b"))), "logs", target)
    assert (tmp_path / "outside").read_text() == "mine" and (target / "b").exists()
    assert "Warning: left out: 'link' would be extracted to " in capsys.readouterr().err


def test_modes_of_others_are_not_taken(target: Path) -> None:
    """No file comes with setuid bits or may be written by others."""
    extract(_archive(lambda a: _add(a, "logs/f", mode=0o6777)), "logs", target)
    assert (target / "f").stat().st_mode & 0o7022 == 0


def _header(size: bytes, type_: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo("logs/f")
    member.type = type_
    raw = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    raw[124:136] = size
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 1024, b"no archive" * 100, _header(b"\xff" * 12), _header(b"\xff" * 12, tarfile.XHDTYPE), _header(b"00000002000\0")[:700],
        _header(b"77777777777\0", tarfile.XHDTYPE), _header(b"77777777777\0", tarfile.GNUTYPE_LONGNAME), _header(b"00000002000\0"),
        _archive(lambda a: _add(a, "logs/f", pax_headers={"size": "-512"})).getvalue(),
        _archive(lambda a: _add(a, "logs/f", pax_headers={"comment": "x" * (2 << 20)})).getvalue(),
        _archive(lambda a: _add(a, "logs/f", pax_headers={"mtime": "1e400"})).getvalue(),
        _archive(lambda a: _add(a, "logs/f", pax_headers={"mtime": "nan"})).getvalue(),
        _archive(lambda a: _add(a, "logs/f", pax_headers={"path": "logs/a\0b"})).getvalue(),
        _archive(lambda a: _add(a, "logs/" + "x" * 300)).getvalue(),
        _archive(lambda a: _add(a, "logs/" + "x/" * 3000 + "x")).getvalue(),
    ],
)  # fmt: skip
def test_malformed_archives_are_one_error(target: Path, data: bytes) -> None:
    """Sizes, headers, times and names that no tar program writes end the copy with an error."""
    with pytest.raises(CommandError):
        extract(io.BytesIO(data), "logs", target)


def test_an_archive_without_end_stops_where_the_disk_is_full() -> None:
    """What a container sends is kept as long as there is room."""
    file, piece = io.BytesIO(), bytes(8 * 1024 * 1024)
    rooms, looks = [256 << 20, (256 << 20) - 1], list[int]()

    def room() -> int:
        looks.append(len(file.getvalue()))
        return rooms.pop(0)

    writer = BoundedWriter(file, room)
    with pytest.raises(CommandError, match="sends more than fits into"):
        for _ in range(100):
            writer.write(piece)
    assert looks == [8 << 20, 24 << 20]


@pytest.mark.parametrize("name", ["", "f"])
def test_folders(target: Path, name: str) -> None:
    """A folder becomes the target, which may be there, with the folders above it."""
    folder = target / "a" / "b"

    def fill(archive: tarfile.TarFile) -> None:
        _add(archive, "logs/", type_=tarfile.DIRTYPE)
        if name:
            _add(archive, f"logs/{name}")

    for _ in range(2):
        extract(_archive(fill), "logs/", folder)
    assert folder.is_dir()
    assert _files(target) == ({f"a/b/{name}": b"data"} if name else {})


def test_the_largest_header(target: Path) -> None:
    """A header of a mebibyte is read."""
    comment = "x" * ((1 << 20) - len("1048576 comment=\n"))
    extract(_archive(lambda a: _add(a, "logs/f", pax_headers={"comment": comment})), "logs", target)
    assert _files(target) == {"f": b"data"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a/b", Place("a/b")), ("p:/x", Place("/x", "p")), ("n/p:x", Place("x", "p", "n")), ("./p:x", Place("./p:x")), ("/a:b", Place("/a:b")),
        ("a/b/c:d", Place("a/b/c:d")), ("p:", None), (":x", None), ("n/:x", None),
    ],
)  # fmt: skip
def test_places(text: str, place: Place | None) -> None:
    """A colon behind a pod's name marks a path of a container, which has to be there."""
    if place is None:
        with pytest.raises(CommandError, match=r"write \[NAMESPACE/\]POD:PATH"):
            parse_place(text)
    else:
        assert parse_place(text) == place


class ContainerFiles:
    """A container whose programs are `test` and `tar`: what is uploaded, and what is sent for `tar cf`."""

    def __init__(
        self, *, folders: tuple[str, ...] = (), sends: bytes = b"", status: int = 0, says: bytes = b""
    ) -> None:
        self.folders, self.sends, self.status, self.says = folders, sends, status, says
        self.commands: list[list[str]] = []
        self.sockets: list[Socket] = []

    def __call__(self, path: str, query: list[tuple[str, str]]) -> Socket:
        words = [value for name, value in query if name == "command"]
        assert ("stdin", "true") in query or words[0] == "test" or words[1] == "cf"
        self.commands.append(words)
        status = self.status if words[0] == "tar" else int(words[2] not in self.folders)
        causes = [{"reason": "ExitCode", "message": str(status)}]
        said = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
        end = json.dumps(said if status else {"status": "Success"}).encode()
        said_in_pieces = [b"\2" + self.says[at : at + 3000] for at in range(0, len(self.says), 3000)]
        sent = [b"\1" + self.sends] if words[:2] == ["tar", "cf"] else []
        self.sockets.append(Socket(*sent, *said_in_pieces, b"\3" + end))
        return self.sockets[-1]

    def uploaded(self) -> dict[str, tuple[bytes, int, str]]:
        """The files of the archive that was uploaded last, with numbers and names of their owners."""
        # The last message ends standard input.
        assert self.sockets[-1].sent[-1] == b"\xff\0"
        data = b"".join(piece[1:] for piece in self.sockets[-1].sent if piece[:1] == b"\0")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = [(member, archive.extractfile(member)) for member in archive if member.isfile()]
            return {member.name: (file.read(), member.uid, member.uname) for member, file in files if file is not None}


@pytest.mark.parametrize(
    "to, folders, folder, name",
    [
        ("p1:/tmp/b", (), "/tmp", "b"),
        ("p1:/tmp/", ("/tmp",), "/tmp", "a"),
        ("default/p1:/tmp", ("/tmp",), "/tmp", "a"),
        ("p1:b", (), ".", "b"),
        ("p1:/", ("/",), "/", "a"),
    ],
)
def test_uploads(
    cluster: Ctl,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    to: str,
    folders: tuple[str, ...],
    folder: str,
    name: str,
) -> None:
    """A file gets the name of the target, or goes into it where that is a folder."""
    (tmp_path / "a").write_bytes(b"data")
    container = ContainerFiles(folders=folders)
    connect_node(cluster, monkeypatch, container)
    cluster("cp", str(tmp_path / "a"), to)
    assert container.commands[-1] == ["tar", "xmf", "-", "-C", folder]
    assert container.uploaded() == {name: (b"data", os.getuid(), pwd.getpwuid(os.getuid()).pw_name)}
    assert all(socket.closed for socket in container.sockets)


def test_uploads_without_owners(cluster: Ctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_bytes(b"data")
    container = ContainerFiles()
    connect_node(cluster, monkeypatch, container)
    cluster("cp", "--no-preserve", str(tmp_path / "d"), "p1:/x/y")
    assert container.commands[-1][:4] == ["tar", "--no-same-permissions", "--no-same-owner", "-xmf"]
    assert container.uploaded() == {"y/e/f": (b"data", 0, "")}


def test_downloads(cluster: Ctl, monkeypatch: pytest.MonkeyPatch, target: Path) -> None:
    sends = _archive(lambda archive: _add(archive, "var/log/a")).getvalue()
    container = ContainerFiles(sends=sends)
    connect_node(cluster, monkeypatch, container)
    cluster("cp", "p1:/var/log/a", str(target / "b"))
    assert container.commands == [["tar", "cf", "-", "/var/log/a"]]
    assert _files(target) == {"b": b"data"}


@pytest.mark.parametrize(
    "says, words", [(b"no space\n", "no space"), (b"", "it does not say why"), (b"x" * 5000, "x" * 4096 + "\n")]
)
def test_programs_that_fail(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, target: Path, says: bytes, words: str
) -> None:
    connect_node(cluster, monkeypatch, ContainerFiles(status=2, says=says))
    error = cluster("cp", "p1:/a", str(target), status=1).error
    assert f"tar in container c ended with 2: {words}" in error


@pytest.mark.parametrize(
    "words, message",
    [
        (("a", "b"), "one of FROM and TO is local"),
        (("p:a", "q:b"), "one of FROM and TO is local"),
        (("/nonexistent/a", "p1:/b"), "/nonexistent/a: No such file or directory"),
        (("-c", "d", "p1:/a", "b"), "container d is not in pod p1"),
    ],
)
def test_places_that_do_not_fit(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    connect_node(cluster, monkeypatch, ContainerFiles())
    assert message in cluster("cp", *words, status=1).error


def test_programs_that_end_before_they_read_their_input(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The rest of the archive is dropped."""
    dropped: list[object] = []

    class Full(Socket):
        async def send(self, message: bytes) -> None:
            await Deferred(dropped.append)

    def answer(path: str, query: list[tuple[str, str]]) -> Socket:
        if ("command", "tar") in query:
            return Full(b'\3{"status": "Failure", "message": "killed"}')
        return Socket(b'\3{"status": "Success"}')

    (tmp_path / "a").write_bytes(b"data")
    connect_node(cluster, monkeypatch, answer)
    assert "killed" in cluster("cp", str(tmp_path / "a"), "p1:/b", status=1).error
    assert len(dropped) == 1
