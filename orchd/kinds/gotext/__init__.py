"""The reference's texts of values: Go's formatting verbs, names of Go types, durations, errors of Go's
parsers.

Owns every rule of the form "Go prints it like this", so that messages are identical. Must not know rules of kinds.
May import kinds.ir and the modules of kinds.
"""
