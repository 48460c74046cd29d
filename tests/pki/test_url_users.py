"""Users and passwords in URLs."""

from __future__ import annotations

import pytest

from orchd.pki.url_users import hide_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'https://me:secret@h:1/x' is no URL", "'https://me:***@h:1/x' is no URL"),
        ("http://:se:cret@h, http://a:b@c", "http://:***@h, http://a:***@c"),
        ('Get "https://me@h/a:b@c": x', 'Get "https://me@h/a:b@c": x'),
        ("https://h:1/a to me:b@c", "https://h:1/a to me:b@c"),
    ],
)
def test_messages_show_no_passwords(text: str, shown: str) -> None:
    """Passwords of URLs within a text are replaced, and nothing else."""
    assert hide_passwords(text) == shown
