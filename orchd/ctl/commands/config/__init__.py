"""The commands of ``config``."""
