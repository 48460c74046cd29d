"""Tests with real sockets and real processes."""
