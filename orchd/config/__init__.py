"""Flags as data: tables, flag files, frozen settings.

Owns every flag of every component. Must not start anything. May import kinds.
"""
