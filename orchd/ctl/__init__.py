"""The command line of users. `commands/` has one module per command, `table` lists them; `program` runs them, `main` is
the console script.

Commands parse their arguments with click and hand a coroutine to `cluster.session.Session.run`; `cluster.api.Api` is
what the coroutine speaks to. Output goes through `printing`. Only `cluster.connection` knows the reactor and the real
client.
"""
