"""``cordon``: no new pods for nodes."""

from __future__ import annotations

from orchd.ctl.objects.nodes import cordon_command

cordon = cordon_command("cordon", True, "Mark nodes as unschedulable: no new pods are bound to them.")
