"""Validation: everything wrong with an object, as causes in the API's words.

Owns one module per group and area, each a set of functions over plain JSON; `dispatch` finds them. Must not change objects
or do I/O. May import ir, catalog and errors.
"""
