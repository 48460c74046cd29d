"""``rollout resume``."""

from __future__ import annotations

from orchd.ctl.objects.rollouts import pausing_command

resume = pausing_command("resume", None, "resumed", "Roll out the changes of paused deployments.")
