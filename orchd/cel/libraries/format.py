from __future__ import annotations
from ..costs import Meter
from ..values import Value
def format_text(meter: Meter, text: str, values: Value) -> str:
    return ""
