"""References in the documentation are valid."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from orchd.config.help import flags_markdown, gates_markdown
from orchd.config.table import COMPONENTS, table

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("newsfragments/*.md")])
POINTER = re.compile(
    r"(?<![\w/])((?:orchd|tests|docs|conf|contrib|debian|systemd|benchmarks)/[\w./-]*\w/?)(?::([A-Za-z_][\w.]*\w))?"
)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def names(path: Path) -> set[str]:
    """Top-level functions and classes of a module, and ``Class.method``."""
    documented = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documented.add(node.name)
        if isinstance(node, ast.ClassDef):
            documented |= {
                f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return documented


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_references_in_pages_exist(page: Path) -> None:
    """Every path in a page exists, every function is in its module, and every link has a target."""
    text = page.read_text(encoding="utf-8")
    wrong = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    for path, name in POINTER.findall(text):
        target = ROOT / path
        if not target.exists():
            wrong.append(path)
        elif name and name not in names(target):
            wrong.append(f"{path}:{name}")
    assert not wrong


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_page_is_found_from_the_first() -> None:
    """Links from README.md lead to every page of docs/, directly or through other pages, and to headings that exist."""
    seen: set[Path] = set()
    wrong = []
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve() if link else page
            waiting.append(target)
            if anchor and anchor not in anchors(target):
                wrong.append(f"{page.name}: {link}#{anchor}")
    assert not wrong
    assert not set(ROOT.glob("docs/**/*.md")) - seen


def test_flags_page_is_that_of_the_tables() -> None:
    """docs/flags.md equals the output of `make docs`."""
    assert (ROOT / "docs/flags.md").read_text(encoding="utf-8") == flags_markdown(table())


def test_page_of_feature_gates_is_that_of_the_table() -> None:
    """docs/feature-gates.md equals the output of `make docs`."""
    assert (ROOT / "docs/feature-gates.md").read_text(encoding="utf-8") == gates_markdown()


#: Flag files of the server; those of components have a test of their own (tests/config/test_flag_files.py).
SERVER_FILES = sorted(path for path in (ROOT / "conf").glob("*.flags") if path.stem not in COMPONENTS)


@pytest.mark.parametrize("path", SERVER_FILES, ids=lambda p: p.name)
def test_flag_files_are_accepted(path: Path) -> None:
    """The server starts with each flag file."""
    from orchd.tap import Options

    options = Options()
    options.parseOptions([f"--flagfile={path}"])
    assert options.settings is not None


def test_site_lists_every_page() -> None:
    """The navigation of the site lists each page of docs/ exactly once and nothing else."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed: list[str] = []
    waiting = list(nav)
    while waiting:
        for target in waiting.pop().values():
            if isinstance(target, str):
                listed.append(target)
            else:
                waiting += target
    assert sorted(listed) == sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
