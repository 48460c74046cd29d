"""Resource quotas: what objects use of them, and which objects they are about. Pure functions.

Shared by the admission plugin, which charges, and the controller, which counts again: both must agree. Must not decide what
is refused. May import kinds.
"""
