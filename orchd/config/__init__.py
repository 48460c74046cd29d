"""Flags as data: rows, command line and flag files, values, frozen settings, in this order of imports.

Owns every flag of every component. Must not start anything. May import kinds.
"""
