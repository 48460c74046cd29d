"""Types of decoded JSON objects.

Objects are shared trees: functions build new ones and do not modify what they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

#: An object of the API, or a part of one.
Object: TypeAlias = dict[str, Any]
#: The same, for functions that only read it and accept any mapping.
ObjectView: TypeAlias = Mapping[str, Any]
