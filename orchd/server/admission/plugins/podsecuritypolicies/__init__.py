"""What a pod security policy makes of a pod: its defaults and its rules, one module per part of a pod. Pure functions.

Must not know of requests or users. May import `orchd.dialect`, `orchd.errors` and its own modules.
"""
