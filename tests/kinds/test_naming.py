"""Random names and identifiers."""

from __future__ import annotations

import uuid
from random import Random

from orchd.kinds.naming import random_uuid


def test_uuids_are_random_and_of_version_4() -> None:
    """Each bit but those of version and variant takes both values, and the text is that of `uuid`."""
    random = Random(1)
    some = [random_uuid(random) for _ in range(64)]
    for text in some:
        parsed = uuid.UUID(text)
        assert (str(parsed), parsed.version, parsed.variant) == (text, 4, uuid.RFC_4122)
    numbers = [uuid.UUID(text).int for text in some]
    ever_set = ever_clear = 0
    for number in numbers:
        ever_set |= number
        ever_clear |= ~number
    fixed = [bit for bit in range(128) if not (ever_set >> bit & ever_clear >> bit & 1)]
    assert fixed == [62, 63, 76, 77, 78, 79]
