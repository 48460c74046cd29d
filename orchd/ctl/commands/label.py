"""``label``: sets, removes and lists labels."""

from __future__ import annotations

from orchd.ctl.objects.marks import mark_command

label = mark_command("label", "labels", "labeled")
