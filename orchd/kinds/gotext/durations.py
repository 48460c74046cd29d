"""Durations in Go's form as seconds and in canonical form."""

from __future__ import annotations

from orchd.cel.durations import DurationError, format_duration, parse_duration

__all__ = ("DurationError", "canonical_duration", "format_seconds", "parse_duration", "parse_seconds")


def parse_seconds(text: str) -> float:
    """Parse a duration to seconds. Raises DurationError."""
    return parse_duration(text) / 10**9


def canonical_duration(text: str) -> str:
    """A duration in canonical form. Raises DurationError."""
    return format_duration(parse_duration(text))


def format_seconds(seconds: float) -> str:
    """Format seconds as a duration in canonical form."""
    return format_duration(round(seconds * 10**9))
