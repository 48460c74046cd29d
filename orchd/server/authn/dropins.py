"""Drop-in authentication methods, which run after the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.server.authn.interfaces import IAuthenticator, IAuthenticatorFactory
from orchd.txkit import dropins


def drop_ins(flags: Mapping[str, Any]) -> list[IAuthenticator]:
    """The methods that factories in `orchd.plugins` make from the effective flags, by the factories' names.

    Raises ValueError naming a factory that is invalid or makes an invalid method."""
    methods = []
    for factory in sorted(
        dropins.drop_ins(IAuthenticatorFactory, orchd.plugins), key=lambda f: str(getattr(f, "name", ""))
    ):
        try:
            verifyObject(IAuthenticatorFactory, factory)
            method = factory.make(flags)
            if method is not None:
                verifyObject(IAuthenticator, method)
        except Exception as error:
            # Any exception of a drop-in must name the drop-in.
            raise ValueError(f"authenticator {factory!r} cannot be used: {error}") from error
        if method is not None:
            methods.append(method)
    return methods
