"""Which version of the data answers: the table of resourceVersion, resourceVersionMatch, limit and continue."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from twisted.internet.defer import ensureDeferred

from orchd.server.registry import continuation

#: version (old: before the last two writes; now; later), match, limit -> names, or the code of a refusal; whether more
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


@pytest.mark.parametrize(("version", "match", "limit", "wanted", "more"), TABLE)
def test_every_cell(space: Any, version: str, match: str, limit: int, wanted: Any, more: bool) -> None:
    """Unset is consistent, 0 is anything (and never a page), N not older than N, Exact (or a limit with N) exactly N."""
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
    answer = space("GET", f"configmaps?{query}")
    if isinstance(wanted, int):
        assert answer.code == wanted, answer.body
        return
    shown = answer.json
    assert "".join(o["metadata"]["name"] for o in shown["items"]) == wanted
    assert bool(shown["metadata"].get("continue")) is more
    exact = match == "Exact" or (version and version != "0" and limit and not match)
    assert shown["metadata"]["resourceVersion"] == (version if exact else str(now))


def test_a_read_from_the_future_waits(space: Any) -> None:
    """A list not older than a version that is still to come is answered once it has come, or 504 in the end."""
    made = int(space.config("a")["metadata"]["resourceVersion"])
    answers: list[Any] = []
    url = space.url(f"configmaps?resourceVersion={made + 1}")
    ensureDeferred(space.server.request("GET", url)).addBoth(answers.append)
    assert not answers
    space.config("b")
    assert [len(a.json["items"]) for a in answers] == [2]
    url = space.url(f"configmaps/a?resourceVersion={made + 500}")
    ensureDeferred(space.server.request("GET", url)).addBoth(answers.append)
    space.server.clock.advance(3.5)
    assert answers[1].code == 504 and "Too large resource version" in answers[1].json["message"]


class TestPages:
    def test_pages_show_one_version(self, space: Any) -> None:
        """What is written between two pages is not seen; what remains is counted."""
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

    def test_selectors_hide_what_remains(self, space: Any) -> None:
        """With a selector nobody knows how many are left."""
        for name in "abc":
            space.config(name, labels={"x": "y"})
        shown = space("GET", "configmaps?limit=1&labelSelector=x%3Dy").json
        assert "continue" in shown["metadata"] and "remainingItemCount" not in shown["metadata"]

    def test_rules_of_continue(self, space: Any) -> None:
        """A continue token goes with no resourceVersion but 0."""
        space.config("a")
        space.config("b")
        token = space("GET", "configmaps?limit=1").json["metadata"]["continue"]
        assert space("GET", f"configmaps?continue={token}&resourceVersion=5").code == 400
        assert space("GET", f"configmaps?continue={token}&resourceVersion=0").code == 200

    def test_a_forgotten_version(self, space: Any) -> None:
        """410 for a version before the window; its token goes on at the current version."""
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

    def test_a_forged_version(self, space: Any) -> None:
        """A token of a version that never was is refused."""
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
    (_token([]), "does not recognize"),
    (_token({"v": "meta/v2", "rv": 1, "start": "a"}), "does not recognize"),
    (_token({"v": "meta/v1", "rv": 0, "start": "a"}), "incorrect encoded start resourceVersion"),
    (_token({"v": "meta/v1", "rv": "1", "start": "a"}), "incorrect encoded start resourceVersion"),
    (_token({"v": "meta/v1", "rv": 1, "start": ""}), "encoded start key empty"),
    (_token({"v": "meta/v1", "rv": 1, "start": "../b"}), "not below the list"),
    (_token({"v": "meta/v1", "rv": 1, "start": "a\0b"}), "not below the list"),
]


@pytest.mark.parametrize(("token", "why"), BAD)
def test_tokens_that_are_not_ours(token: str, why: str) -> None:
    """A token that this server did not make is 400 with the reason, never a look elsewhere."""
    with pytest.raises(Exception, match=why) as refused:
        continuation.decode("meta", token)
    assert refused.value.code == 400  # type: ignore[attr-defined]  # an ApiError


@pytest.mark.parametrize(("revision", "start"), [(7, "a"), (-1, "ns/näme\0")])
def test_tokens_round_trip(revision: int, start: str) -> None:
    """What is encoded is decoded."""
    assert continuation.decode("meta", continuation.encode("meta", revision, start)) == (revision, start)
