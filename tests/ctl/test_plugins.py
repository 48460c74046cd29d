"""Plugins, and programs that build kustomizations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchd.ctl.plugins import find_plugin
from orchd.dialect import COMMAND_LINE, KUBERNETES
from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: built}\n"


def _program(folder: Path, name: str, script: str = "true", mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("words", "name", "arguments"),
    [
        (("a",), "a", []), (("a", "b"), "a-b", []), (("a", "b", "c"), "a-b", ["c"]), (("a", "--flag", "b"), "a", ["--flag", "b"]),
        (("x-y", "z"), "x_y", ["z"]), (("nothing",), None, []), (("--flag", "a"), None, []), (("../a",), None, []),
    ],
)  # fmt: skip
def test_the_longest_name_of_a_plugin_wins(
    tmp_path: Path, words: tuple[str, ...], name: str | None, arguments: list[str]
) -> None:
    """Words up to the first flag name the plugin; the others are its arguments."""
    for each in ("a", "a-b", "x_y"):
        _program(tmp_path, f"{COMMAND_LINE}-{each}")
    plugin = find_plugin(words, str(tmp_path))
    assert plugin == (None if name is None else (str(tmp_path / f"{COMMAND_LINE}-{name}"), arguments))


def test_unknown_commands_run_plugins(ctl: Ctl, tmp_path: Path) -> None:
    """A plugin gets the words behind its name and the environment; it cannot replace a command, nor stand behind
    flags."""
    ran: list[tuple[str, list[str], Mapping[str, str]]] = []
    ctl.environment["PATH"] = str(tmp_path)
    ctl.replace_program = lambda *given: ran.append(given)
    program = str(_program(tmp_path, f"{COMMAND_LINE}-hello"))
    _program(tmp_path, f"{COMMAND_LINE}-get")
    ctl("hello", "world", "--flag")
    assert ran == [(program, [program, "world", "--flag"], ctl.environment)]
    ctl("get", "ns")
    assert "flags cannot be placed before" in ctl("-n", "x", "hello", status=1).error
    assert "no command 'goodbye'" in ctl("goodbye", status=1).error
    assert len(ran) == 1


def test_plugins_are_listed_with_what_is_wrong(ctl: Ctl, tmp_path: Path) -> None:
    """Files that cannot run, and those hidden by others or by commands, are named."""
    ctl.environment["PATH"] = os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "none")))
    assert "no plugins on the PATH" in ctl("plugin", "list", status=1).error
    good = _program(tmp_path / "a", f"{COMMAND_LINE}-good")
    assert ctl("plugin", "list").lines == [str(good)]
    for folder, name, mode in (
        ("a", "dull", 0o644),
        ("b", "good", 0o755),
        ("b", "api_resources", 0o755),
        ("b", "rollout-undo", 0o755),
    ):
        _program(tmp_path / folder, f"{COMMAND_LINE}-{name}", mode=mode)
    ran = ctl("plugin", "list", "--name-only", status=1)
    assert ran.lines == [f"{COMMAND_LINE}-{name}" for name in ("dull", "good", "api_resources", "good", "rollout-undo")]
    warnings = [line for line in ran.error.splitlines() if line.startswith("Warning: ")]
    assert [("not executable" in each, "hidden by" in each) for each in warnings] == [
        (True, False),
        (False, True),
        (False, True),
        (False, True),
    ]
    assert ran.error.splitlines()[-1].endswith("4 of 5 plugins cannot run")


@pytest.mark.parametrize("name", ["kustomize", KUBERNETES("{short}ctl")])
def test_kustomizations_are_built_by_their_program(ctl: Ctl, tmp_path: Path, name: str) -> None:
    """-k applies, reads and deletes what the program prints for the folder; its complaint is the error."""
    ctl.environment["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for each in ("kustomize", KUBERNETES("{short}ctl")):
        _program(
            tmp_path,
            each,
            'echo "$0 is not asked" >&2; exit 9'
            if each != name
            else f'[ "$3" = bad ] && {{ echo no such >&2; exit 1; }}\ncat <<END\n{MAP}END',
        )
    if name != "kustomize":
        (tmp_path / "kustomize").unlink()
        ctl.environment["PATH"] = f"{tmp_path}{os.pathsep}/bin"
    assert ctl("apply", "-k", "folder").lines == ["configmap/built created"]
    assert ctl("get", "-k", "folder", "-o", "name").lines == ["configmap/built"]
    assert ctl("kustomize", "folder").out == MAP
    assert ctl("delete", "-k", "folder").lines == ['configmap "built" deleted from default namespace']
    assert "bad: no such" in ctl("apply", "-k", "bad", status=1).error
    assert "-f and -k cannot be used together" in ctl("apply", "-k", "folder", "-f", "x", status=1).error


def test_a_missing_builder_of_kustomizations_is_named(ctl: Ctl, tmp_path: Path) -> None:
    """Without a program that builds them, the error says what to install."""
    ctl.environment["PATH"] = str(tmp_path)
    # It is this program itself.
    _program(tmp_path, COMMAND_LINE)
    assert "install kustomize or " in ctl("apply", "-k", ".", status=1).error


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 9", "kustomize build folder: ended with 9"),
        ("printf '\\377'", "kustomize build folder: its output is not UTF-8 text"),
    ],
)
def test_builders_that_fail(ctl: Ctl, tmp_path: Path, script: str, says: str) -> None:
    ctl.environment["PATH"] = f"{tmp_path}{os.pathsep}/bin"
    _program(tmp_path, "kustomize", script)
    assert says in ctl("kustomize", "folder", status=1).error
    (tmp_path / "kustomize").write_bytes(b"\x7fELF")
    assert f"{tmp_path / 'kustomize'}: Exec format error" in ctl("kustomize", "folder", status=1).error
