"""The admission chain of one server, from its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.client.interfaces import IClient, IInformers
from orchd.config.settings import Settings
from orchd.server.admission.chain import AdmissionChain


def admission_chain(
    settings: Settings, client: IClient, informers: IInformers, *, authorize: Callable[..., Any], clock: Callable[[], float]
) -> AdmissionChain:
    """The plugins that are on, in order. Raises ValueError naming the plugin whose configuration is wrong."""
    return AdmissionChain([])
