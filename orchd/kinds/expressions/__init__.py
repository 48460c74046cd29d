"""Expressions in objects of the API and in configuration files: which variables they may refer to, and their compiled
form.

Owns the environments of each place where expressions are written. Must not know who evaluates them. Imports
`orchd.cel`.
"""
