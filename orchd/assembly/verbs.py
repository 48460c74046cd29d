"""Which verbs subresources and kinds without storage have."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.server.pipeline.verbs.dispatch import OF_OBJECT, Verb


def subresource_verbs() -> dict[str, Mapping[str, Verb]]:
    """By ``plural/subresource``, or ``*/subresource`` for any kind."""
    return {
        "*/status": OF_OBJECT,
        "namespaces/finalize": {"update": OF_OBJECT["update"]},
        "certificatesigningrequests/approval": OF_OBJECT,
        "pods/ephemeralcontainers": OF_OBJECT,
    }


def virtual_verbs() -> dict[str, Mapping[str, Verb]]:
    """By plural, for kinds that are not stored."""
    return {}
