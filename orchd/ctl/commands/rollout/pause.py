"""``rollout pause``."""

from __future__ import annotations

from orchd.ctl.objects.rollouts import pausing_command

pause = pausing_command("pause", True, "paused", "Record changes of deployments without rolling them out.")
