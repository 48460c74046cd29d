"""`--processes=N`: one process owns the store and keeps house, N processes serve requests on one port as replicas.

Owns: starting, restarting and ending those processes, what they tell each other, and what of their responses has to be
one. Must not: handle requests; a serving process is an `ApiServer` whose store is a socket, and the owner one without a
port. May import: anything.
"""
