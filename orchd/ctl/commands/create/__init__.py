"""The commands of ``create``."""
