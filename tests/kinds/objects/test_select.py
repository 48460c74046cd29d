"""Label and field selectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.selectors import EVERYTHING, FieldSelector, LabelSelector, Requirement, index_for

CATALOG = builtin_catalog(ORCH)

OBJECTS = {
    "a": {"env": "prod", "tier": "web"},
    "b": {"env": "dev", "tier": "web"},
    "c": {"env": "qa"},
    "d": {"example.com/x": "1"},
    "e": {"env": ""},
    "f": {"n": "5"},
    "g": {"n": "15"},
}

SELECTED = [
    ("env=prod", "a"), ("env==prod", "a"), ("env!=prod", "bcdefg"), ("env in (prod,dev)", "ab"),
    ("env  in ( prod , dev )", "ab"), ("env notin (prod,dev)", "cdefg"), ("tier", "ab"), ("!tier", "cdefg"),
    ("tier=web,env!=dev", "a"), ("env=", "e"), ("env in ()", "e"), ("env in (,prod)", "ae"), ("n>6", "g"), ("n<6", "f"),
    ("example.com/x=1", "d"), ("", "abcdefg"), (" ", "abcdefg"), ("in in (in)", ""), ("! tier , env", "ce"),
    ("env in (a,,qa)", "ce"), ("env in (qa,)", "ce"), ("env=prod,env=dev", ""),
]  # fmt: skip


def resource(api_version: str, kind: str) -> Resource:
    resource = CATALOG.kind(api_version, kind)
    assert resource is not None
    return resource


def refusal(parse: Callable[[], Any]) -> str:
    with pytest.raises(ApiError) as caught:
        parse()
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


@pytest.mark.parametrize(("text", "names"), SELECTED)
def test_label_selector_matching(text: str, names: str) -> None:
    """A selector matches the objects that meet all its requirements."""
    selector = LabelSelector.parse(text)
    assert "".join(name for name, labels in OBJECTS.items() if selector.matches(labels)) == names


NAME = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"
WRONG = [
    (
        "n>x",
        """unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer""",
    ),
    (",", "found ',', expected: !, identifier, or 'end of string'"),
    ("env=prod,", "found '', expected: identifier after ','"),
    ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("!", "unable to parse requirement: found '', expected: identifier"),
    ("bad key=x", f"unable to parse requirement: found 'key', {OPERATORS}"),
    ("-x=1", f'unable to parse requirement: <nil>: Invalid value: "-x": name part {NAME}'),
    (
        "env=" + "a" * 64,
        f'unable to parse requirement: values[0][env]: Invalid value: "{"a" * 64}": must be no more than 63 characters',
    ),
    ("env in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("env in (a,", "unable to parse requirement: found '', expected: ',', or identifier"),
    ("env in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
    ("env in", "unable to parse requirement: found '' expected: '('"),
    ("env not in (a)", f"unable to parse requirement: found 'not', {OPERATORS}"),
    ("env=(a)", "unable to parse requirement: found '(', expected: identifier"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_invalid_label_selectors_are_refused(text: str, message: str) -> None:
    """The error has the unexpected token and the expected ones."""
    assert refusal(lambda: LabelSelector.parse(text)) == message


def test_recorded_selector_errors(reference: Callable[[str], Any]) -> None:
    """Every recorded selector error has the recorded message."""
    checked = 0
    for case in reference("validation")["cases"]:
        url = urlsplit(case["req"]["p"])
        query = parse_qs(url.query)
        message = case["ans"].get("message") or ""
        if case["ans"]["code"] != 400 or "watch" in url.path or "wx.com" in url.path:
            continue
        kind = {"configmaps": "ConfigMap", "pods": "Pod", "events": "Event"}.get(url.path.rpartition("/")[2])
        if "labelSelector" in query:
            assert refusal(partial(LabelSelector.parse, query["labelSelector"][0])) == message
            checked += 1
        elif "fieldSelector" in query and kind:
            of = resource("v1", kind)
            assert refusal(partial(FieldSelector.parse, query["fieldSelector"][0], of)) == message
            checked += 1
    assert checked >= 10


def test_exact_requirements_of_selectors() -> None:
    """An index can serve requirements of one value for one label or field."""
    selector = LabelSelector.parse("a=b,c in (d),e in (f,g),h,i!=j")
    assert selector.exact == {"a": "b", "c": "d"}
    assert selector.choices == {"e": {"f", "g"}, "h": set()}
    fields = FieldSelector.parse("spec.nodeName=n1,status.phase!=Succeeded", resource("v1", "Pod"))
    assert fields.exact == {"spec.nodeName": "n1"}


def test_label_selector_objects() -> None:
    """A missing LabelSelector matches nothing, an empty one everything."""
    assert not LabelSelector.from_object(None).matches({"a": "b"})
    assert LabelSelector.from_object({}) == EVERYTHING
    expressions = [
        {"key": "b", "operator": "In", "values": ["x", "y"]},
        {"key": "c", "operator": "NotIn", "values": ["z"]},
        {"key": "d", "operator": "Exists"},
        {"key": "e", "operator": "DoesNotExist"},
    ]
    selector = LabelSelector.from_object({"matchLabels": {"a": "1"}, "matchExpressions": expressions})
    assert str(selector) == "a=1,b in (x,y),c notin (z),d,!e"
    assert selector.matches({"a": "1", "b": "x", "d": ""})
    assert not selector.matches({"a": "1", "b": "x", "d": "", "e": ""})
    assert LabelSelector.from_map({"a": "1"}).matches({"a": "1", "b": "2"})


def test_labels_of_a_selector_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A selector of thousands of labels is made without work for each; its matches, index and text are those of its
    terms."""
    labels = {f"k{n}": "v" for n in range(5000)}
    made: list[str] = []
    monkeypatch.setattr(Requirement, "__init__", lambda self, key, *more: made.append(key))
    selectors = LabelSelector.from_object({"matchLabels": labels}), LabelSelector.from_map(labels)
    assert not made and all(each.equal is labels and each.exact is labels for each in selectors)
    monkeypatch.undo()
    written = LabelSelector.parse(",".join(f"{key}=v" for key in labels))
    for each in selectors:
        assert str(each) == str(written) and each.exact == written.exact and not each.everything
        for have in ({}, labels, {**labels, "k7": "w"}, {**labels, "more": ""}):
            assert each.matches(have) == written.matches(have)


