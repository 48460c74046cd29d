"""Libraries of functions: one module each, whose tables are values of `declare.Library`.

`releases` says which release has which. To add a function, add a row to a table: identifier, types of arguments and
result, what it does, and its cost.
"""
