"""The editor's YAML and the server's read and write the same values."""

from __future__ import annotations

import random
from typing import Any

import pytest

from orchd.kinds.codec import yaml_
from tests.ui.page import Page

#: Pieces of text that YAML reads as other types, or that must be quoted.
_PIECES = (
    "a", "b: c", "- x", "#c", " #d", '"', "'", "\n", "\n\n", " ", "  ", "\t", "yes", "1", "0x1", "1e3", "~", "null", "{", "}",
    "[", "|", ">", "&a", "*", "!", "%", "@", "`", ":", "é", "\x85", "\u2028", "<b>", "\\", "0644", "1.5", "--- ", "...", "?",
    "-", "=", "<<", ".inf", "2001-01-01", "12:30:45",
)  # fmt: skip
#: Hand-written documents, which both must read alike.
_WRITTEN = (
    "a: 1\nb:\n- x\n- k: 2\n  z: [1, 2, {a: b}]\nc:\n  - q\n",
    "# c\na: b # t\n'k': \"v\\n\"\n",
    "a: >\n  folded\n  text\n\n  more\nb: |+\n  x\n\nc: 3\n",
    "a: {b: c,\n  d: e}\nx: [1,\n 2]\n",
    "- - 1\n  - 2\n- a: b\n  c:\n    d: e\n- |\n  lit\n- \n  x: z\n",
    "a: multi\n  line plain\nb: 2\n",
    "a: 'it''s'\nb: http://x:80/y\nc: a#b\nd: a #b\n",
    "---\na: 1\n",
    "mode: 0644\nh: 0x1F\nm: -5\ns: 1.2.3\nt: 10:30\n",
    "x: yes\nw: Off\nz: TRUE\nm: ~\ne:\n",
    'a: "x\n  w"\nb: 3\n',
    'args: ["-c", "echo: hi"]\n',
    "command:\n- sh\n- -c\n- |\n  set -e\n   indented\n  end\nnext: 1\n",
    '"q: x": 1\n',
    "a: ''\nb: \"\"\nc: [\n]\nd: {\n}\n",
)
_REFUSED = ("k: !!str 3\n", "a: &x 1\n", "a: 1\na: 2\n", "a:\n\t- b\n", "a: 1\n b: 2\n", "a: 1\n---\nb: 2\n", "a: b: c\n", "a: [1\n", "a: 'x\n", "n: 9007199254740993\n")

_EACH = """const [module, name, values, done] = arguments;
import(module).then((found) => done(values.map((value) => {
  try { return [found[name](value)]; } catch (error) { return error.message; }
})), (error) => done(String(error)));"""


def each(page: Page, module: str, name: str, values: list[Any]) -> list[Any]:
    """Result of a module's function for each value: a list with the result, or the message of its error."""
    found: list[Any] = page.driver.execute_async_script(_EACH, f"/ui/{module}.js", name, values)
    assert isinstance(found, list), found
    return found


def values(seed: int) -> list[Any]:
    """Random values of all types."""
    chance = random.Random(seed)

    def text() -> str:
        return "".join(chance.choices(_PIECES, k=chance.randrange(4)))

    def value(depth: int) -> Any:
        sort = chance.randrange(5 if depth > 3 else 7)
        if sort == 5:
            return [value(depth + 1) for _ in range(chance.randrange(4))]
        if sort == 6:
            return {text(): value(depth + 1) for _ in range(chance.randrange(4))}
        return [None, chance.random() < 0.5, chance.randrange(-500, 500), text(), text()][sort]

    return [{"value": value(0)} for _ in range(1500)]


@pytest.mark.parametrize("seed", range(3))
def test_written_yaml_is_read_back(page: Page, seed: int) -> None:
    """Page and server read the written YAML as the original value."""
    made = values(seed)
    texts = [found[0] for found in each(page, "yaml_write", "toYaml", made)]
    for value, text in zip(made, texts, strict=True):
        assert yaml_.decode(text.encode()) == value, text
    assert each(page, "yaml_read", "fromYaml", texts) == [[value] for value in made]


def test_hand_written_yaml_is_read_as_by_the_server(page: Page) -> None:
    """Comments, flow collections, quotes and block texts are read as the server reads them."""
    assert each(page, "yaml_read", "fromYaml", list(_WRITTEN)) == [[yaml_.decode(text.encode())] for text in _WRITTEN]


def test_unsupported_yaml_is_refused_with_its_line(page: Page) -> None:
    """Unsupported YAML is refused with a line number."""
    for found in each(page, "yaml_read", "fromYaml", list(_REFUSED)):
        assert isinstance(found, str) and found.startswith("line "), found


def test_line_diff_reconstructs_both_texts(page: Page) -> None:
    """Removed and kept lines are the old text, added and kept lines the new one."""
    chance = random.Random(1)
    texts = ["\n".join(chance.choices("abc", k=chance.randrange(12))) for _ in range(400)]
    script = "const [texts, done] = arguments; import('/ui/diff.js').then((found) => done(texts.map((text, at) => found.lineDiff(text, texts[texts.length - 1 - at]))));"
    for at, lines in enumerate(page.driver.execute_async_script(script, texts)):
        assert "\n".join(line["text"] for line in lines if line["sign"] != "+") == texts[at]
        assert "\n".join(line["text"] for line in lines if line["sign"] != "-") == texts[len(texts) - 1 - at]
