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
        ("{range.items[*]}{.name}{end}", "ab"),
        ("{.items[-2].name}{.items[1].name}", "ab"),
        ("a{'b\\n'}c{\"\\t}\"}{.items[0].n}", "ab\nc\t}1"),
        ("{.items[*].none}|{.items[7:9].n}|", "||"),
        (
            "{.items}",
            '[{"name":"a","n":1,"l":{"x.y/z":"v"},"c":[{"t":"R","s":"T"},{"t":"Q","s":"F"}]},{"name":"b","n":12,"l":{},"c":[]}]',
        ),
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


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("{.items[2].name}", "index 2, length 2"),
        ("{.items[-3].name}", "index -3, length 2"),
        ("{.items[0].c[2].t}", "index 2, length 2"),
    ],
)
def test_elements_that_a_list_does_not_have(path: str, says: str) -> None:
    """An index beyond the ends is an error."""
    with pytest.raises(CommandError, match=f"array index out of bounds: {says}"):
        Template.parse(path).render(VALUE)


def test_fields_that_have_to_be_there() -> None:
    """With `missing_is_error`; a search may find nothing."""
    for path in ("{.items[*].x}", "{..x}", "{.items[?(@.n>99)].name}", "{.items[5:].n}", "{.none}"):
        assert Template.parse(path).render(VALUE, missing_is_error=True) == ""
    for path in ("{.x}", "{.items[0].x}", "{range .x}{end}"):
        with pytest.raises(CommandError, match="is not found"):
            Template.parse(path).render(VALUE, missing_is_error=True)


@pytest.mark.parametrize("path", ["{.a.b}", " {.a.b} ", ".a.b", "a.b", "$.a.b", "['a'].b", "@.a.b"])
def test_forms_of_paths(path: str) -> None:
    assert find({"a": {"b": 1}}, path) == [1]
