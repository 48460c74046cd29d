"""Values in the browser, their YAML from the server, and the differences of two texts."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.ui.page import Page

_BACK = """const [values, done] = arguments, {signal} = new AbortController();
import('/ui/yaml.js').then((yaml) => Promise.all(values.map(async (value) => {
  try { return JSON.stringify(await yaml.fromYaml(await yaml.toYaml(JSON.parse(value), signal), signal)); } catch (error) { return error.message; }
}))).then(done, (error) => done(String(error)));"""


def test_values_are_read_back(page: Page) -> None:
    """YAML of the server is read as the value that was written; whole numbers that the browser would round are
    refused."""
    page.sign_in()
    values: list[Any] = [
        {"a": [1, {"b": ["x", None]}], "__proto__": {"c": True}}, "no", "\u202e\u200b", "a\n b\n\n", {"": [], "constructor": {}}, 1.5, None,
        "x" * 40_000,
    ]  # fmt: skip
    # As texts: the driver loses the key __proto__.
    parsed = page.driver.execute_async_script(_BACK, [json.dumps(value) for value in values])
    assert [json.loads(text) for text in parsed] == values
    script = """const [text, done] = arguments, {signal} = new AbortController();
        import('/ui/yaml.js').then((yaml) => yaml.fromYaml(text, signal)).then(done, (error) => done(error.message));"""
    assert page.driver.execute_async_script(script, "big: 9007199254740991") == {"big": 9007199254740991}
    assert "2^53" in page.driver.execute_async_script(script, "big: 9007199254740993")


def test_line_diff_reconstructs_both_texts(page: Page) -> None:
    """Removed and kept lines are the old text, added and kept lines the new one."""
    chance = random.Random(1)
    texts = ["\n".join(chance.choices("abc", k=chance.randrange(12))) for _ in range(400)]
    script = "const [texts, done] = arguments; import('/ui/diff.js').then((found) => done(texts.map((text, at) => found.lineDiff(text, texts[texts.length - 1 - at]))));"
    for at, lines in enumerate(page.driver.execute_async_script(script, texts)):
        assert "\n".join(line["text"] for line in lines if line["sign"] != "+") == texts[at]
        assert "\n".join(line["text"] for line in lines if line["sign"] != "-") == texts[len(texts) - 1 - at]
