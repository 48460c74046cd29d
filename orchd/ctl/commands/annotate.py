"""``annotate``: sets, removes and lists annotations."""

from __future__ import annotations

from orchd.ctl.objects.marks import mark_command

annotate = mark_command("annotate", "annotations", "annotated")
