"""The settings by section: frozen classes, and beside each the function that builds it from the values of flags.

Must not import the command line (`orchd.config.options`) or the whole (`orchd.config.settings`).
"""
