"""The commands of ``rollout``."""
