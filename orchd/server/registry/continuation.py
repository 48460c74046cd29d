"""Continue tokens: where the next page of a list starts, and at which version.

A token is base64url without padding of ``{"v":"meta.../v1","rv":N,"start":"key after the last one"}``; rv -1 asks for an
inconsistent continuation at the current version (specification, "Retrieving large results sets in chunks").
"""

from __future__ import annotations

import base64
import json
import string

import orjson

from orchd import errors

_ALPHABET = frozenset(string.ascii_letters + string.digits + "-_")
_BAD = "invalid continue token: continue key is not valid: "


def encode(meta_group: str, revision: int, start: str) -> str:
    """`start` is the key, relative to the list's prefix, at which the next page begins."""
    data = json.dumps({"v": f"{meta_group}/v1", "rv": revision, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).rstrip(b"=").decode()


def after(name: str) -> str:
    """The key that follows `name` directly."""
    return name + "\x00"


def decode(meta_group: str, token: str) -> tuple[int, str]:
    """Revision and start of a token. Raises ApiError 400 for one that is not ours."""
    wrong = next((i for i, c in enumerate(token) if c not in _ALPHABET), len(token))
    if wrong < len(token) or len(token) % 4 == 1:
        raise errors.bad_request(_BAD + f"illegal base64 data at input byte {wrong}")
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    try:
        decoded = orjson.loads(data)
    except orjson.JSONDecodeError:
        first = data[:1].decode("latin-1")
        why = f"invalid character '{first}' looking for beginning of value" if data else "unexpected end of JSON input"
        raise errors.bad_request(_BAD + why) from None
    fields = decoded if isinstance(decoded, dict) else {}
    version = fields.get("v", "")
    if version != f"{meta_group}/v1":
        raise errors.bad_request(_BAD + f'server does not recognize this encoded version "{version}"')
    revision, start = fields.get("rv"), fields.get("start")
    if not isinstance(revision, int) or revision == 0:
        raise errors.bad_request(_BAD + f"incorrect encoded start resourceVersion 0 (version {version})")
    if not isinstance(start, str) or not start:
        raise errors.bad_request(_BAD + "encoded start key empty (version " + version + ")")
    if "\x00" in start[:-1] or ".." in start.split("/"):
        raise errors.bad_request(_BAD + f"continue token start key {start!r} is not below the list")
    return revision, start


def inconsistent(meta_group: str, start: str) -> str:
    """A token that goes on at the current version."""
    return encode(meta_group, -1, start)
