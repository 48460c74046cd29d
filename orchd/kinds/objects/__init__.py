"""Algorithms over objects: shape, default, validate, convert, select, tabulate.

Owns one module or package per algorithm, each a recursion over (value, type). Must not do I/O. May import ir and
catalog.
"""
