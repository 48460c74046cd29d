"""The version of a list: the table of resourceVersion, resourceVersionMatch, limit and continue."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import ensureDeferred

from orchd.server.registry import continuation
from orchd.testing.doubles.server import make_server, run

#: version (old: before the last two writes; now; later), match, limit -> names, or the error code; whether there are
#: more
TABLE: list[tuple[str, str, int, Any, bool]] = [
    ("", "", 0, "abcd", False),
    ("", "", 2, "ab", True),
    ("0", "", 0, "abcd", False),
    ("0", "", 2, "abcd", False),
    ("old", "", 0, "abcd", False),
    ("old", "", 1, "a", True),
    ("old", "", 3, "ab", False),
    ("now", "", 0, "abcd", False),
    ("later", "", 2, 500, False),
    ("", "NotOlderThan", 0, 422, False),
    ("", "Exact", 0, 422, False),
    ("0", "NotOlderThan", 0, "abcd", False),
    ("0", "NotOlderThan", 2, "abcd", False),
    ("0", "Exact", 0, 422, False),
    ("old", "NotOlderThan", 0, "abcd", False),
    ("old", "NotOlderThan", 2, "ab", True),
    ("old", "Exact", 0, "ab", False),
    ("old", "Exact", 1, "a", True),
    ("now", "Exact", 0, "abcd", False),
    ("later", "Exact", 0, 500, False),
    ("old", "Else", 0, 422, False),
    ("x", "", 0, 500, False),
]


@pytest.mark.parametrize(("version", "match", "limit", "expected", "more"), TABLE)
def test_every_combination_of_version_match_and_limit(
    space: Any, version: str, match: str, limit: int, expected: Any, more: bool
) -> None:
    """Unset is consistent, 0 is any version (never a page), N is not older than N, Exact (or a limit with N) is exactly
    N."""
    space.config("a")
    old = int(space.config("b")["metadata"]["resourceVersion"])
    space.config("c")
    now = int(space.config("d")["metadata"]["resourceVersion"])
    version = {"old": str(old), "now": str(now), "later": str(now + 1000)}.get(version, version)
    query = "&".join(
        f"{name}={value}"
        for name, value in (("resourceVersion", version), ("resourceVersionMatch", match), ("limit", limit))
        if value
    )
    response = space("GET", f"configmaps?{query}")
    if isinstance(expected, int):
        assert response.code == expected, response.body
        return
    shown = response.json
    assert "".join(o["metadata"]["name"] for o in shown["items"]) == expected
    assert bool(shown["metadata"].get("continue")) is more
    exact = match == "Exact" or (version and version != "0" and limit and not match)
    assert shown["metadata"]["resourceVersion"] == (version if exact else str(now))


def test_list_of_a_future_version_waits(space: Any) -> None:
    """A list not older than a future version waits for it, up to a 504."""
    revision = int(space.config("a")["metadata"]["resourceVersion"])
    answers: list[Any] = []
    url = space.url(f"configmaps?resourceVersion={revision + 1}")
    ensureDeferred(space.server.request("GET", url)).addBoth(answers.append)
    assert not answers
    space.config("b")
    assert [len(a.json["items"]) for a in answers] == [2]
    url = space.url(f"configmaps/a?resourceVersion={revision + 500}")
    ensureDeferred(space.server.request("GET", url)).addBoth(answers.append)
    space.server.clock.advance(3.5)
    assert answers[1].code == 504 and "Too large resource version" in answers[1].json["message"]


class TestPages:
    def test_pages_show_one_revision(self, space: Any) -> None:
        """Writes between two pages are not visible; the remaining items are counted."""
        for name in "abcde":
            space.config(name)
        first = space("GET", "configmaps?limit=2").json
        assert first["metadata"]["remainingItemCount"] == 3
        space.config("bb")
        space("DELETE", "configmaps/d")
        token = first["metadata"]["continue"]
        second = space("GET", f"configmaps?limit=2&continue={token}").json
        assert [o["metadata"]["name"] for o in second["items"]] == ["c", "d"]
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        third = space("GET", f"configmaps?limit=2&continue={second['metadata']['continue']}").json
        assert [o["metadata"]["name"] for o in third["items"]] == ["e"] and "continue" not in third["metadata"]

    def test_selectors_omit_the_remaining_item_count(self, space: Any) -> None:
        """With a selector, remainingItemCount is omitted."""
        for name in "abc":
            space.config(name, labels={"x": "y"})
        shown = space("GET", "configmaps?limit=1&labelSelector=x%3Dy").json
        assert "continue" in shown["metadata"] and "remainingItemCount" not in shown["metadata"]

    @pytest.mark.parametrize(("release", "whole"), [("1.23", False), ("1.35", True)])
    def test_continued_lists_of_any_version(self, tmp_path: Path, release: str, whole: bool) -> None:
        """At version 0 a list is continued by a page, in release 1.35 by all that is left."""
        server = make_server(tmp_path, f"--emulated-version={release}")
        path = "/api/v1/namespaces?limit=1"
        try:
            first = run(server.request("GET", path)).json["metadata"]
            rest = run(server.request("GET", f"{path}&resourceVersion=0&continue={first['continue']}")).json
            left = first["remainingItemCount"]
            assert left > 1 and len(rest["items"]) == (left if whole else 1)
        finally:
            server.stop()

    def test_continue_excludes_resource_version(self, space: Any) -> None:
        """A continue token allows no resourceVersion other than 0."""
        space.config("a")
        space.config("b")
        token = space("GET", "configmaps?limit=1").json["metadata"]["continue"]
        assert space("GET", f"configmaps?continue={token}&resourceVersion=5").code == 400
        assert space("GET", f"configmaps?continue={token}&resourceVersion=0").code == 200

    def test_compacted_version_is_410_with_a_new_token(self, space: Any) -> None:
        """A version before the window is 410; its token continues at the current version."""
        meta = space.server.dialect.meta_group
        space.config("a")
        space.config("b")
        space.config("c")
        catalog = space.server.server.catalog
        cache = space.server.server.registry.cache(catalog.resource("", "v1", "configmaps"))
        cache.expire(space.server.clock.seconds() + 1)
        token = continuation.encode(meta, 1, "a\0")
        refused = space("GET", f"configmaps?limit=1&continue={token}")
        assert (refused.code, refused.json["reason"]) == (410, "Expired")
        onwards = refused.json["metadata"]["continue"]
        assert continuation.decode(meta, onwards) == (-1, "a\0")
        shown = space("GET", f"configmaps?limit=1&continue={onwards}").json
        assert [o["metadata"]["name"] for o in shown["items"]] == ["b"] and "continue" in shown["metadata"]

    def test_token_of_a_future_version_is_refused(self, space: Any) -> None:
        """A token of a future version is rejected."""
        token = continuation.encode(space.server.dialect.meta_group, 10**9, "a\0")
        assert space("GET", f"configmaps?continue={token}").code == 500


def _token(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


BAD = [
    ("!!!!", "illegal base64"),
    ("a=", "illegal base64 data at input byte 1"),
    ("abcde", "illegal base64"),
    (_token(b""), "unexpected end"),
    (_token(b"xx"), "invalid character 'x'"),
    (_token([]), "cannot unmarshal array into Go value of type etcd3.continueToken"),
    (_token(None), 'does not recognize this encoded version ""'),
    (_token({"v": "meta/v2", "rv": 1, "start": "a"}), "does not recognize"),
    (_token({"v": "meta/v1", "rv": 0, "start": "a"}), "incorrect encoded start resourceVersion"),
    (_token({"v": "meta/v1", "rv": "1", "start": "a"}), "string into Go struct field continueToken.rv of type int64"),
    (_token({"v": 5, "rv": 1, "start": "a"}), "unmarshal number into Go struct field continueToken.v of type string"),
    (_token({"v": "meta/v1", "rv": 1.5, "start": "a"}), "number 1.5 into Go struct field continueToken.rv"),
    (_token({"v": "meta/v1", "rv": 2**63, "start": "a"}), "number 9223372036854775808 into Go struct field"),
    (_token({"v": "meta/v1", "rv": 1, "start": ""}), "encoded start key empty"),
    (_token({"v": "meta/v1", "rv": 1, "start": "../b"}), "continue key is not valid: ../b"),
    (_token({"v": "meta/v1", "rv": 1, "start": "a//b"}), "continue key is not valid: a//b"),
    (_token({"v": "meta/v1", "rv": 1, "start": "//a"}), "continue key is not valid: //a"),
    (_token({"v": "meta/v1", "rv": True, "start": "a"}), "cannot unmarshal bool into Go struct field continueToken.rv"),
]


@pytest.mark.parametrize(("token", "why"), BAD)
def test_invalid_continue_tokens_are_400(token: str, why: str) -> None:
    """A token that this server did not issue is 400 with the reason."""
    with pytest.raises(Exception, match=why) as refused:
        continuation.decode("meta", token)
    assert refused.value.code == 400  # type: ignore[attr-defined]  # an ApiError


@pytest.mark.parametrize(("revision", "start"), [(7, "a"), (-1, "ns/näme\0"), (-(2**63), "a"), (2**63 - 1, "a")])
def test_continue_tokens_round_trip(revision: int, start: str) -> None:
    """Encoded tokens are decoded to the same values."""
    assert continuation.decode("meta", continuation.encode("meta", revision, start)) == (revision, start)


ONE = "&fieldSelector=metadata.name%3Da"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=1&resourceVersion=x", 400, 'invalid resource version: resourceVersion: Invalid value: "x": '),
        ("resourceVersion=x&resourceVersionMatch=Exact", 400, "invalid resource version: "),
        ("resourceVersion=x&resourceVersionMatch=NotOlderThan", 500, 'resourceVersion: Invalid value: "x": '),
        (
            "limit=1&resourceVersion=999999&resourceVersionMatch=NotOlderThan",
            504,
            "Timeout: Too large resource version: ",
        ),
        ("limit=1&resourceVersion=999999" + ONE, 504, "Timeout: Too large resource version: "),
        (
            "resourceVersion=999999&resourceVersionMatch=Exact" + ONE,
            500,
            "etcdserver: mvcc: required revision is a future",
        ),
        ("resourceVersion=1&resourceVersionMatch=Exact", 410, "The resourceVersion for the provided list is too old."),
        (
            "resourceVersion=1&resourceVersionMatch=Exact" + ONE,
            500,
            "etcdserver: mvcc: required revision has been comp",
        ),
        ("resourceVersion=1&limit=1" + ONE, 200, ""),
        ("limit=1&continue=abc" + ONE, 400, "invalid continue token: "),
        ("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=9223372036854775808", 400, 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        ("timeoutSeconds=1.5", 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("limit=-1&allowWatchBookmarks=perhaps", 200, ""),
        ("resourceVersionMatch=Exact&labelSelector=((", 400, "found '(', expected"),
        ("resourceVersionMatch=Exact&fieldSelector=x%3Dy", 422, "ListOptions.meta."),
    ],
)
def test_invalid_lists_are_refused_at_once(space: Any, query: str, code: int, message: str) -> None:
    """Invalid options are rejected before any wait for a version."""
    space.config("a")
    space.config("b")
    server = space.server.server
    server.registry.cache(server.catalog.resource("", "v1", "configmaps")).expire(space.server.clock.seconds() + 1)
    response = space("GET", f"configmaps?{query}")
    assert response.code == code, response.body
    assert code == 200 or response.json["message"].startswith(message)
    if code == 504:
        assert "retryAfterSeconds" not in response.json["details"] and "Retry-After" not in response.headers


def test_events_are_listed_from_the_store(space: Any) -> None:
    """Events are not cached: limit applies at version 0 too, and reads do not wait for a version."""
    for name in "ab":
        space.make("events", {"metadata": {"name": name}, "involvedObject": {"namespace": space.name}})
    assert space("GET", "events?resourceVersion=0&limit=1").json["metadata"]["continue"]
    for rest in ("events?resourceVersion=999999", "events/a?resourceVersion=999999"):
        assert space("GET", rest).code == 504
    assert space("GET", "events/a?resourceVersion=x").code == 400


INVALID = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'


@pytest.mark.parametrize(
    ("release", "invalid", "quoted", "package"),
    [("1.23", (500, INVALID), '"odd/v1"', "etcd3"), ("1.35", (400, f"invalid resource version: {INVALID}"), "odd/v1", "storage")],
)  # fmt: skip
def test_lists_of_releases(tmp_path: Path, release: str, invalid: tuple[int, str], quoted: str, package: str) -> None:
    """A list refuses what it cannot read in the words of the release. Release 1.35 waits for a version that is still to
    come, of kinds with a watch cache."""
    server = make_server(tmp_path, f"--emulated-version={release}")
    responses: list[Any] = []

    def ask(query: str, plural: str = "configmaps") -> tuple[int, str] | None:
        """Code and message of a response, None while there is none."""
        responses.clear()
        path = f"/api/v1/namespaces/default/{plural}?{query}"
        ensureDeferred(server.request("GET", path)).addBoth(responses.append)
        return last()

    def last() -> tuple[int, str] | None:
        return (responses[0].code, responses[0].json.get("message", "")) if responses else None

    try:
        for match in ("", "&resourceVersionMatch=NotOlderThan"):
            assert ask(f"resourceVersion=x{match}") == invalid
        head = "invalid continue token: continue key is not valid: "
        odd = continuation.encode("odd", 5, "a\0")
        assert ask(f"continue={odd}") == (400, f"{head}server does not recognize this encoded version {quoted}")
        why = f"json: cannot unmarshal array into Go value of type {package}.continueToken"
        assert ask(f"continue={_token([])}") == (400, head + why)
        future = "resourceVersion=999999&resourceVersionMatch=Exact"
        if release == "1.23":
            for plural in ("configmaps", "events"):
                assert ask(future, plural) == (500, "etcdserver: mvcc: required revision is a future revision")
            return
        large = "Timeout: Too large resource version: 999999, current: "
        code, message = ask(future, "events") or (0, "")
        assert code == 504 and message.startswith(large)
        assert ask(future) is None
        server.clock.advance(4)
        code, message = last() or (0, "")
        assert code == 504 and message.startswith(large)
    finally:
        server.stop()


def test_export_parameter_is_refused(space: Any) -> None:
    """The removed parameter export is rejected."""
    space.config("a")
    assert space("GET", "configmaps/a?export=false").code == 200
    refused = space("GET", "configmaps/a?export=1")
    assert refused.code == 400 and refused.json["message"].endswith("since v1.14, is no longer supported")


@pytest.mark.parametrize(
    ("token", "position"),
    [("x", 0), ("abcde", 4), ("a b", 1), ("!", 0), ("!bcde", 0), ("ab%0Acde", 5), ("%C3%A9%C3%A9", 0)],
)
def test_base64_errors_name_the_byte(space: Any, token: str, position: int) -> None:
    """The error for invalid base64 has the offset of the first invalid byte; line breaks are ignored."""
    response = space("GET", f"configmaps?limit=1&continue={token.replace(' ', '%20')}")
    assert response.code == 400 and response.json["message"].endswith(f"illegal base64 data at input byte {position}")


@pytest.mark.parametrize("query", ["", "limit=1&", "resourceVersionMatch=Exact&"])
def test_resource_versions_beyond_64_bits_are_refused(space: Any, query: str) -> None:
    """A resourceVersion beyond 64 bits is invalid, and is not waited for."""
    space.config("a")
    for path in ("configmaps", "configmaps/a"):
        response = space("GET", f"{path}?{query}resourceVersion={1 << 64}")
        assert response.code in (400, 500) and "value out of range" in response.json["message"]
