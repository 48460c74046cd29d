"""Manual pages in man(7) markup, made from tables of flags."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.config.flag import Flag, FlagTable
from orchd.config.help import default_text
from orchd.dialect import ORCH


def escape(text: str) -> str:
    """Text as roff shows it unchanged: no escapes, plain hyphens, no line that begins a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


_SECTIONS = {"1": "User commands", "8": "System administration"}


def heading(program: str, version: str, summary: str, section: str = "8") -> list[str]:
    """The first lines of a page of section 1 or 8."""
    return [
        f'.TH "{escape(program.upper())}" "{section}" "" "orchd {version}" "{_SECTIONS[section]}"',
        ".SH NAME",
        f"{escape(program)} \\- {escape(summary)}",
    ]


def section(title: str, *paragraphs: str) -> list[str]:
    """A section of plain paragraphs."""
    lines = [f".SH {title}"]
    for number, text in enumerate(paragraphs):
        lines += [".PP"] if number else []
        lines.append(escape(text))
    return lines


def listing(title: str, text: str) -> list[str]:
    """A section of text that keeps its lines."""
    return [f".SH {title}", ".nf", escape(text.strip("\n")), ".fi"]


def entries(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Terms, in bold, with their explanations."""
    return [line for term, text in pairs for line in (".TP", f"\\fB{escape(term)}\\fR", escape(text))]


def subsection(title: str, text: str) -> list[str]:
    """A part of a section: its title and paragraphs separated by blank lines."""
    lines = [f".SS {escape(title)}"]
    for number, paragraph in enumerate(text.split("\n\n")):
        lines += [".PP"] if number else []
        lines.append(escape(" ".join(paragraph.split())))
    return lines


def options(flags: FlagTable) -> list[str]:
    """The section of flags that have an effect, by component."""
    groups: dict[str, list[Flag]] = {}
    for flag in flags:
        if flag.settable:
            groups.setdefault(flag.components[0] if flag.components else "server", []).append(flag)
    lines = [".SH OPTIONS"]
    for component, members in groups.items():
        lines.append(f".SS Flags of the {escape(component)}")
        for flag in sorted(members, key=Flag.spelled):
            lines += _option(flag)
    return lines


def _option(flag: Flag) -> Iterable[str]:
    placeholder = flag.type.placeholder
    value = f"=\\fI{escape(placeholder)}\\fR" if placeholder else ""
    text = ("Deprecated. " if flag.deprecated else "") + ORCH(flag.help)
    if flag.choices:
        text += f" One of {', '.join(ORCH(choice) for choice in flag.choices)}."
    if flag.default:
        text += f" Default: {default_text(flag, ORCH)}."
    return ".TP", f"\\fB\\-\\-{escape(flag.spelled())}\\fR{value}", escape(" ".join(text.split()))
