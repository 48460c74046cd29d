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


#: Templates over an object, and what the stock client prints of them.
STOCK = [
    ('{{js "a\'\\"<>&=\\\\\\x01\\t é\\x7f"}}', 'a\\\'\\"\\u003C\\u003E\\u0026\\u003D\\\\\\u0001\\u0009 é\x7f'),
    ('{{slice .kind 1 1}}|{{slice .kind 9 9}}|{{slice "abc" 0}}', '||abc'),
    ('{{index "abc" 0}}', '97'),
    ('{{"\\101\\u00e9\\U0001F600\\x41"}}', 'Aé😀A'),
    ("{{'\\x41'}}{{'é'}}", '65233'),
    ('{{print}}|{{print nil}}|{{print 1 2}}|{{print "a" 1 2 "b" 3}}|{{println}}', '|<nil>|1 2|a1 2b3|\n'),
    ('{{not 0}} {{not ""}} {{not nil}} {{not .data}} {{not 0.0}}', 'true true true false true'),
    ('{{lt "a" "b"}}{{lt 2 1}}{{le 1 2}}{{le 2 1}}{{gt 2 2}}{{gt 1 2}}{{ge 2 2}}{{ge 1 2}}', 'truefalsetruefalsefalsefalsetruefalse'),
    ('{{eq nil 1}}', 'false'),
    ('{{ne 1 2}}{{ne 1 1}}', 'truefalse'),
    ('{{eq 1 2 3 1}}', 'true'),
    ('{{len "é"}}', '2'),
    ('{{html "<a href=\\"x\\">" 1 2}}', '&lt;a href=&#34;x&#34;&gt;1 2'),
    ('{{urlquery "a b&c=d/é" 1}}', 'a+b%26c%3Dd%2F%C3%A91'),
    ('{{base64decode "YQ=="}}', 'a'),
    ('{{exists . "data" "a"}} {{exists . "data" "z"}} {{exists . "data" "a" "x"}} {{exists .kind 0}} {{exists .kind 99}}', 'true false false true false'),
    ('{{range $k, $v := .data}}{{$k}}={{$v}};{{end}}{{range .data}}{{.}}{{end}}', 'a=b;kind=Pod;bPod'),
    ('{{with $x := .kind}}{{$x}}{{.}}{{end}}{{with .nope}}a{{else with .kind}}b{{.}}{{else}}c{{end}}', 'ConfigMapConfigMapbConfigMap'),
    ('{{if and .kind (not .nope)}}y{{end}}', 'y'),
    ('{{if or .nope ""}}y{{else if .kind}}z{{end}}', 'z'),
    ('{{define "A"}}a{{template "B" .}}{{end}}{{define "B"}}b{{.kind}}{{end}}{{template "A" .}}', 'abConfigMap'),
    ('{{block "X" .data}}{{.a}}{{end}}{{template "X" .data}}', 'bb'),
    ('{{$a := 1}}{{$a = 2}}{{$a}}', '2'),
    ('a{{- /* c */ -}}  b', 'ab'),
    ('  {{- "x" -}}  ', 'x'),
    ('{{ -3 }}', '-3'),
    ('{{- 3}}', '3'),
    ('{{-3}}', '-3'),
    ('a\n{{- "x"}}\n b', 'ax\n b'),
    ('{{.metadata.name | printf "%s-%s" .kind}}', 'ConfigMap-m'),
    ('{{printf "%q %v %d" "a\\n" 1 2}}', '"a\\n" 1 2'),
    ('{{(.metadata).name}}', 'm'),
    ('{{range .data}}{{break}}{{end}}x', 'x'),
    ('{{range .data}}{{continue}}z{{end}}x', 'x'),
    ('{{or 0 "" nil}}', '<no value>'),
    ('{{and 1 0 2}}{{or 0 5 6}}', '05'),
    ('{{print .}}', 'map[apiVersion:v1 data:map[a:b kind:Pod] kind:ConfigMap metadata:map[name:m]]'),
    ('{{printf "%05d|%-5d|%+d|% d|%x|%X|%o|%b|%c|%q|%U" 42 42 42 42 255 255 8 5 65 65 65}}', "00042|42   |+42| 42|ff|FF|10|101|A|'A'|U+0041"),
    ('{{printf "%6.2f|%-8.1f|%08.2f|%e|%E|%g|%G|%+.1f" 3.14159 2.0 -3.14159 1234.5 1234.5 1e21 1e21 1.0}}', '  3.14|2.0     |-0003.14|1.234500e+03|1.234500E+03|1e+21|1E+21|+1.0'),
    ('{{printf "%s|%10s|%-10s|%.2s|%q|%x|%X|%v|%T" "ab" "ab" "ab" "abc" "a" "hi" "hi" "v" "t"}}', 'ab|        ab|ab        |ab|"a"|6869|6869|v|string'),
    ('{{printf "%t|%v|%s|%d" true false true true}}', 'true|false|%!s(bool=true)|%!d(bool=true)'),
    ('{{printf "%d %s" "a" 1}}', '%!d(string=a) %!s(int=1)'),
    ('{{printf "%z" 1}}', '%!z(int=1)'),
    ('{{printf "%"}}', '%!(NOVERB)'),
    ('{{printf "%d"}}', '%!d(MISSING)'),
    ('{{printf "a" 1 nil}}', 'a%!(EXTRA int=1, <nil>)'),
    ('{{printf "%v %v" .data nil}}', 'map[a:b kind:Pod] <nil>'),
    ('{{printf "%s" .data}}', 'map[a:b kind:Pod]'),
    ('{{printf "%*d|%-*d|%.*f" 5 1 5 2 1 3.15}}', '    1|2    |3.1'),
    ('{{printf "%.3d|%+05d|%x" 7 7 -255}}', '007|+0007|-ff'),
    ('{{printf "%5t|%-6t|" true false}}', ' true|false |'),
    ('{{printf "%5v|%-5v|%5q" "a" "b" "c"}}', '    a|b    |  "c"'),
    ('{{printf "%c" -1}}', '�'),
    ('{{printf "%U" 128512}}', 'U+1F600'),
    ('{{printf "%.0f|%.f" 2.5 2.5}}', '2|2'),
    ('{{printf "%3c|%-3c|" 65 66}}', '  A|B  |'),
    ('{{index . "data" "a"}}', 'b'),
    ('{{"a" | len}}', '1'),
    ('{{1 | printf "%d %d" 2}}', '2 1'),
    ('{{template "T" 1}}{{define "T"}}{{printf "%T" .}}{{end}}', 'int'),
    ('{{printf "%T %T %T" 1 1.5 true}}', 'int float64 bool'),
    ('{{$}}', 'map[apiVersion:v1 data:map[a:b kind:Pod] kind:ConfigMap metadata:map[name:m]]'),
    ('{{$.kind}}', 'ConfigMap'),
    ('{{$x := .}}{{$x.kind}}', 'ConfigMap'),
    ('{{if $y := .kind}}{{$y}}{{end}}', 'ConfigMap'),
    ('{{.kind -}} a', 'ConfigMapa'),
    ('{{/* a */}}b{{/* c */ -}} d', 'bd'),
    ('{{.}}x', 'map[apiVersion:v1 data:map[a:b kind:Pod] kind:ConfigMap metadata:map[name:m]]x'),
]  # fmt: skip


