"""``uncordon``: nodes that take pods again."""

from __future__ import annotations

from orchd.ctl.objects.nodes import cordon_command

uncordon = cordon_command("uncordon", False, "Mark nodes as schedulable again.")
