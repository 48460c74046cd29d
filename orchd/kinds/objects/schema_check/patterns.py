"""Regular expressions of schemas: the RE2 dialect of the reference, run by Python's engine.

What differs is rewritten: classes such as ``[[:alpha:]]`` and ``\\z``, and ``$``, which there is the very end of the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_CLASSES: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


@lru_cache(maxsize=4096)
def pattern(text: str) -> re.Pattern[str]:
    """A compiled expression. Raises re.error for one that Python cannot run."""
    return re.compile(_translated(text), re.ASCII)


def _translated(text: str) -> str:
    out: list[str] = []
    inside = False
    i = 0
    while i < len(text):
        char = text[i]
        if char == "\\" and i + 1 < len(text):
            if text.startswith("\\Q", i):
                end = text.find("\\E", i + 2)
                end = len(text) if end < 0 else end
                out.append(re.escape(text[i + 2 : end]))
                i = end + 2
                continue
            out.append("\\Z" if text[i + 1] == "z" else text[i : i + 2])
            i += 2
            continue
        if inside:
            if text.startswith("[:", i) and (end := text.find(":]", i)) > 0 and text[i + 2 : end] in _CLASSES:
                out.append(_CLASSES[text[i + 2 : end]])
                i = end + 2
                continue
            # A bracket inside a class would be warned about by Python.
            out.append("\\[" if char == "[" else char)
            inside = char != "]"
        elif char == "[":
            inside = True
            start = i + (2 if text.startswith("[^", i) else 1)
            out.append(text[i:start])
            if text.startswith("]", start):
                # The first bracket of a class stands for itself.
                out.append("\\]")
                start += 1
            i = start
            continue
        else:
            out.append("\\Z" if char == "$" else char)
        i += 1
    return "".join(out)