def test_selectors_of_different_labels_have_different_hashes() -> None:
    """A thousand of them in a dictionary cost no comparisons of all with all. The order of labels does not matter."""
    assert len({hash(LabelSelector.from_map({"a": str(n)})) for n in range(1000)}) > 990
    one, other = LabelSelector.from_map({"a": "1", "b": "2"}), LabelSelector.from_map({"b": "2", "a": "1"})
    assert one == other and hash(one) == hash(other) == hash(one)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        ("metadata.name in (a)", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"),
        ("spec.foo=bar", "field label not supported: spec.foo"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_invalid_field_selectors_are_refused(text: str, message: str) -> None:
    """The error names the term or the field."""
    assert refusal(lambda: FieldSelector.parse(text, resource("v1", "Pod"))) == message


_PLAIN = '"{0}" is not a known field selector: only "metadata.name", "metadata.namespace"'
_LISTED = "field label not supported: {0}"


@pytest.mark.parametrize(
    ("api_version", "kind", "known", "unknown", "message"),
    [
        ("v1", "Pod", "metadata.namespace spec.host status.podIPs status.nominatedNodeName", "spec.hostname", _LISTED),
        ("v1", "Node", "metadata.name spec.unschedulable", "metadata.namespace", _LISTED),
        ("v1", "Namespace", "metadata.name status.phase", "metadata.namespace", _LISTED),
        ("v1", "Secret", "metadata.namespace type", "data", _LISTED),
        ("v1", "Service", "metadata.name metadata.namespace spec.type spec.clusterIP", "spec.ports", _PLAIN),
        ("v1", "PersistentVolume", "metadata.namespace", "status.phase", _PLAIN),
        ("v1", "ReplicationController", "status.replicas", "spec.replicas", _LISTED),
        ("v1", "Event", "involvedObject.fieldPath reportingComponent source", "regarding.name", _LISTED),
        (ORCH("events.{abbr}.io/v1"), "Event", "regarding.name reportingController", "involvedObject.name", _LISTED),
        ("apps/v1", "ReplicaSet", "metadata.name", "status.replicas", _PLAIN),
        ("batch/v1", "Job", "status.successful", "status.failed", 'field label "{0}" not supported for Job'),
        ("batch/v1", "CronJob", "metadata.name", "status.successful", _PLAIN),
        ("batch/v1beta1", "CronJob", "status.successful", "x", 'field label "{0}" not supported for "CronJob"'),
        (
            ORCH("certificates.{abbr}.io/v1"), "CertificateSigningRequest", "metadata.name spec.signerName",
            "metadata.namespace", _LISTED,
        ),
    ],
)  # fmt: skip
def test_selectable_fields_of_each_kind(api_version: str, kind: str, known: str, unknown: str, message: str) -> None:
    """Each kind has its own fields, and its own error for others."""
    for field in known.split():
        FieldSelector.parse(f"{field}=x", resource(api_version, kind))
    wrong = refusal(lambda: FieldSelector.parse(f"{unknown}=x", resource(api_version, kind)))
    assert wrong == message.format(unknown)


def test_field_selector_matching() -> None:
    """Terms are compared with the kind's indexed fields; backslashes escape; aliases select the same field; a term of
    neither field nor value selects everything."""
    pods = resource("v1", "Pod")
    pod = {
        "metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "n1"},
        "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]},
    }  # fmt: skip
    _, fields = index_for(pods)(pod)
    for text, met in [
        ("metadata.name=a", True), ("spec.nodeName=n1,status.phase!=Running", False), ("spec.host=n1", True),
        ("status.podIP==1.2.3.4", True), ("status.nominatedNodeName=", True), ("", True), (",metadata.namespace=n,", True),
        ("metadata.name=a\\,b", False), ("=", True), ("metadata.name=b,!=", False),
    ]:  # fmt: skip
        assert FieldSelector.parse(text, pods).matches(fields) is met, text
    assert FieldSelector.parse("metadata.name=a\\,b", pods).exact == {"metadata.name": "a,b"}


def test_field_values_of_kinds() -> None:
    """Some kinds index more fields than the name; events have the field names of both groups."""
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("v1", "Node", {}, "spec.unschedulable=false"),
        ("v1", "Secret", {"type": "Opaque"}, "type=Opaque"),
        (
            "v1",
            "Service",
            {"spec": {"type": "ClusterIP", "clusterIP": "None"}},
            "spec.clusterIP=None,spec.type!=NodePort",
        ),
        ("v1", "Namespace", {"status": {"phase": "Active"}}, "status.phase=Active"),
        ("v1", "ReplicationController", {"status": {"replicas": 2}}, "status.replicas=2"),
        ("batch/v1", "Job", {"status": {"succeeded": 1}}, "status.successful=1"),
        (
            "v1",
            "Event",
            {"involvedObject": {"kind": "Pod"}, "reportingComponent": "c"},
            "involvedObject.kind=Pod,source=c",
        ),
        (ORCH("events.{abbr}.io/v1"), "Event", {"involvedObject": {"name": "p"}}, "regarding.name=p"),
        (
            ORCH("certificates.{abbr}.io/v1"),
            "CertificateSigningRequest",
            {"spec": {"signerName": "s/x"}},
            "spec.signerName=s/x",
        ),
    ]
    for api_version, kind, obj, text in cases:
        of = resource(api_version, kind)
        assert FieldSelector.parse(text, of).matches(index_for(of)(obj)[1]), text
    names = refusal(lambda: FieldSelector.parse("data.a=b", resource("v1", "ConfigMap")))
    assert names == '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'


def test_labels_and_fields_of_stored_json() -> None:
    """The cache's index extracts labels and fields from stored JSON."""
    stored = orjson.dumps({"metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}}, "type": "Opaque"})
    labels, fields = index_for(resource("v1", "Secret"))(stored)
    assert labels == {"x": "y"}
    assert fields == {"metadata.name": "a", "metadata.namespace": "n", "type": "Opaque"}


keys = st.sampled_from(["a", "b", "example.com/c"])
values = st.sampled_from(["", "x", "y", "5"])
requirements = st.one_of(
    keys,
    keys.map("!{}".format),
    st.builds("{}{}{}".format, keys, st.sampled_from(["=", "!="]), values),
    st.builds(
        lambda k, o, v: f"{k} {o} ({','.join(sorted(v))})",
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(values, min_size=1),
    ),
)


@given(st.lists(requirements), st.dictionaries(keys, values))
def test_text_form_round_trips(terms: list[str], labels: dict[str, str]) -> None:
    """The text of a selector parses to the same selector, with its exact requirements."""
    selector = LabelSelector.parse(",".join(terms))
    assert LabelSelector.parse(str(selector)).matches(labels) == selector.matches(labels)
    if selector.matches(labels):
        assert selector.exact.items() <= labels.items()


SORTS = ("=", "!=", "in", "notin", "exists", "!", "gt", "lt")


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from(SORTS), st.sets(st.sampled_from("0123"), min_size=1)),
        min_size=17,
        max_size=30,
    ),
    st.booleans(),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("0123x"), max_size=8),
)
def test_many_requirements_select_as_each_of_them(
    drawn: list[tuple[str, str, set[str]]], only_negative: bool, labels: dict[str, str]
) -> None:
    """Requirements that are joined by key select what all of them select."""
    requirements = []
    for key, operator, values in drawn:
        if only_negative and operator not in ("!=", "notin", "!"):
            continue
        chosen = () if operator in ("exists", "!") else values if operator in ("in", "notin") else (min(values),)
        requirements += [Requirement(key, operator, frozenset(chosen))] * 17
    expected = all(requirement.matches(labels) for requirement in requirements)
    assert LabelSelector(tuple(requirements)).matches(labels) == expected


def test_thousands_of_requirements_cost_as_much_as_the_labels_of_an_object() -> None:
    """An object is compared with the requirements on its own labels only."""
    asked = []

    class Counted(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            asked.append(key)
            return super().get(key, default)

    assert LabelSelector.parse(",".join(f"!k{n}" for n in range(5000))).matches(Counted(a="b", c="d"))
    assert not LabelSelector.parse(",".join(f"k{n}" for n in range(5000))).matches(Counted(a="b", c="d"))
    assert len(asked) < 10
