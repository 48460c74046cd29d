"""Objects as rows of a table: columns, cells and JSONPath.

Owns how every kind is printed. Must not do I/O nor know requests. May import ir, catalog and the other algorithms.
"""
