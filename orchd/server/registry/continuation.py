"""Continue tokens: start key and version of a list's next page.

A token is base64url without padding of ``{"v":"meta.../v1","rv":N,"start":"key after the last one"}``; rv -1 asks for
an inconsistent continuation at the current version (specification, "Retrieving large results sets in chunks").
"""

from __future__ import annotations

import base64
import json
import posixpath
import string
from collections.abc import Callable

from orchd import errors
from orchd.kinds.codec import json_
from orchd.kinds.gotext.values import json_name

_ALPHABET = frozenset(string.ascii_letters + string.digits + "-_")
#: Line breaks are allowed anywhere in base64.
_SKIPPED = "\r\n"
_WITHOUT_SKIPPED = str.maketrans("", "", _SKIPPED)
_BAD = "invalid continue token: continue key is not valid: "


def encode(meta_group: str, revision: int, start: str) -> str:
    """`start` is the key, relative to the list's prefix, at which the next page begins."""
    data = json.dumps({"v": f"{meta_group}/v1", "rv": revision, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).rstrip(b"=").decode()


def after(name: str) -> str:
    """The key directly after `name`."""
    return name + "\x00"


def decode(
    meta_group: str, token: str, quote: Callable[[str], str] = errors.quoted, package: str = "etcd3"
) -> tuple[int, str]:
    """Revision and start of a token; `quote` quotes its version in an error, which names its type in `package`. Raises
    ApiError 400 for an invalid one."""
    wrong = next((i for i, c in enumerate(token) if c not in _ALPHABET and c not in _SKIPPED), None)
    letters = token.translate(_WITHOUT_SKIPPED)
    if wrong is None and len(letters) % 4 == 1:
        # A single base64 character does not encode a byte.
        wrong = len(token) - 1
    if wrong is not None:
        raise errors.bad_request(_BAD + f"illegal base64 data at input byte {len(token[:wrong].encode())}")
    data = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    try:
        fields = json_.decode(data)
    except json_.JSONError as error:
        raise errors.bad_request(_BAD + str(error)) from None
    fields = {} if fields is None else fields
    if not isinstance(fields, dict):
        raise _unreadable(f"{json_name(fields)} into Go value of type {package}.continueToken")
    for name, kind, type_ in (("v", str, "string"), ("rv", int, "int64"), ("start", str, "string")):
        value = fields.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool) or _too_large(value)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            json_type = f"number {value}" if number and kind is int else json_name(value)
            raise _unreadable(f"{json_type} into Go struct field continueToken.{name} of type {type_}")
    version, revision, start = fields.get("v") or "", fields.get("rv") or 0, fields.get("start") or ""
    if version != f"{meta_group}/v1":
        raise errors.bad_request(_BAD + f"server does not recognize this encoded version {quote(version)}")
    if not revision:
        raise errors.bad_request(_BAD + f"incorrect encoded start resourceVersion (version {version})")
    if not start:
        raise errors.bad_request(_BAD + f"encoded start key empty (version {version})")
    # Reject keys outside of the list.
    key = start.removeprefix("/")
    if posixpath.normpath("/" + key) != "/" + key or start[:2] == "//":
        raise errors.bad_request(_BAD + start)
    return revision, key


def _too_large(value: object) -> bool:
    # JSON has no integers below -2**63 here: the decoder makes floats of them.
    return isinstance(value, int) and value >= 2**63


def _unreadable(what: str) -> errors.ApiError:
    return errors.bad_request(f"{_BAD}json: cannot unmarshal {what}")


def inconsistent(meta_group: str, start: str) -> str:
    """A token that continues at the current version."""
    return encode(meta_group, -1, start)
