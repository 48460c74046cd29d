"""Processes in containers, and the terminal of the user."""
