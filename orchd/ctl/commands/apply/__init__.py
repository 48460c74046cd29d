"""The commands of ``apply``."""
