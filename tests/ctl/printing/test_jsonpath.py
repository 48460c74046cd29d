"""JSONPath templates."""

from __future__ import annotations

import pytest

from orchd.ctl.errors import CommandError
from orchd.ctl.printing.jsonpath import Template, find

VALUE = {
    "items": [
        {"name": "a", "n": 1, "l": {"x.y/z": "v"}, "c": [{"t": "R", "s": "T"}, {"t": "Q", "s": "F"}]},
        {"name": "b", "n": 12, "l": {}, "c": []},
    ],
    "none": None,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].name}", "a b"),
        ("{$.items[0].name}-{.items[-1:].name}", "a-b"),
        ("{.items[0].l.x\\.y/z}", "v"),
        ("{.items[0].l['x.y/z']}", "v"),
        ('{range .items[*]}{.name}={.n}{"\\n"}{end}', "a=1\nb=12\n"),
        ("{range .items[*]}{range .c[*]}{.t},{end};{end}", "R,Q,;;"),
        ('{.items[?(@.name=="b")].n}', "12"),
        ("{.items[?(@.n>1)].name}", "b"),
        ("{.items[?(@.c[0].s=='T')].name}", "a"),
        ("{.items[?(@.l.x\\.y/z)].name}", "a"),
        ("{.items[0:1].n}", "1"),
        ("{.items[0,1].n}", "1 12"),
        ("{..s}", "T F"),
        ("{.items[0].l}", '{"x.y/z":"v"}'),
        ("{.missing.field}|{.none}", "|"),
        ("text {.items[0]['name','n']}", "text a 1"),
    ],
)
def test_jsonpath_template_output(template: str, text: str) -> None:
    """Paths, ranges, filters, slices, unions and recursive descent produce these texts."""
    assert Template.parse(template).render(VALUE) == text


@pytest.mark.parametrize("template", ["{.a", "{range .a}", "{end}", "{.a[}", "{.a[x y]}", "{.a[?(@.b==c)]}", "{.a b}"])
def test_invalid_templates_are_refused(template: str) -> None:
    """The error describes what is wrong with the template."""
    with pytest.raises(CommandError, match="jsonpath"):
        Template.parse(template)


def test_paths_without_braces_are_accepted() -> None:
    """Column paths and --sort-by accept paths without braces and without the leading dot."""
    assert find(VALUE, "items[1].n") == find(VALUE, "{.items[1].n}") == [12]
