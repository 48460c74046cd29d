"""Controllers of bootstrap tokens, with which nodes join: signatures over what they trust first, and the tokens' end.

May import what controllers may.
"""
