"""Identifiers and string constants spell the product word in `orchd/dialect.py` only: elsewhere names are templates
that a dialect expands. Comments and docstrings may name the peer where that is the clear word."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.dialect import DIALECTS, Dialect

ROOT = Path(__file__).resolve().parents[1]

#: The product words of all dialects, at the start of a word or inside one; this package's own name does not match.
WORDS = re.compile(
    "|".join(
        sorted({rf"(?<![a-z]){re.escape(d.short)}(?!d\b|d[-_. ]|estrat)" for d in DIALECTS.values()})
        + sorted({re.escape(w) for d in DIALECTS.values() for w in (d.long, d.abbr) if w != d.short})
    ),
    re.IGNORECASE,
)
#: Modules that may name a dialect: the choice itself, documentation of the default, the daemon's hint for stock
#: clients, and doubles that choose one for a test.
CHOOSERS = (
    "orchd/config/flag.py",
    "orchd/config/rows/server.py",
    "orchd/config/options.py",
    "orchd/config/help.py",
    "orchd/config/manpage.py",
    "orchd/config/completion.py",
    "orchd/tap.py",
    "orchd/testing/",
)
# The names by which those modules refer to it.
CONSTANTS = re.compile(r"\b(?:" + "|".join(name.upper() for name in DIALECTS) + r")\b")


def files() -> Iterator[Path]:
    """All files that are shipped as code or data, except orchd/dialect.py."""
    for folder in ("orchd", "twisted/plugins"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".json", ".yaml", ".txt", ".proto", ".typed"):
                yield path


def strays(text: str) -> Iterator[tuple[int, str]]:
    """(line number, line) of every line that spells the word."""
    for number, line in enumerate(text.splitlines(), 1):
        if WORDS.search(line):
            yield number, line.strip()


def without_prose(source: str) -> str:
    """Python source without comments and docstrings, line numbers kept: prose may name the peer."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        # Docstrings, and the strings that stand beneath an attribute or module constant to describe it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "{long}.io/hostname",
        "{Long}",
        "{short}-system",
        "{short}.io",
        "{short}ctl",
        "{short}let",
        "{short}Config",
        "X-{Short}",
        "{abbr}.io",
        "system:{short}-x",
        "{LONG}_SERVICE_HOST",
        "{short}_x",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
def test_the_search_finds_every_form(dialect: Dialect, text: str) -> None:
    """The search finds every form in which the word appears on the wire."""
    assert list(strays(dialect(text)))


@pytest.mark.parametrize(
    "text", ["orchd", "orchd-data", "import orchd.tap", "orchd_store_commits", "orchestrated", "{short}-system"]
)
def test_the_search_leaves_other_words_alone(text: str) -> None:
    """The search does not match the package's own name or templates."""
    assert not list(strays(text))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
def test_only_prose_is_left_out(dialect: Dialect) -> None:
    """Comments and docstrings may name the peer; string constants, formatted strings and identifiers may not."""
    word = dialect.short
    prose = f'"""As {word}-apiserver."""\nx = 1  # {word}\ndef f():\n    """{word}"""\n'
    assert not list(strays(without_prose(prose)))
    for code in (f'x = "{word}"', f"{word}_x = 1", f'x = f"{word}-{{y}}"', f'x = """\n{word}\n"""', f'f("{word}")'):
        assert list(strays(without_prose(code))), code


def test_no_module_spells_the_word() -> None:
    """No identifier and no string constant outside the dialect module spells the product word of any dialect."""
    offenders = []
    for path in files():
        name = str(path.relative_to(ROOT))
        if name != "orchd/dialect.py":
            text = path.read_text(encoding="utf-8")
            if not WORDS.search(text):
                continue
            if path.suffix == ".py":
                text = without_prose(text)
            if name.startswith(CHOOSERS):
                text = CONSTANTS.sub("", text)
            offenders += [f"{name}:{number}: {line}" for number, line in strays(text)]
    assert not offenders, "\n".join(offenders)


def test_no_file_name_contains_the_word() -> None:
    """No module or folder has the word in its name."""
    names = [str(p.relative_to(ROOT / "orchd")) for p in files() if p.is_relative_to(ROOT / "orchd")]
    assert not [name for name in names if name != "dialect.py" and list(strays(name))]


def test_dialects_are_not_module_state() -> None:
    """Outside the choosing modules no module imports a dialect by name: it is an argument."""
    states = []
    for path in files():
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if path.suffix == ".py" and not name.startswith(CHOOSERS) and "orchd.dialect" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module == "orchd.dialect":
                    wrong = {a.name for a in node.names} & {d.upper() for d in DIALECTS}
                    states += [f"{name}:{node.lineno}: {word}" for word in sorted(wrong)]
    assert not states, "\n".join(states)
