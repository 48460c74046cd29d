"""Resource quotas: recalculates the usage of a namespace and writes it into the status of its quotas.

Owns the resource quota controller. Refusing is up to the admission plugin, which adds to the status what it lets pass;
both compute usage with `orchd.kinds.objects.quota`. Must not reach into the server. May import client and kinds.
"""
