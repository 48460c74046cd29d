"""The built-in scheduler plugins, one module each.

Owns what the default plugins decide. Must not know queue, cycle or binding: plugins reach them through the handle.
"""
