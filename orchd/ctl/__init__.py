"""The command line of users: one module per family of commands, over `orchd.client.interfaces.IRawClient`.

Commands parse their arguments with click and hand a coroutine to `session.Session.run`; `api.Api` is what the coroutine
speaks to. Output goes through `output` and `printers`. Only `main` knows the reactor and the real client.
"""
