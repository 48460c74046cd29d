"""Texts of objects at a terminal."""

from __future__ import annotations

import json

import pytest
import yaml

from orchd.ctl.printing import output
from orchd.ctl.printing.forms import FORMS
from orchd.kinds.times import timestamp
from tests.ctl.ctl_runner import Ctl

#: Characters that terminals act upon, and a text that must stay.
HOSTILE = "a\x1b[2Jb\x07c\rd\x9bge\x7ff\u202eg"
ESCAPED = r"a^[[2Jb^Gc\rd\u009bge^?f\u202eg"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, ESCAPED),
        ("\x00\x08\x0b\x1f", "^@^H^K^_"),
        ("line\n\tnext", "line\n\tnext"),
        ("é 日本 \u200f שלום", "é 日本 \u200f שלום"),
        ("", ""),
    ],
)
def test_characters_that_terminals_act_upon_are_escaped(text: str, shown: str) -> None:
    """C0 but newline and tab, DEL, C1 and changes of direction are escaped; other texts stay."""
    assert output.printable(text) == shown


def _active(text: str) -> set[str]:
    return set("\x1b\x07\r\x9b\x7f\u202e") & set(text)


def test_texts_of_objects_do_not_reach_the_terminal_raw(ctl: Ctl) -> None:
    """Tables, events, descriptions, names and errors escape what objects have; yaml and json keep the value."""
    last = timestamp(ctl.server.clock.seconds())
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": HOSTILE[:20], "message": HOSTILE,
        "involvedObject": {"kind": "ConfigMap", "name": "m", "namespace": "default"}, "type": "Normal", "lastTimestamp": last,
    }  # fmt: skip
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", "annotations": {"note": HOSTILE}},
        "data": {"k": HOSTILE},
    }
    role = {
        "apiVersion": ctl.server.dialect("rbac.authorization.{abbr}.io/v1"),
        "kind": "ClusterRole",
        "metadata": {"name": HOSTILE},
    }
    for obj in (event, config_map, role):
        ctl("create", "-f", "-", send=json.dumps(obj))
    # A server-side apply is read as YAML, which has no DEL and C1.
    changed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "b\x1b[2J\u202e"}}
    for words in (
        ("get", "events"), ("events",), ("describe", "cm", "m"), ("describe", "events"), ("get", "clusterroles"), ("get", "clusterroles", "-o", "name"),
        ("get", "cm", "-o", "custom-columns=A:.data.k"), ("diff", "-f", "-"), ("get", "cm", "m", "-o", "json"),
    ):  # fmt: skip
        ran = ctl(*words, send=json.dumps(changed), status=1 if words[0] == "diff" else 0)
        assert not _active(ran.out + ran.error), words
        assert "b" in ran.out
    assert ESCAPED in ctl("describe", "cm", "m").out
    assert not _active(ctl("get", "cm", HOSTILE, status=1).error)
    assert json.loads(ctl("get", "cm", "m", "-o", "json").out)["data"]["k"] == HOSTILE
    assert yaml.safe_load(ctl("get", "cm", "m", "-o", "yaml").out)["data"]["k"] == HOSTILE
    assert ctl("get", "cm", "m", "-o", "jsonpath={.data.k}").out == HOSTILE


def test_rows_that_come_later_keep_the_widths(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns have the widths of the rows so far; a wider value makes its column wider from there on."""
    columns = output.Columns(["name", "age"])
    columns.write([["long-name", "1s"]])
    columns.write([["a", "2s"], ["much-longer-name", "3s"]])
    columns.write([["b", "4s"]])
    assert capsys.readouterr().out.splitlines() == [
        "NAME        AGE", "long-name   1s", "a                  2s", "much-longer-name   3s", "b                  4s",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["nope", "jsonpath-as", "custom-column=a"])
def test_forms_that_do_not_exist(ctl: Ctl, form: str) -> None:
    """The message lists those that do."""
    assert ctl("get", "cm", "-o", form, status=1).error == f"orchctl: -o {form}: no such form: use one of {FORMS}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "<none>"), (True, "true"), (False, "false"), ({"a": ["é"]}, '{"a":["é"]}'), ("a\nb", "a b"), (5, "5")],
)
def test_cells(value: object, text: str) -> None:
    """A cell is one line of text."""
    assert output.cell_text(value) == text


def test_lists_in_brackets() -> None:
    assert [output.bracketed(each) for each in (None, [], ["a", "b"])] == ["[]", "[]", "[a b]"]


def test_json_escapes_what_terminals_act_upon() -> None:
    assert output.json_text({"b": "\x7f\x1bé", "a": 1}) == '{\n    "a": 1,\n    "b": "\\u007f\\u001bé"\n}'


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is as a terminal with colours."""
    monkeypatch.setattr(output, "interactive", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("colours")
def test_colours_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Words of a state have a colour; headings and numbers have none, and lines are not broken."""
    long = "x" * 200
    output.Columns(["name", "status"]).write([["a", "Running"], ["7", "NotReady,Gone"], [long, "b"]])
    gap = " " * 202
    assert capsys.readouterr().out.splitlines() == [
        f"NAME{' ' * 199}STATUS", f"a{gap}\x1b[32mRunning\x1b[0m", f"7{gap}\x1b[31mNotReady,Gone\x1b[0m", f"{long}   b",
    ]  # fmt: skip


@pytest.mark.usefixtures("colours")
def test_colours_of_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """The language of a document is coloured, and other escapes of its text are shown."""
    output.document("a: \x1b[2Jb\n\n", "yaml")
    out = capsys.readouterr().out
    assert "\x1b[" in out and "\x1b[2J" not in out and "^[[2Jb" in out and out.endswith("\n") and out.count("\n") == 1


def test_documents_of_other_languages_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    for language, printed in (("yaml", "a\x07b\n"), ("diff", "a^Gb\n")):
        output.document("a\x07b\n\n", language)
        assert capsys.readouterr().out == printed
