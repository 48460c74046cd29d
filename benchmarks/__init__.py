"""Programs that print figures. `python -m benchmarks.run` prints the table; see its --help."""
