"""One module per verb.

Owns the processing between the stages and the registry. Must not keep state. May import kinds, txkit, and the
interfaces of the registry.
"""
