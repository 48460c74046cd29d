"""Manual pages and shell completion cover every flag that has an effect, and man and the shells accept them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from orchd import manuals, storecommands
from orchd.config import completion, manpage
from orchd.config.flag import Flag, FlagTable
from orchd.config.values import BOOL, INT, STRING, FlagType
from orchd.testing.processes.daemon import PATIENCE

PROGRAMS = {**{name: flags for name, (_, flags) in manuals.programs().items()}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both kinds of files, as packages install them."""
    folder = tmp_path_factory.mktemp("manuals")
    for what in ("man", "completion"):
        assert manuals.main([what, str(folder / what)]) == 0
    return folder


def test_every_program_has_its_files(folder: Path) -> None:
    """Each program has a manual page; programs of the server have a completion script for each of three shells."""
    names = {*PROGRAMS, *manuals.TOOLS}
    assert {path.name for path in (folder / "man").iterdir()} == {*(f"{name}.8" for name in names), "orchctl.1"}
    for shell, form in (("bash", "{}"), ("zsh", "_{}"), ("fish", "{}.fish")):
        assert {path.name for path in (folder / "completion" / shell).iterdir()} == {
            form.format(name) for name in names
        }


@pytest.mark.parametrize("name", PROGRAMS)
def test_pages_and_scripts_have_every_settable_flag(folder: Path, name: str) -> None:
    """A manual page and its scripts contain exactly the flags that accept other values than their default."""
    page = (folder / "man" / f"{name}.8").read_text(encoding="utf-8")
    fish = (folder / "completion" / "fish" / f"{name}.fish").read_text(encoding="utf-8")
    bash = (folder / "completion" / "bash" / name).read_text(encoding="utf-8")
    zsh = (folder / "completion" / "zsh" / f"_{name}").read_text(encoding="utf-8")
    for flag in PROGRAMS[name]:
        spelled = flag.spelled()
        shown = (
            f"\\fB\\-\\-{manpage.escape(spelled)}\\fR" in page,
            f" -l {spelled} " in fish,
            f"--{spelled}=" in bash,
            f"--{spelled}=[" in zsh,
        )
        assert shown == (flag.settable,) * 4, spelled


def test_command_line_page_has_every_command(folder: Path) -> None:
    """Every command, including those in groups, has its usage and options; global options are listed once."""
    page = (folder / "man" / "orchctl.1").read_text(encoding="utf-8")
    titles = [line.removeprefix(".SS ").replace("\\", "") for line in page.splitlines() if line.startswith(".SS ")]
    assert "orchctl get [OPTIONS] TYPE[,TYPE] [NAME...] | TYPE/NAME..." in titles
    assert {title.split()[2] for title in titles if title.startswith("orchctl rollout ")} >= {
        "history",
        "status",
        "undo",
    }
    assert len(titles) > 60
    assert page.count("\\fB\\-\\-as\\-uid UID\\fR") == 1
    assert '.TH "ORCHCTL" "1"' in page and "ORCHCONFIG, KUBECONFIG" in page and "130 when interrupted" in page


@pytest.mark.parametrize("name", [*(f"{name}.8" for name in (*PROGRAMS, *manuals.TOOLS)), "orchctl.1"])
def test_mandoc_accepts_the_pages(folder: Path, name: str) -> None:
    """mandoc reports only long lines and a missing date."""
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(
        [mandoc, "-T", "lint", "-W", "warning", str(folder / "man" / name)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_accept_the_scripts(folder: Path, shell: str) -> None:
    """Each shell parses its script without an error."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    for path in sorted((folder / "completion" / shell).iterdir()):
        done = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stderr) == (0, ""), path.name


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("orchd", ["--diale"], ["--dialect="]),
        ("orchd", ["--dialect", "=", "k"], ["kubernetes"]),
        ("orchd", ["--dialect", "="], ["orch", "kubernetes"]),
        ("orchd", ["--dialect", "k"], ["kubernetes"]),
        ("orchd", ["--scheduler", "=", "f"], ["false"]),
        ("orchd", ["--history-events", "=", "1"], []),
        ("orchd-store", ["sal"], ["salvage"]),
        ("orchd-store", [""], list(storecommands.COMMANDS)),
        ("orchd-store", ["check", "--data-d"], ["--data-dir="]),
    ],
)
def test_bash_completes_flags_and_values(
    folder: Path, tmp_path: Path, program: str, words: list[str], expected: list[str]
) -> None:
    """bash completes flags, and the values of a flag; COMP_WORDS has = as a separate word."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    script = 'source "$1"; shift; f=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$f"; printf "%s\\n" "${COMPREPLY[@]}"'
    source = str(folder / "completion" / "bash" / program)
    function = "_" + program.replace("-", "_")
    done = subprocess.run(
        [bash, "--norc", "-c", script, "bash", source, function, program, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.split() == expected


def flag(name: str, type_: FlagType = STRING, help_: str = "Text.", choices: tuple[str, ...] = ()) -> Flag:
    return Flag(name, type_, "", help_, choices=choices)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (flag("x", BOOL), "true false"),
        (flag("x", choices=("a", "b")), "a b"),
        (flag("cert-dir"), completion.FOLDERS),
        (flag("tls-cert-file"), completion.FILES),
        (flag("history-events", INT), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_values_are_completed_by_kind(one: Flag, expected: str) -> None:
    """Values of switches, choices, folders and files are completed, other values are not."""
    assert completion.values(one) == expected


def test_markup_characters_are_escaped() -> None:
    """Backslashes, hyphens, leading dots and quotes are shown literally."""
    assert manpage.escape(".x\\y-z\n'q") == "\\&.x\\ey\\-z\n\\&'q"
    one = FlagTable([flag("x", help_="It's [one]: a\\b. More.")])
    fish = completion.fish(completion.Program(program="p", flags=one))
    assert "-d 'It\\'s [one]: a\\\\b'" in fish
    zsh = completion.zsh(completion.Program(program="p", flags=one))
    assert "[It'\\''s \\[one\\]\\: a\\b]" in zsh


def test_wrong_arguments_show_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments other than man or completion with a folder print the usage and exit with status 2."""
    assert manuals.main(["man"]) == 2
    assert "FOLDER" in capsys.readouterr().err
