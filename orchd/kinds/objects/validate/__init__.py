"""Validation of objects: all errors, as causes with the messages of the API.

Owns one module per group and area, each a set of functions over plain JSON that rows of kinds name; `dispatch` calls
them. Must not change objects or do I/O. May import ir, catalog and errors.
"""
