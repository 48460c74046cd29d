"""One module per command, found by its name; groups of commands are folders. `orchd.ctl.table` lists them."""
