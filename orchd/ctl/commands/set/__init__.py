"""The commands of ``set``."""