@pytest.mark.parametrize(("template", "text"), STOCK)
def test_templates_of_the_stock_client(template: str, text: str) -> None:
    """The text is the same, whatever the form of a number, an escape, a verb or a trim marker."""
    obj = {"apiVersion": "v1", "data": {"a": "b", "kind": "Pod"}, "kind": "ConfigMap", "metadata": {"name": "m"}}
    assert Template.parse(template).render(obj) == text


#: Templates that the stock client refuses too.
REFUSED = [
    ('{{slice .kind 2 1}}', 'error calling slice: invalid slice index: 2 > 1'),
    ('{{slice .data 1}}', "error calling slice: can't slice item of type map[string]interface {}"),
    ('{{slice nil 1}}', 'error calling slice: slice of untyped nil'),
    ('{{slice "abc" 4}}', 'error calling slice: index out of range: 4'),
    ('{{slice "abc" 0 1 2}}', 'wrong number of args for slice: want 1 got 4'),
    ('{{index "abc" 3}}', 'error calling index: index out of range: 3'),
    ('{{index "abc" -1}}', 'error calling index: index out of range: -1'),
    ('{{index .data "zz"}}|{{index .data 1}}', 'error calling index: value has type int; should be string'),
    ('{{index .nope "a"}}', 'error calling index: index of untyped nil'),
    ('{{index 5 1}}', "error calling index: can't index item of type int"),
    ('{{lt true false}}', 'error calling lt: invalid type for comparison'),
    ('{{lt 1 "a"}}', 'error calling lt: incompatible types for comparison'),
    ('{{eq 1 "a"}}', 'error calling eq: incompatible types for comparison'),
    ('{{eq .data .data}}', 'error calling eq: uncomparable type map[string]interface {}: map[a:b kind:Pod]'),
    ('{{len nil}}', 'error calling len: len of nil pointer'),
    ('{{len 5}}', 'error calling len: len of type int'),
    ('{{base64decode 5}}', 'error calling base64decode: wrong type for value; expected string; got int'),
    ('{{range $i, $e := "ab"}}{{$i}}{{$e}}{{end}}', "range can't iterate over ab"),
    ('{{$a = 2}}', "undefined variable '$a'"),
    ('{{.metadata.name.x}}', "can't evaluate field x in type string"),
    ('{{.kind.x}}', "can't evaluate field x in type string"),
    ('{{break}}', '{{break}} outside {{range}}'),
    ('{{template "Z"}}', 'template "Z" not defined'),
    ('{{call .kind}}', 'function "call" not defined'),
    ('{{and}}', 'wrong number of args for and: want at least 1 got 0'),
    ('{{printf 5}}', 'error calling printf: wrong type for value; expected string; got int'),
    ('{{/* a', 'unclosed comment'),
    ('{{/* a */ x}}', 'unclosed comment'),
    ('{{"a" "b"}}', "can't give argument to a value that is not a function"),
]  # fmt: skip


