"""The commands of ``auth``."""
