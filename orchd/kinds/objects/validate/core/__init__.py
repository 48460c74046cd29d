"""Validation of the core group: pods in parts, and one module per remaining area.

Owns field rules only. Must not know callers or storage. May import what `validate` may.
"""