@pytest.mark.parametrize(("template", "says"), REFUSED)
def test_templates_that_are_refused(template: str, says: str) -> None:
    obj = {"apiVersion": "v1", "data": {"a": "b", "kind": "Pod"}, "kind": "ConfigMap", "metadata": {"name": "m"}}
    with pytest.raises(TemplateError) as caught:
        Template.parse(template).render(obj)
    assert str(caught.value).removeprefix("line 1: ") == says


def test_levels_and_lines() -> None:
    """As many levels as are allowed, and the line of an error behind several actions."""
    assert Template.parse("{{if 1}}" * 99 + "x" + "{{end}}" * 99).render({}) == "x"
    assert Template.parse("{{" + "(" * 100 + "1" + ")" * 100 + "}}").render({}) == "1"
    with pytest.raises(TemplateError, match=r"^line 3: "):
        Template.parse("a\n{{if 1}}\n{{end}}{{end}}")
    with pytest.raises(TemplateError, match=r"^line 4: "):
        Template.parse('{{define "T"}}\n{{end}}\n\n{{nosuch}}')


def test_the_widest_numbers() -> None:
    assert len(printf("%1000000d|%.1000000f", 1, 1.5)) == 2 * 1_000_000 + 3
    with pytest.raises(TemplateError, match="width or precision is not a number up to 1000000"):
        printf("%1000001d", 1)
