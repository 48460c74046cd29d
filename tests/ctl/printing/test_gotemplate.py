"""Go templates: texts that Go's text/template makes of the same data."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.ctl.printing.gotemplate.functions import printf
from orchd.ctl.printing.gotemplate.syntax import TemplateError
from orchd.ctl.printing.gotemplate.template import Template

VALUE: dict[str, Any] = {
    "kind": "Pod", "empty": "", "none": None, "yes": True, "zero": 0, "n": 3, "half": 2.5, "secret": "aGk=",
    "items": [{"name": "a", "n": 1}, {"name": "b", "n": 2, "labels": {"x.y/z": "v"}}],
    "labels": {"b": "2", "a": "1"}, "list": ["x", "y"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain }} text", "plain }} text"),
        ("{{.kind}}/{{.n}}/{{.half}}/{{.yes}}", "Pod/3/2.5/true"),
        ("{{.missing}} {{.none}} {{.missing.deeper}}", "<no value> <no value> <no value>"),
        ("{{.labels}} {{.list}} {{.items}}", "map[a:1 b:2] [x y] [map[n:1 name:a] map[labels:map[x.y/z:v] n:2 name:b]]"),
        # texts, comments, trim markers
        ("a {{- .kind -}} b", "aPodb"),
        ("a {{- /* note }} */ -}} b{{/* c */}}", "ab"),
        ("{{\"}}\"}}{{`r\\n`}}{{\"\\t\\u00e9\\x41\"}}{{'a'}}", "}}r\\n\té\x4197"),
        ("{{-3}} {{0x10}} {{1_000}} {{1.5e1}}", "-3 16 1000 15"),
        # control structures
        ("{{if .yes}}y{{else}}n{{end}}{{if .zero}}y{{else}}n{{end}}{{if .empty}}y{{end}}", "yn"),
        ('{{if eq .kind "A"}}1{{else if eq .kind "Pod"}}2{{else}}3{{end}}', "2"),
        ("{{with .labels}}{{.a}}{{$.kind}}{{else}}none{{end}}{{with .none}}x{{else}}none{{end}}", "1Podnone"),
        ("{{range .items}}{{.name}};{{end}}{{range .none}}x{{else}}empty{{end}}", "a;b;empty"),
        ("{{range $i, $e := .items}}{{$i}}{{$e.name}}{{end}}{{range $k, $v := .labels}}{{$k}}{{$v}}{{end}}", "0a1ba1b2"),
        ("{{range $e := .list}}{{$e}}{{end}}", "xy"),
        ("{{range .list}}{{if eq . \"y\"}}{{break}}{{end}}{{.}}{{end}}", "x"),
        ("{{range .list}}{{if eq . \"x\"}}{{continue}}{{end}}{{.}}{{end}}", "y"),
        # variables
        ('{{$x := "a"}}{{if .yes}}{{$x = "b"}}{{$y := 1}}{{end}}{{$x}}', "b"),
        ("{{$x := .labels}}{{$x.a}}{{$x := 2}}{{$x}}", "12"),
        # pipelines and functions
        ("{{.secret | base64decode | printf \"%q\"}}", '"hi"'),
        ("{{(index .items 1).name}}{{index .items 1 \"labels\" \"x.y/z\"}}{{index .list 0}}", "bvx"),
        ("{{len .items}}{{len .kind}}{{len .labels}}", "232"),
        ('{{slice .kind 1}}{{slice .kind 0 1}}{{slice .list 1 2}}', "odP[y]"),
        ("{{and .yes .n}} {{and .empty .n}} {{or .empty .n}} {{or .empty .zero}} {{not .yes}}", "3  3 0 false"),
        ("{{and .empty (index .items 9)}}{{or .yes (index .items 9)}}", "true"),
        ('{{eq .kind "x" "Pod"}} {{ne .kind "x"}} {{eq .n 3.0}} {{lt 1 2}} {{le 2 2}} {{gt "b" "a"}} {{ge 1.5 2.0}}',
         "true true true true true true false"),
        ("{{eq .none .missing}} {{eq .none \"x\"}}", "true false"),
        ('{{print 1 2 "a" 3}}|{{println 1 "a"}}|{{html "<&\'>"}}|{{urlquery "a b/c"}}', "1 2a3|1 a\n|&lt;&amp;&#39;&gt;|a+b%2Fc"),
        ('{{exists .labels "a"}} {{exists .items 5}} {{exists .items 0 "name"}}', "true false true"),
        # templates in templates
        ('{{define "T"}}<{{.}}>{{end}}{{template "T" .kind}}{{template "T"}}', "<Pod><<no value>>"),
        ('{{block "B" .labels}}{{.a}}{{end}}', "1"),
    ],
)  # fmt: skip
def test_template_output(template: str, text: str) -> None:
    """Actions, control structures, variables, functions and trim markers give the text that Go gives."""
    assert Template.parse(template).render(VALUE) == text


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{.a", "}} is missing"),
        ('a\n{{"x}}', "line 2: unterminated"),
        ("{{/* x }}", "unclosed comment"),
        ("{{nosuch .a}}", 'function "nosuch" not defined'),
        ("{{$x}}", "undefined variable '$x'"),
        ("{{if .a}}", "without {{end}}"),
        ("{{end}}", "unexpected {{end}}"),
        ("{{else}}", "unexpected {{else}}"),
        ("{{if}}{{end}}", "a value is missing"),
        ("{{}}", "a value is missing"),
        ("{{.a | .b}}", "only a function"),
        ("{{(.a}}", ") is missing"),
        ("{{.a)}}", "unexpected ')'"),
        ("{{break}}", "outside {{range}}"),
        ('{{"\\k"}}', "unknown escape"),
        ("{{template .a}}", "name of the template"),
        ("{{" + "(" * 200 + ")" * 200 + "}}", "levels of parentheses"),
        ("{{if .a}}" * 200, "levels of actions"),
    ],
)
def test_malformed_templates_are_refused(template: str, says: str) -> None:
    """A template that cannot be parsed is refused with its line."""
    with pytest.raises(TemplateError) as caught:
        Template.parse(template)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{.kind.name}}", "can't evaluate field name in type string"),
        ("{{range .kind}}{{end}}", "range can't iterate over Pod"),
        ("{{index .items 9}}", "index out of range: 9"),
        ('{{index .items "a"}}', "cannot index slice/array with type string"),
        ("{{len .n}}", "len of type float64"),
        ("{{eq .n 3}}", "incompatible types for comparison: write the number with a fraction"),
        ("{{lt .labels 1}}", "uncomparable type"),
        ("{{base64decode .kind}}", "error calling base64decode: illegal base64 data"),
        ('{{base64decode "YQ==!"}}', "error calling base64decode: illegal base64 data"),
        ("{{len}}", "wrong number of args for len: want 1 got 0"),
        ("{{.kind .n}}", "can't give argument"),
        ("{{nil}}", "nil is not a command"),
        ('{{template "gone"}}', 'template "gone" not defined'),
        ('{{define "T"}}{{template "T"}}{{end}}{{template "T"}}', "templates call each other"),
        ('{{printf "%9999999999d" 1}}', "width or precision"),
    ],
)
def test_failing_templates_name_the_cause(template: str, says: str) -> None:
    """A template that cannot be evaluated with the data says why, with the line."""
    with pytest.raises(TemplateError) as caught:
        Template.parse(template).render(VALUE)
    assert str(caught.value).startswith("line 1: ") and says in str(caught.value)


def test_missing_keys_may_be_errors() -> None:
    """With `missing_is_error` a key that is not there is an error."""
    with pytest.raises(TemplateError, match='map has no entry for key "gone"'):
        Template.parse("{{.gone}}").render(VALUE, missing_is_error=True)


@pytest.mark.parametrize(
    ("form", "values", "text"),
    [
        ("%s|%5s|%-5s|%.1s|%q|%x", ["a", "b", "c", "de", 'f"', "g"], 'a|    b|c    |d|"f\\""|67'),
        ("%d|%03d|%+d|%x|%c|%5d|%-3d|", [1, 2, 3, 255, 65, 4, 5], "1|002|+3|ff|A|    4|5  |"),
        ("%v|%f|%.2f|%g|%e|%6.1f", [1.0, 1.5, 1.0, 2.5, 1500.0, 2.25], "1|1.500000|1.00|2.5|1.500000e+03|   2.2"),
        ("%t|%v|%T|%T|%%", [True, None, 1, 1.0], "true|<nil>|int|float64|%"),
        ("%d|%s|%t", [1.0, 2, "x"], "%!d(float64=1)|%!s(int=2)|%!t(string=x)"),
        ("%s %s", ["a"], "a %!s(MISSING)"),
        ("%s", ["a", 1, None], "a%!(EXTRA int=1, <nil>)"),
        ("%s|%v|%s", [["a", "b"], {"k": [1.0]}, {"k": "v"}], "[a b]|map[k:[1]]|map[k:v]"),
        ("%*d|%!", [4, 7], "   7|%!!(MISSING)"),
    ],
)
def test_printf(form: str, values: list[Any], text: str) -> None:
    """Verbs, widths, precisions and flags; wrong uses are shown in the text."""
    assert printf(form, *values) == text
