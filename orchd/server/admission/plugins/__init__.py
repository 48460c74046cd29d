"""The built-in admission plugins, one module each.

May import: admission's plugin base and interfaces, client.interfaces, kinds, txkit.
"""
