"""Resource quotas: usage of objects, and the objects to which a quota applies. Pure functions.

Shared by the admission plugin, which charges usage, and the controller, which recomputes it. Must not decide what is
rejected. May import kinds.
"""
